-- The requests of a job: fields, partitions, account and QoS.
local request = {}

-- Fields of 64 bits, which are nil where they have no value: there each number is an amount.
local LONG = { min_mem_per_node = true, min_mem_per_cpu = true }

-- Slurm writes these numbers where a field has no value.
function request.unset(value, field)
  return value == nil or not LONG[field] and (value == slurm.NO_VAL or value == slurm.NO_VAL16)
end

-- Returns the value of a field, or nil. A change that removes a text sets it to "".
function request.given(value)
  if not request.unset(value) and value ~= "" then
    return value
  end
end

-- A rule gets the same table twice for a job that is submitted; for a change it gets the change and the changed job.
function request.is_new(job, all)
  return rawequal(job, all)
end

-- Iterates over the names in a text such as "short,long".
function request.names(text)
  return (text or ""):gmatch("[^,]+")
end

-- Returns the partitions of a job as such a text. Without --partition that is slurmctld's default partition, or "".
function request.partitions(job, partitions)
  local names = request.given(job.partition)
  for name, partition in pairs(partitions) do
    names = names or partition.flag_default == 1 and name
  end
  return names or ""
end

function request.account(job)
  return (request.given(job.account) or job.default_account or ""):lower()
end

-- Returns whether a partition with the accounts `only` or `never` admits the account of a job.
function request.is_admitted(job, place)
  local account = request.account(job)
  return not (place.only and not place.only[account]) and not (place.never and place.never[account])
end

function request.qos(job)
  return (request.given(job.qos) or job.default_qos or site.default_qos):lower()
end

-- Returns the default QoS of a partition for a job without --qos, or nil. Accounts with a default QoS keep it. If the
-- partition does not admit the account, its user must read that, and not about the QoS.
function request.qos_of_partition(job, name)
  local place = site.partition_qos and site.partition_qos[name]
  local has_own = site.own_qos and site.own_qos[request.account(job)]
  if place and not request.given(job.qos) and not has_own and request.is_admitted(job, place) then
    return place.qos
  end
end

-- Returns the time limit (minutes) of a job without --time in a partition of slurmctld.
function request.default_time(name, partition)
  return site.default_times and site.default_times[name] or partition.max_time
end

return request
