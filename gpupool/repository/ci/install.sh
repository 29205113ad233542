#!/bin/sh
# Install gpupool for the other scripts, from the address or file in the variable GPUPOOL_WHEEL. It prints nothing.
set -eu
: "${GPUPOOL_WHEEL:?set this variable of the CI to the address of a wheel of gpupool}"
python3 -m venv .venv
.venv/bin/pip install --quiet "$GPUPOOL_WHEEL"
