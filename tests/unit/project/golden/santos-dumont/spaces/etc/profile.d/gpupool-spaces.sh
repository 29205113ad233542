# Written by gpupool from the inventory of sdumont; changes made here are undone by the next apply.
if [ "$(id -u)" -ge 1000 ]; then
  gpupool_user=$(id -un)
  gpupool_account=$(id -gn)
  gpupool_id=${gpupool_user%%@*}
  gpupool_domain=${gpupool_user#"$gpupool_id"}
  gpupool_domain=${gpupool_domain#@}
  export SCRATCH="/scratch/${gpupool_account}/${gpupool_user}"
  unset gpupool_user gpupool_account gpupool_id gpupool_domain
fi
