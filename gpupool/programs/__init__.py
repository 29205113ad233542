"""Programs that run on nodes by themselves: the standard library is all that they need."""
