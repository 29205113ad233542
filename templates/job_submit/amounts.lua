-- How many GPUs, CPUs, tasks and nodes a job asks for.
local given = request.given
local amounts = {}

-- Fields that ask for GPUs: --gpus; --gres and --gpus-per-node; --gpus-per-task; --gpus-per-socket.
amounts.GPU_FIELDS = { "tres_per_job", "tres_per_node", "tres_per_task", "tres_per_socket" }

-- Returns the GPUs in a text by type: "gres/gpu:a40:2,gres/gpu:1" is { a40 = 2, [""] = 1 }.
function amounts.gpus_in(text)
  local gpus = {}
  for word in request.names(text) do
    local rest = word:gsub("^gres[:/]", ""):match("^gpu([:=]?.*)$")
    if rest and (rest == "" or rest:find("^[:=]")) then
      local kind, number = rest:match("^.([^:=]+)[:=](%d+)")
      if not kind then
        number = rest:match("^.(%d+)$")
        kind = not number and rest:sub(2) or ""
      end
      number = tonumber(number or 1)
      if number > 0 then
        gpus[kind] = (gpus[kind] or 0) + number
      end
    end
  end
  return gpus
end

-- Returns a text with a type for GPUs without one: "cpu=7,gres/gpu=1" becomes "cpu=7,gres/gpu:a40=1".
function amounts.with_type(text, kind)
  local words = {}
  for word in request.names(text) do
    local before, after = word:match("^(gres[:/]gpu)([:=]?%d*)$")
    if not before then
      before, after = word:match("^(gpu)([:=]?%d*)$")
    end
    words[#words + 1] = before and before .. ":" .. kind .. after or word
  end
  return table.concat(words, ",")
end

-- Returns whether a job asks for a GPU without naming its type.
function amounts.has_untyped_gpus(job)
  for _, field in ipairs(amounts.GPU_FIELDS) do
    if amounts.gpus_in(job[field])[""] then
      return true
    end
  end
  return false
end

function amounts.has_gpus(job)
  for _, field in ipairs(amounts.GPU_FIELDS) do
    if next(amounts.gpus_in(job[field])) then
      return true
    end
  end
  return false
end

-- Returns whether a job gets all CPUs that are bound to its GPUs, however many it requests. slurmctld does not show
-- this flag of a job that is changed.
function amounts.is_bound(job)
  return math.floor((given(job.bitflags) or 0) / (slurm.GRES_ENFORCE_BIND or 16)) % 2 == 1
end

-- Returns the number of tasks, on the given number of nodes or on the job's own.
function amounts.tasks(job, nodes)
  local per_node = given(job.ntasks_per_node) or 0
  return given(job.num_tasks) or (per_node > 0 and per_node or 1) * (nodes or given(job.min_nodes) or 1)
end

-- Returns the GPUs of the whole job by type and their sum, on the given number of nodes or on the job's own.
function amounts.gpus(job, nodes)
  nodes = nodes or given(job.min_nodes) or 1
  local times = {
    tres_per_job = 1,
    tres_per_node = nodes,
    tres_per_task = amounts.tasks(job, nodes),
    tres_per_socket = nodes,
  }
  for _, field in ipairs(amounts.GPU_FIELDS) do
    local gpus, total = amounts.gpus_in(job[field]), 0
    for kind, number in pairs(gpus) do
      gpus[kind] = number * times[field]
      total = total + gpus[kind]
    end
    if total > 0 then
      return gpus, total
    end
  end
  return {}, 0
end

-- Iterates over the words of --constraint. A type of GPU is a feature of its nodes, so it may be among them.
function amounts.features(job)
  return (given(job.features) or ""):gsub("[^%w_-]", ","):gmatch("[^,]+")
end

-- Returns the amount for a GPU of a type from a table by type, or nil. A GPU without a type may be of any type, which
-- has the lowest amount, or of the types in --constraint.
function amounts.of_type(job, kind, by_type)
  local least
  if kind == "" then
    for feature in amounts.features(job) do
      least = math.min(least or math.huge, by_type[feature] or math.huge)
    end
  end
  return least and least < math.huge and least or by_type[kind]
end

-- Returns the lowest amount of the types of GPU in a job, from a table by type in which "" is for all others. Slurm
-- takes one amount for all GPUs of a job.
function amounts.lowest(job, kinds, by_type)
  local least = math.huge
  for kind in pairs(kinds) do
    least = math.min(least, amounts.of_type(job, kind, by_type) or by_type[""])
  end
  return least
end

-- Returns a text with a number for each GPU. Slurm 22.05 writes gres:gpu, later releases write gres/gpu.
function amounts.for_each_gpu(job, number)
  local separator = "/"
  for _, field in ipairs(amounts.GPU_FIELDS) do
    separator = (given(job[field]) or ""):match("gres(:)gpu") or separator
  end
  return string.format("gres%sgpu:%.0f", separator, number)
end

-- Returns whether a text such as "gpu:1,gpu:1" names one kind of GPU twice.
function amounts.is_repeated(text)
  local seen = {}
  for word in request.names(text) do
    local rest = word:gsub("^gres[:/]", ""):match("^gpu([:=]?.*)$")
    if rest and (rest == "" or rest:find("^[:=]")) then
      local kind = rest:match("^.([^:=]+)[:=]") or not rest:find("^.%d+$") and rest:sub(2) or ""
      if seen[kind] then
        return true
      end
      seen[kind] = true
    end
  end
  return false
end

-- Returns the number that ends a text such as "gres/gpu:8", the largest of several, or nil. Any other end, such as the
-- K of "gres/gpu:400K", is a unit that Slurm multiplies by: no number is too large for that.
function amounts.per_gpu(text)
  local most
  for word in request.names(given(text)) do
    most = math.max(most or 0, tonumber(word:match("[:=](%d+)$")) or math.huge)
  end
  return most
end

-- Returns the CPUs for each GPU: of --cpus-per-gpu, else of slurm.conf's DefCpuPerGPU, else nil. Of several partitions
-- the one with the most CPUs counts.
function amounts.cpus_per_gpu(job)
  local requested = amounts.per_gpu(job.cpus_per_tres)
  if requested or not site.default_cpus or given(job.cpus_per_task) then
    return requested
  end
  local most = 0
  for name in request.names(given(job.partition) or site.default_queue) do
    most = math.max(most, site.default_cpus[name] or 0)
  end
  return most > 0 and most or nil
end

-- Returns the most CPUs that a job with this number of GPUs may get.
function amounts.cpus(job, gpus)
  local tasks = math.max(amounts.tasks(job), (given(job.ntasks_per_tres) or 0) * gpus)
  local of_tasks = tasks * (given(job.cpus_per_task) or 1)
  return math.max((amounts.cpus_per_gpu(job) or 0) * gpus, of_tasks, given(job.min_cpus) or 0)
end

-- Returns the fewest CPUs that a job is charged for, and the fewest on each of its nodes. With --overcommit tasks share
-- CPUs. After a change of the number of tasks or of CPUs, Slurm may use either.
function amounts.fewest_cpus(job)
  local per_task, total = given(job.cpus_per_task) or 1, math.max(given(job.min_cpus) or 1, 1)
  local of_tasks = given(job.num_tasks) and job.num_tasks * per_task or total
  local per_node = math.max(of_tasks > total and 1 or per_task, given(job.pn_min_cpus) or 1, 1)
  return math.min(total, of_tasks), per_node
end

-- Returns the most nodes that a job may get. Each GPU of --gpus, and each task, may come from another node. The number
-- of tasks of a job that is changed is not known; each of them has a CPU.
function amounts.most_nodes(job, is_new)
  local most = given(job.max_nodes) or 0
  if most == 0 then
    for _, number in pairs(amounts.gpus_in(job.tres_per_job)) do
      most = most + number
    end
  end
  if most == 0 then
    most = given(job.num_tasks) or is_new and amounts.tasks(job) or amounts.fewest_cpus(job)
  end
  return math.max(most, given(job.min_nodes) or 1, 1)
end

-- Returns whether all partitions of a job give whole nodes.
local function has_whole_partitions(job)
  local whole = false
  for name in request.names(given(job.partition) or site.default_queue) do
    whole = site.exclusive[name] or false
    if not whole then
      break
    end
  end
  return whole
end

-- Returns whether a job is charged for whole nodes, by --exclusive or by its partitions.
function amounts.has_whole_nodes(job)
  return job.shared == slurm.JOB_SHARED_NONE or site.exclusive ~= nil and has_whole_partitions(job)
end

return amounts
