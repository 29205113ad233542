-- Written by gpupool from the inventory of sdumont; changes made here are undone by the next apply.
whatis("Name: python/3.9.1")
conflict("deepl")
prepend_path("PATH", "/opt/sdumont/python/3.9.1/bin")
prepend_path("LD_LIBRARY_PATH", "/opt/sdumont/python/3.9.1/lib")
