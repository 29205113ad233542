# Written by gpupool; changes made here are undone by the next apply.
# Short names for Slurm commands. Do not use them in a loop or with watch: each asks the controller; gpu_usage does not.
alias sqme='squeue --me --format="%.12i %.14P %.20j %.12u %.2t %.12M %.12l %.5C %.16b %R"'  # your jobs
alias sqall='squeue --format="%.12i %.14P %.20j %.12u %.2t %.12M %.12l %.5C %.16b %R"'  # all jobs
alias sqwait='squeue --states=PENDING --sort=-p --format="%.12i %.14P %.20j %.12u %.2t %.12M %.12l %.5C %.16b %R"'  # pending jobs, by priority
alias sqstart='squeue --me --states=PENDING --start'  # expected starts of your pending jobs
alias sgpus='sinfo --format="%f %N"'  # nodes by their GPUs
alias snodes='sinfo --format="%20N %8t %20G %14C %f"'  # nodes by state, GPUs and CPUs
alias sdone='sacct --allocations --format=jobid,jobname,partition,state,elapsed,alloctres%50'  # jobs of today
alias slimits='sacctmgr --noheader --parsable2 show assoc user="$(id -un)" format=account,partition,qos,grptres'  # your accounts and QoS
alias slabs='gpu_usage -l'  # GPUs of each lab
alias slurm-aliases='grep "^alias" /etc/profile.d/gpupool-slurm-aliases.sh'  # this list
