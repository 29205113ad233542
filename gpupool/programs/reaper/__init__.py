"""Ends processes that nobody should have left on a node: outside of jobs, or VS Code's."""
