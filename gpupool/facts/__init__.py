"""pyinfra facts that pyinfra lacks: each reads everything of its kind in one remote command."""
