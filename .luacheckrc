-- gpupool joins templates/job_submit/*.lua to slurmctld's job_submit.lua: a part sees the parts before it by name.
-- slurmctld may have any Lua from 5.1 on: `min` is what all of them have. fragment.lua asks which one runs.
std = "min"
max_line_length = 120
read_globals = {
  "setfenv", "loadstring",
  "slurm", "site",
  "request", "amounts", "fragment", "messages", "placement", "limits", "qos", "memory", "preemption", "budgets", "gpus", "sizes",
}
globals = { "slurm_job_submit", "slurm_job_modify" }
-- Lmod's own functions, and the table that gpupool puts before this file.
files["templates/module.lua"] = {
  read_globals = { "module", "whatis", "help", "conflict", "depends_on", "prepend_path", "setenv" },
}
