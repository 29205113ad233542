-- Which of a job's partitions refuse it by their limits.
local given = request.given
local rules = {}

local MOST = { "group", "per_account", "per_user", "per_job" }

-- Returns what a job requests at least in a partition, by the names that Slurm's limits have; memory in MiB.
local function requested(job, name)
  local types, gpus = amounts.gpus(job)
  local nodes = math.max(given(job.min_nodes) or 1, 1)
  local total, per_node = amounts.fewest_cpus(job)
  local by_default = not given(job.cpus_per_task) and site.default_cpus and site.default_cpus[name]
  local per_gpu = amounts.per_gpu(job.cpus_per_tres) or by_default or 0
  local cpus = math.max(total, per_node * nodes, per_gpu * gpus)
  local by_node, by_cpu = (job.min_mem_per_node or 0) * nodes, (job.min_mem_per_cpu or 0) * cpus
  local by_gpu = (amounts.per_gpu(job.mem_per_tres) or 0) * gpus
  local amount = { cpu = cpus, mem = math.max(by_node, by_cpu, by_gpu), node = nodes, ["gres/gpu"] = gpus }
  for kind, number in pairs(types) do
    if kind ~= "" then
      amount["gres/gpu:" .. kind] = number
    end
  end
  return amount
end

-- Returns whether a job requests more than one of the maxima. For each resource the first of two QoS counts that has a
-- maximum for it, else the account's.
local function is_above(job, amount, first, second)
  local of_account = (site.partition_limits.accounts or {})[request.account(job)] or {}
  for _, kind in ipairs(MOST) do
    local own, other, last = first[kind] or {}, second[kind] or {}, of_account[kind] or {}
    for resource, number in pairs(amount) do
      local most = own[resource] or other[resource] or last[resource]
      if most and number > most then
        return true
      end
    end
  end
  local wall, time = first.wall or second.wall or of_account.wall, given(job.time_limit)
  return wall and time and time > wall
end

-- Returns whether a job requests fewer GPUs or less memory than it must. Slurm may count more than one GPU for
-- --gpus-per-socket=1, and a default for a job without a request for memory.
local function is_below(job, amount, first, second)
  local own, other = first.per_job_least or {}, second.per_job_least or {}
  for _, resource in ipairs(site.partition_limits.gpus) do
    local least = own[resource] or other[resource]
    if least and (amount[resource] or 0) < least and not given(job.tres_per_socket) then
      return true
    end
  end
  local least = own.mem or other.mem
  return least and amount.mem > 0 and amount.mem < least
end

-- Returns the QoS that a job will have if this is its first partition.
local function qos_of(job, name)
  local replaced = site.replaced and site.replaced[request.account(job)] or {}
  local qos = (request.qos_of_partition(job, name) or request.qos(job)):lower()
  return replaced[qos] and replaced[qos]:lower() or qos
end

-- Returns whether the limits of a partition refuse a job with this QoS.
local function is_refused(job, name, qos)
  local limits = site.partition_limits
  local first, second = limits.partitions[name] or {}, limits.qos[qos] or {}
  local is_refusing = first.deny or second.deny
  if second.over_partition then
    first, second = second, first
  end
  local amount = requested(job, name)
  return is_refusing and (is_above(job, amount, first, second) or is_below(job, amount, first, second))
end

-- With DenyOnLimit, slurmctld refuses a job that exceeds the limits of one of its partitions, also if EnforcePartLimits
-- is ANY. So a job leaves these partitions; if all of them refuse it, Slurm itself refuses it with the reason. It is
-- then a job of the partitions that are left: the first of them that takes it has a say in its QoS.
function rules.ask(job, all)
  local qos, names, left = nil, {}, {}
  for name in request.names(given(all.partition)) do
    if is_refused(all, name, qos or qos_of(all, name)) then
      left[#left + 1] = name
    else
      qos = qos or qos_of(all, name)
      names[#names + 1] = name
    end
  end
  if #names > 0 and #left > 0 then
    job.partition = table.concat(names, ",")
    slurm.log_user("The limits of %s refuse this job: it is only in %s.", table.concat(left, ","), job.partition)
  end
end

return rules
