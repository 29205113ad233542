-- Sizes (bytes) of texts of a job. slurmctld keeps them in memory for each job and each task of an array, and sends
-- them to all programs that read the queue. Slurm itself limits all other texts.
local given = request.given
local rules = {}

function rules.ask(job)
  local sizes, script = site.sizes, given(job.script) or ""
  if #(given(job.container) or "") > sizes.text then
    return string.format("--container is too long: at most %d bytes.", sizes.text)
  elseif #script > sizes.script then
    return string.format("The job's script is too long: at most %d KiB.", math.floor(sizes.script / 1024))
  end
  for line in script:gmatch("#SBATCH([^\n]*)") do
    if #line > sizes.line then
      return string.format("A line of #SBATCH is too long: at most %d KiB.", math.floor(sizes.line / 1024))
    end
  end
end

return rules
