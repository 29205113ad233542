"""pyinfra, driven in process: the same deploys as the plain command line, with results as data."""
