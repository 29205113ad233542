-- In the partners' partitions, a partner's job without a QoS gets the partner's.
local suffixes = { compute_partners = "", gpu_partners = "_gpu" }

function slurm_job_submit(job)
  local suffix = suffixes[job.partition or ""]
  local partner = (job.account or job.default_account or ""):match("^(.+)_[cg]pu$")
  if job.qos == nil and suffix and partner then
    job.qos = "p_" .. partner .. suffix
  end
end
