# Written by gpupool from the inventory of example; changes made here are undone by the next apply.
if [ "$(id -u)" -ge 1000 ]; then
  gpupool_user=$(id -un)
  export SCRATCH=/mnt/scratch/"$gpupool_user"
  unset gpupool_user gpupool_account
fi
