"""The whole test suite: the layers, their order in parallel, and their times."""
