-- Written by gpupool from the inventory of sdumont; changes made here are undone by the next apply.
whatis("Name: deepl/deeplearn-py3.7")
conflict("python")
prepend_path("PATH", "/opt/sdumont/deepl/deeplearn-py3.7/bin")
prepend_path("LD_LIBRARY_PATH", "/opt/sdumont/deepl/deeplearn-py3.7/lib")
