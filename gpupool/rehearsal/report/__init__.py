"""What a rehearsal leaves for people: its page, the data of it, and the lines on a terminal."""
