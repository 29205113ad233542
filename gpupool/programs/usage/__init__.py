"""Nightly work of a fileserver: write the size of each directory, remove old files, list entries that do not belong.

It runs on the fileserver and needs only Python's standard library. It walks trees by open directory descriptors,
never by path: users who can write in a tree cannot redirect it with a link.
"""
