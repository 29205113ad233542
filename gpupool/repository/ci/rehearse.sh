#!/bin/sh
# Test with real jobs, on the whole cluster on this machine, that each lab gets the GPUs it paid for.
# It needs Docker, writes the folder `report`, and fails if a promise was not kept.
set -eu
PATH=$PWD/.venv/bin:$PATH
gpupool rehearse inventory --report report
