-- Budgets of accounts: a job must not cost more than what is left. Costs are in seconds of billing, memory in MiB.
local given = request.given
local rules = {}

-- Returns the number of tasks of an array such as "0-40:4,50%2".
local function tasks_in(array)
  local count = 0
  for part in request.names((array or ""):gsub("%%.*", "")) do
    local first, last, step = part:match("^(%d+)%-(%d+):?(%d*)$")
    count = count + (first and math.floor((last - first) / math.max(tonumber(step) or 1, 1)) + 1 or 1)
  end
  return math.max(count, 1)
end

-- Returns the most of each resource that a job may get in a partition; `place` holds the largest node's.
local function most_of(job, place)
  local nodes = math.max(given(job.min_nodes) or 1, given(job.max_nodes) or 1, 1)
  local types, gpus = amounts.gpus(job, nodes)
  local cpus = math.max(amounts.cpus(job, gpus), nodes)
  if amounts.has_whole_nodes(job) or place.exclusive then
    local per_node = given(job.ntasks_per_node) or 0
    nodes = math.max(nodes, math.ceil(cpus / place.cpu), math.ceil(gpus / math.max(place.gpu, 1)))
    nodes = per_node > 0 and math.max(nodes, math.ceil(amounts.tasks(job) / per_node)) or nodes
    return { cpu = nodes * place.cpu, gpu = nodes * place.gpu, mem = nodes * place.mem, nodes = nodes }
  end
  local by_node, by_cpu = given(job.min_mem_per_node), given(job.min_mem_per_cpu)
  local mem = by_cpu and by_cpu * cpus or nodes * (by_node and by_node > 0 and by_node or place.mem)
  return { cpu = cpus, gpu = gpus, mem = mem, types = types }
end

-- Returns the price of GPUs by their types. A GPU of no type may be of the type with the highest price.
local function price_of_gpus(place, most)
  if not place.gpus then
    return 0
  elseif most.nodes then
    return most.nodes * place.whole
  end
  local units, highest = 0, 0
  for kind, price in pairs(place.gpus) do
    units, highest = units + price * (most.types[kind] or 0), math.max(highest, price)
  end
  return units + highest * (most.types[""] or 0)
end

-- Returns the most that a job may cost.
local function cost_of(job, partitions)
  local cost = 0
  for name in request.names(request.partitions(job, partitions)) do
    local place, partition, units = site.budget.prices[name], partitions[name], 0
    if place and partition then
      local most = most_of(job, place)
      for _, resource in ipairs({ "cpu", "gpu", "mem" }) do
        units = units + (place.price[resource] or 0) * most[resource]
      end
      -- Slurm charges whole units
      units = math.floor(units + price_of_gpus(place, most))
      cost = math.max(cost, units * 60 * (given(job.time_limit) or request.default_time(name, partition)))
    end
  end
  return cost * tasks_in(job.array_inx)
end

local function hours(seconds)
  return string.format("%.2f %s", seconds / 3600, site.budget.unit)
end

-- Returns the text of the file that a service replaces every minute; nil without the file, or where it is so old that
-- an account whose budget was raised would still be refused.
local function usage()
  local file = io.open(site.budget.file, "r")
  local text = file and file:read("*a") or ""
  if file then
    file:close()
  end
  local written = tonumber(text:match("^(%d+)\n")) or 0
  return os.time() - written <= site.budget.too_old and text or nil
end

function rules.ask(job, all, partitions)
  -- a running job can only be made shorter; 0 is a pending job
  local is_running = not request.is_new(job, all) and (all.job_state or 0) % 256 ~= 0
  local text = not is_running and usage()
  if not text then
    return -- Slurm's own limit still holds
  end
  local account, cost, warning = request.account(all), cost_of(all, partitions), nil
  for line in text:gmatch("[^\n]+") do
    local name, user, owner, limit, used, running = line:match("^([^\t]*)\t([^\t]*)\t([^\t]*)\t(%d+)\t(%d+)\t(%d+)$")
    if name == account and (user == "" or user == all.user_name) then
      local left = math.max(limit - used, 0)
      local who = (user ~= "" and "User " or "Account ") .. owner
      if cost > left then
        return string.format(
          "%s has %s left of its budget of %s, and this job may cost up to %s: "
            .. "request less time (--time) or less of the cluster.",
          who, hours(left), hours(limit), hours(cost)
        )
      elseif cost > left - running then
        warning = string.format(
          "%s has %s left, of which running jobs may need %s: this job may wait until they end.",
          who, hours(left), hours(running)
        )
      end
    end
  end
  if warning then
    slurm.log_user("%s", warning)
  end
end

return rules
