#!/bin/sh
# Fetch the report of the last night and judge it. The key in the file GPUPOOL_DRIFT_KEY can only print the report.
# GPUPOOL_DRIFT_HOST is USER@HOST of the machine that has it, and GPUPOOL_DRIFT_KNOWN_HOSTS a file with its host key.
set -eu
: "${GPUPOOL_DRIFT_HOST:?}" "${GPUPOOL_DRIFT_KEY:?}" "${GPUPOOL_DRIFT_KNOWN_HOSTS:?}"
chmod 600 "$GPUPOOL_DRIFT_KEY"
ssh -F /dev/null -o BatchMode=yes -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes \
    -o "UserKnownHostsFile=$GPUPOOL_DRIFT_KNOWN_HOSTS" -i "$GPUPOOL_DRIFT_KEY" "$GPUPOOL_DRIFT_HOST" </dev/null |
    sh ci/report.sh
