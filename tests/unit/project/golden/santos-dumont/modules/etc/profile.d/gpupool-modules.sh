# Written by gpupool from the inventory of sdumont; changes made here are undone by the next apply.
# Lmod's lmod.sh is read after this file and puts these directories first. It exports `module`, and BASH_ENV for bash in
# batch jobs.
export LMOD_SITE_MODULEPATH='/usr/local/share/gpupool/modules'
