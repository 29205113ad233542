"""What a fileserver does by night: says how much is where, takes old files away, lists what does not belong.

It runs where the files are, with nothing but Python's standard library. Trees are walked by open directories and
never by path, so that nobody who may write in them can lead it elsewhere.
"""
