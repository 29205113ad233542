-- Types of GPUs, and the CPUs that go with a GPU.
local given = request.given
local rules = {}

-- Slurm counts a repeated name once: eight times gpu:1 is one GPU.
function rules.repeated(_, all)
  for _, field in ipairs(amounts.GPU_FIELDS) do
    if amounts.is_repeated(given(all[field])) then
      return "The same GPUs are named twice: say how many, such as --gres=gpu:2."
    end
  end
end

-- GPUs that are out of service are a gres, so that no other job can open their device files.
function rules.out_of_service(_, all)
  for _, field in ipairs(amounts.GPU_FIELDS) do
    for word in request.names(given(all[field])) do
      if word:gsub("^gres[:/]", ""):match("^[^:=]*"):lower() == site.out_of_service then
        return "These GPUs are out of service: leave out " .. site.out_of_service .. "."
      end
    end
  end
end

-- Returns the type of all GPUs in a job's partitions; nil if they have several types.
local function only_type(job, partitions)
  local found
  for name in request.names(request.partitions(job, partitions)) do
    local kind = site.only_types and site.only_types[name]
    if not kind or found and found ~= kind then
      return nil
    end
    found = kind
  end
  return found
end

-- Returns the fields of a job whose GPUs have no type, with this type; nil if one names the type beside: Slurm counts
-- the same name once.
local function filled(job, kind)
  local fields = {}
  for _, field in ipairs(amounts.GPU_FIELDS) do
    local text = given(job[field])
    local counts = amounts.gpus_in(text)
    if counts[""] and counts[kind] then
      return nil
    end
    if counts[""] then
      fields[field] = amounts.with_type(text, kind)
    end
  end
  return fields
end

-- A new job without a type gets that of its partitions if they have one type only, and is refused in others.
function rules.typed(job, all, partitions)
  if not amounts.has_untyped_gpus(all) then
    return
  end
  local kind = request.is_new(job, all) and only_type(all, partitions)
  local fields = kind and filled(all, kind)
  if fields then
    for field, text in pairs(fields) do
      job[field] = text
    end
    return
  end
  local types = site.gpu_types
  return "Specify the GPU type, such as --gpus=" .. types[1] .. ":1. Types: " .. table.concat(types, ", ") .. "."
end

-- slurm.conf can hold one number of CPUs for each GPU only, which is the lowest of a partition. Of several partitions
-- the lowest counts, so that the job fits in each of them.
function rules.default_cpus(job)
  local kinds, number = amounts.gpus(job)
  -- with --gpus-per-task, Slurm 22.05 would allocate more GPUs
  local of_tasks = given(job.cpus_per_task) or given(job.ntasks_per_tres) or given(job.tres_per_task)
  if number == 0 or of_tasks or given(job.cpus_per_tres) then
    return
  end
  local least, differs = math.huge, false
  for name in request.names(given(job.partition) or site.default_queue) do
    local by_type = site.cpus_by_type[name]
    differs = differs or by_type ~= nil
    least = math.min(least, by_type and amounts.lowest(job, kinds, by_type) or site.default_cpus[name] or 0)
  end
  if differs and least > 0 then
    -- for more tasks than that, Slurm 24.11 would allocate more GPUs than requested
    local each_task = math.ceil(amounts.fewest_cpus(job) / number)
    job.cpus_per_tres = amounts.for_each_gpu(job, math.max(least, each_task))
  end
end

function rules.most_cpus(job, all)
  local gpus, number = amounts.gpus(all)
  local total, per_node = amounts.fewest_cpus(all)
  local per_task = given(all.cpus_per_task) or 1
  if not request.is_new(job, all) and (given(job.cpus_per_task) or given(job.num_tasks)) then
    -- slurmctld has not yet counted all CPUs again
    total = math.max(total, (given(all.num_tasks) or 1) * per_task)
  end
  local per_gpu = math.max(amounts.cpus_per_gpu(all) or 0, (given(all.ntasks_per_tres) or 0) * per_task)
  local cpus = math.max(total, per_node * (given(all.min_nodes) or 1), per_gpu * number)
  local most = 0
  for kind, count in pairs(gpus) do
    most = most + count * (amounts.of_type(all, kind, site.most_cpus) or math.huge)
  end
  if number > 0 and most < math.huge and amounts.is_bound(all) and not amounts.has_whole_nodes(all) then
    return "--gres-flags=enforce-binding may give a job more CPUs than it requests: leave it out."
  end
  if number > 0 and cpus > most and not amounts.has_whole_nodes(all) then
    local words = "This job requests %.3g CPUs per GPU: at most %.3g (--cpus-per-gpu)."
    return words:format(cpus / number, most / number)
  end
end

-- With more CPUs per GPU than recommended, a job may leave the node's other GPUs without CPUs.
function rules.recommended_cpus(job)
  local gpus, total = amounts.gpus(job)
  local most = 0
  for kind, number in pairs(gpus) do
    local per_gpu = site.recommended_cpus[kind] or site.recommended_cpus["default"]
    if kind == "" then
      for feature in amounts.features(job) do
        per_gpu = site.recommended_cpus[feature] or per_gpu
      end
    end
    most = most + number * (per_gpu or math.huge)
  end
  local cpus = amounts.cpus(job, total)
  if total > 0 and cpus > most and not amounts.has_whole_nodes(job) then
    local words = "%.3g CPUs per GPU, but at most %.3g are recommended: "
      .. "other GPUs of the node may be left without CPUs. The job is accepted."
    slurm.log_user("%s", words:format(cpus / total, most / total))
  end
end

return rules
