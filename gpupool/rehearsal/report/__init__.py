"""The report of a rehearsal: a page, its data, and lines on a terminal."""
