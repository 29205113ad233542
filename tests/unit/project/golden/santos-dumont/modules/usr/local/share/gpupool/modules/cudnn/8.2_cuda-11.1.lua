-- Written by gpupool from the inventory of sdumont; changes made here are undone by the next apply.
whatis("Name: cudnn/8.2_cuda-11.1")
prepend_path("LD_LIBRARY_PATH", "/opt/sdumont/cudnn/8.2_cuda-11.1/lib64")
prepend_path("CPATH", "/opt/sdumont/cudnn/8.2_cuda-11.1/include")
setenv("CUDNN_HOME", "/opt/sdumont/cudnn/8.2_cuda-11.1")
