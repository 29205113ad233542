#!/bin/bash
#SBATCH --job-name=job
#SBATCH --output=job.out
#SBATCH --error=job.err
#SBATCH --partition=short
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --gpus-per-node=1

# A batch job: copy this file, change it, and run `sbatch job.sh`. Slurm reads the #SBATCH lines above the first command;
# lines with ## are off. Each option begins with two plain dashes.
##SBATCH --time=4:00:00
##SBATCH --mem-per-gpu=30G
##SBATCH --qos=NAME
##SBATCH --exclude=NODE

export PYTHONUNBUFFERED=TRUE
if [ -r ~/.bashrc ]; then . ~/.bashrc; fi
# conda activate YOUR_ENVIRONMENT
cd "$SLURM_SUBMIT_DIR" || exit

# put your program here: srun -u python -u YOUR_SCRIPT.py
srun -u bash -c 'echo "job $SLURM_JOB_ID on $SLURMD_NODENAME: $SLURM_CPUS_PER_TASK CPUs, GPUs ${CUDA_VISIBLE_DEVICES:-none}"'
