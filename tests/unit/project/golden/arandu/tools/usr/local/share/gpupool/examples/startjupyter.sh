#!/bin/bash
# A notebook on a GPU of the DGX-A100; its address, with the token, is printed. Ctrl-C ends it, and the job.
# The guide's asks for no GPU, and reads CUDA_VISIBLE_DEVICES here, where it is empty: the job has to read it.
# shellcheck disable=SC2016 # that is for the job
exec srun -p arandu --gres=gpu:1 --pty -u bash -c '
  exec docker run --user "$(id -u):$(id -g)" --gpus "\"device=$CUDA_VISIBLE_DEVICES\"" -p 8888:8888 --rm -it \
    nvcr.io/nvidia/pytorch:22.11-py3 jupyter notebook --ip=0.0.0.0 --port=8888 --no-browser'
