-- The QoS of a job follows from its time: users do not name one. The partitions refuse jobs of more than six days.
local steps = { { 60, "test" }, { 1440, "short" }, { 4320, "medium" } }

function slurm_job_submit(job)
  local gpus = job.tres_per_job or job.tres_per_node or job.tres_per_task or job.tres_per_socket
  local minutes = job.time_limit == slurm.NO_VAL and 60 or job.time_limit
  local qos = gpus and "long" or "vlong"
  for index = #steps, 1, -1 do
    if minutes <= steps[index][1] then
      qos = steps[index][2]
    end
  end
  job.qos = gpus and "gpu-" .. qos or qos
end
