"""pyinfra operations that pyinfra lacks or does badly: one fact, one comparison, one command for many things."""
