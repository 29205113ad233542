"""Backs up the accounting database and the controller's state, and says whether the newest backups are good.

Runs on nodes: nothing but Python's standard library.
"""
