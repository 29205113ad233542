"""The whole of the tests: which layers there are, in what order they run beside each other, what they took."""
