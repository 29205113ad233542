# Written by gpupool from the inventory of sdumont; changes made here are undone by the next apply.
# Lmod's own lmod.sh is read after this file and puts these directories before its own. It exports `module` and
# BASH_ENV, by which bash in batch jobs has it, too.
export LMOD_SITE_MODULEPATH='/usr/local/share/gpupool/modules'
