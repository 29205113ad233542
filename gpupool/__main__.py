"""`python -m gpupool` is the command line."""

from gpupool.cli import main

main()
