-- Messages about differences of this cluster from users' expectations.
local given = request.given
local rules = {}

-- After `sbatch --export=lr=1e-4` the steps of a job would have no PATH. They get what the batch script has.
function rules.export(job)
  local names = job.script and job.environment["SLURM_EXPORT_ENV"]
  if names and names ~= "NONE" and names ~= "NIL" and not ("," .. names .. ","):find(",ALL,", 1, true) then
    job.environment["SLURM_EXPORT_ENV"] = "ALL"
  end
end

-- slurmctld has no program for mail, and drops --mail-type silently.
function rules.mail(job)
  local kinds = given(job.mail_type)
  if kinds and kinds ~= 0 then
    slurm.log_user("This cluster sends no mail: --mail-type has no effect.")
  end
end

return rules
