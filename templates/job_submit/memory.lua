-- Memory of a job: what it gets by default, and the most that it may ask for. All numbers are MiB.
local given = request.given
local rules = {}

local function has_memory(job)
  return job.min_mem_per_node or job.min_mem_per_cpu or given(job.mem_per_tres)
end

-- A job that gets whole nodes by its partition gets all their memory, as by --mem=0: no other job could use the rest.
function rules.of_whole_nodes(job)
  if not has_memory(job) and job.shared ~= slurm.JOB_SHARED_NONE and amounts.has_whole_nodes(job) then
    job.min_mem_per_node = 0
  end
end

-- Returns the memory for a GPU of a type from a table by type, in which "" is for all types that are not there.
local function of_type(job, kind, by_type)
  return amounts.of_type(job, kind, by_type) or by_type[""]
end

-- slurmctld knows this default from slurm.conf, too, but then counts all memory of a node for a pending job against the
-- limits on memory. It counts a request as it is.
function rules.per_gpu(job)
  local kinds, gpus = amounts.gpus(job)
  if gpus > 0 and not has_memory(job) then
    job.mem_per_tres = amounts.for_each_gpu(job, amounts.lowest(job, kinds, site.memory_per_gpu))
  end
end

-- slurm.conf can hold one kind of default memory only, which is the one for each GPU. This is the one for each CPU.
function rules.per_cpu(job)
  local _, gpus = amounts.gpus(job)
  if gpus == 0 and not has_memory(job) and not amounts.has_whole_nodes(job) then
    job.min_mem_per_cpu = site.memory_per_cpu
  end
end

-- Returns whether a job asks for all memory of nodes that it does not have whole.
local function takes_all(job, all)
  if job.min_mem_per_node == 0 or job.min_mem_per_cpu == 0 or amounts.per_gpu(job.mem_per_tres) == 0 then
    return true
  end
  -- a job that leaves partitions of whole nodes must not keep the memory that it had there
  local was_whole = site.exclusive
    and not request.is_new(job, all)
    and given(job.partition)
    and amounts.has_whole_nodes(all.before)
  return was_whole and (all.min_mem_per_node == 0 or all.min_mem_per_cpu == 0)
end

-- Returns the most memory for each GPU of a job, on average over its types, or for each CPU of a job without GPUs.
local function most_of(job, kinds, number, by_type)
  local most = 0
  for kind, count in pairs(kinds) do
    most = most + count * of_type(job, kind, by_type)
  end
  return next(kinds) and most / number or by_type[""]
end

local function words(mib)
  return mib % 1024 == 0 and string.format("%.0fG", mib / 1024) or string.format("%.0fM", math.floor(mib))
end

-- --mem is the memory of each node, so it counts for as many nodes as the job may get.
function rules.most(job, all)
  local nodes = amounts.most_nodes(all, request.is_new(job, all))
  local total = amounts.fewest_cpus(all)
  local _, fewest = amounts.gpus(all)
  local kinds, gpus = amounts.gpus(all, nodes)
  local unit = gpus > 0 and "GPU" or "CPU"
  -- each node has a CPU at least; CPUs of --mincpus are on the node, not charged
  local number = gpus > 0 and gpus or math.max(total, nodes)
  if not site.most_memory[unit] or amounts.has_whole_nodes(all) then
    return
  end
  local most = most_of(all, kinds, number, site.most_memory[unit])
  local rule = "at most " .. words(most) .. " per " .. unit .. " (--mem-per-" .. unit:lower() .. ")."
  if takes_all(job, all) then
    return "--mem=0 takes all memory of a node, so no other job could use its GPUs: " .. rule
  elseif gpus > 0 and (all.min_mem_per_cpu or 0) > 0 and amounts.is_bound(all) then
    return "--gres-flags=enforce-binding may give a job more CPUs than it requests: use --mem-per-gpu or --mem with it."
  end
  local by_node, by_cpu, by_gpu = (all.min_mem_per_node or 0) * nodes / number, all.min_mem_per_cpu or 0, 0
  if gpus > 0 then
    local cpus = math.max(amounts.cpus(all, fewest) / fewest, (given(all.pn_min_cpus) or 0) * nodes / gpus)
    by_cpu = by_cpu * cpus
    by_gpu = amounts.per_gpu(all.mem_per_tres) or 0
  end
  local requested = math.max(by_node, by_cpu, by_gpu)
  if requested > most then
    local where = ""
    if requested == by_node and nodes > (given(all.min_nodes) or 1) then
      where = string.format(", if it gets %.0f nodes (set the number with --nodes)", nodes)
    end
    return string.format("This job requests %.0fM of memory per %s%s: %s", requested, unit, where, rule)
  end
end

return rules
