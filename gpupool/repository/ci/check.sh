#!/bin/sh
# Check the inventory. It prints all complaints, and fails on an error.
set -eu
PATH=$PWD/.venv/bin:$PATH
gpupool check inventory
