# Written by gpupool from the inventory; changes made here are undone by the next apply.
# Singularity keeps its downloads and builds on a disk of the node.
if [ "$(id -u)" -ge 1000 ]; then
  gpupool_user=$(id -un)
  gpupool_id=${gpupool_user%%@*}
  gpupool_scratch=/raid/"$gpupool_id"
  # not in a directory of another user, who could replace images
  if (umask 077; mkdir -p -- "$gpupool_scratch/.singularity/tmp") 2>/dev/null &&
    ! stat -c %u -- "$gpupool_scratch" "$gpupool_scratch/.singularity" | grep -qvx "$(id -u)"; then
    export APPTAINER_CACHEDIR="$gpupool_scratch/.singularity/cache"
    export APPTAINER_TMPDIR="$gpupool_scratch/.singularity/tmp"
  fi
  unset gpupool_user gpupool_id gpupool_account gpupool_domain gpupool_scratch
fi
