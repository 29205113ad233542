-- Sizes of a job: the bytes of its texts, and its tasks. slurmctld keeps the texts in memory for each job and each task
-- of an array, and sends them to all programs that read the queue. Slurm itself limits all other texts.
-- It does not limit tasks: with 2147483648, which `scontrol update` accepts, slurmctld 22.05 kept a node from all jobs
-- for half a minute.
local given = request.given
local rules = {}

function rules.ask(job)
  local sizes, script = site.sizes, given(job.script) or ""
  if #(given(job.container) or "") > sizes.text then
    return string.format("--container is too long: at most %d bytes.", sizes.text)
  elseif #script > sizes.script then
    return string.format("The job's script is too long: at most %d KiB.", math.floor(sizes.script / 1024))
  elseif (given(job.num_tasks) or 0) > sizes.tasks then
    return string.format("A job may have at most %d tasks.", sizes.tasks)
  end
  for line in script:gmatch("#SBATCH([^\n]*)") do
    if #line > sizes.line then
      return string.format("A line of #SBATCH is too long: at most %d KiB.", math.floor(sizes.line / 1024))
    end
  end
end

return rules
