"""End steps of ended jobs that wait in open(2) and keep their node from starting other jobs."""
