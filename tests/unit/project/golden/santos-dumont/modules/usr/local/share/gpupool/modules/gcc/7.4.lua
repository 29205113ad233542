-- Written by gpupool from the inventory of sdumont; changes made here are undone by the next apply.
whatis("Name: gcc/7.4")
prepend_path("PATH", "/opt/sdumont/gcc/7.4/bin")
prepend_path("LD_LIBRARY_PATH", "/opt/sdumont/gcc/7.4/lib64")
prepend_path("MANPATH", "/opt/sdumont/gcc/7.4/share/man")
