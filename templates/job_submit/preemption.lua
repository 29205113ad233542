-- Requests with which Slurm could not preempt a job, or could not start other jobs.
local given = request.given
local rules = {}

-- Requests that end slurmctld 24.11.5. A --spread-job that gets GPUs crashes it, also at every later start; GPUs can
-- be added after the submission, so jobs without GPUs are refused, too. A job of no node or more (--nodes=0-1) starts
-- on no node where none has room, and then crashes it.
function rules.fatal(job)
  if math.floor((given(job.bitflags) or 0) / (slurm.SPREAD_JOB or 256)) % 2 == 1 then
    return "--spread-job is not supported on this cluster: use --nodes and --ntasks-per-node instead."
  elseif job.min_nodes == 0 then
    return "A job needs a node at least: request --nodes=1 or more."
  end
end

-- Only a component of a heterogeneous job has an offset when it is submitted. Later every job has one, and only a
-- component has the number of the heterogeneous job.
local function is_component(job, all)
  if request.is_new(job, all) then
    return given(job.het_job_offset) ~= nil
  end
  return (given(all.het_job_id) or 0) > 0
end

-- Slurm preempts no component of a heterogeneous job while one of them is not preemptable.
function rules.component_partition(job, all, partitions)
  if not is_component(job, all) then
    return
  end
  for name in request.names(request.partitions(all, partitions)) do
    if site.preemptable_partitions[name] then
      return "A heterogeneous job cannot run in " .. name .. ", because Slurm could not preempt it there."
    end
  end
end

function rules.component_qos(job, all)
  if not is_component(job, all) then
    return
  end
  for name in request.names(request.qos(all)) do
    if site.preemptable_qos[name] then
      return "A heterogeneous job cannot have the QoS " .. name .. ", because Slurm could not preempt it."
    end
  end
end

-- `--exclusive=user` and `--exclusive=mcs` keep a node from all other users: the job is charged for its own GPUs only,
-- and Slurm does not preempt it for another user's job. Each of them is a value of `shared` above 1.
function rules.kept_node(_, all, partitions)
  local shared = given(all.shared)
  for name in request.names(request.partitions(all, partitions)) do
    if shared and shared > 1 and site.claimed[name] then
      return "A node of " .. name
        .. " cannot be kept for one user: use --exclusive for whole nodes, without =user or =mcs."
    end
  end
end

-- Returns whether no partition of a job has nodes with GPUs that labs have a right to.
local function is_far_from_labs(job, partitions)
  if not site.without_labs then
    return false
  end
  local names = request.partitions(job, partitions)
  for name in request.names(names) do
    if not site.without_labs[name] then
      return false
    end
  end
  return names ~= ""
end

local ZERO = 0x80000000 -- how Slurm writes a nice value of 0
local MOST = ZERO + 2147483645 -- a larger one than the largest of Slurm would begin again with the smallest

-- A pending job reserves its nodes. A job without GPUs gets a nice value that puts it below all jobs with GPUs, where
-- Slurm reserves nothing for it. A job that is changed keeps at least this value, and gets it with its last GPU gone.
function rules.step_down(job, all, partitions)
  local _, gpus = amounts.gpus(all)
  if gpus > 0 or amounts.has_whole_nodes(all) or is_far_from_labs(all, partitions) then
    return
  elseif request.is_new(job, all) then
    job.nice = math.min((given(job.nice) or ZERO) + site.step_down, MOST)
  elseif (given(all.nice) or ZERO) < ZERO + site.step_down then
    job.nice = ZERO + site.step_down
  end
end

return rules
