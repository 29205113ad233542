"""Operations that pyinfra lacks or does badly: one fact, one comparison and one command for many items."""
