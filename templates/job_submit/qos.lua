-- Which account, QoS and time limit a job has.
local given = request.given
local rules = {}

-- Coordinators may add accounts below their own. The QoS of such an account are not in the inventory.
function rules.account(_, all)
  local account = request.account(all)
  -- Slurm itself refuses a job without an account
  if account ~= "" and not site.accounts[account] then
    return "Account " .. account .. " is not in the inventory of this cluster: submit with an account that is (-A)."
  end
end

-- A job without --qos gets the QoS of its first partition, as Slurm's DefaultTime does.
function rules.of_partition(job, _, partitions)
  local qos = request.qos_of_partition(job, request.partitions(job, partitions):match("^[^,]*"))
  if qos then
    job.qos = qos
  end
end

-- Jobs of some accounts get another QoS than they ask for, with the time limit (minutes) of the QoS that they ask for.
function rules.replaced(job, all, partitions)
  local account, walls = request.account(all), site.walls or {}
  local asked, names, most, changed = given(all.qos) or "", {}, 0, false
  for name in request.names(asked:lower()) do
    local instead = site.replaced[account] and site.replaced[account][name]
    if instead then
      changed, most = true, math.max(most, walls[name] or math.huge)
    end
    if names[#names] ~= (instead or name) then
      names[#names + 1] = instead or name
    end
  end
  if not changed then
    return
  end
  job.qos = table.concat(names, ",")
  local time = given(all.time_limit)
  if time and time > most then
    local words = "The time limit of QoS %s is %d hours: request less with --time."
    return words:format(asked, math.floor(most / 60))
  elseif not time and most < math.huge then
    -- a partition may be shorter than the QoS
    for name in request.names(request.partitions(all, partitions)) do
      if partitions[name] then
        most = math.min(most, request.default_time(name, partitions[name]))
      end
    end
    job.time_limit = most
  end
end

-- Returns the partitions of a job that admit its account and its QoS; all of them if none does, since Slurm refuses it.
local function admitting(job, partitions)
  local all, names = {}, {}
  for name in request.names(request.partitions(job, partitions)) do
    local place = site.admits and site.admits[name] or {}
    local admits = request.is_admitted(job, place)
    for qos in request.names(place.qos and request.qos(job)) do
      admits = admits and place.qos[qos]
    end
    all[#all + 1], names[#names + 1] = name, admits and name or nil
  end
  return #names > 0 and names or all
end

-- Where a limit counts minutes, Slurm gives a job without --time all minutes of the limit, and refuses it where its
-- partition is shorter. So the job gets the shortest time of its partitions and of its QoS, else of its account. The
-- same if all its partitions are shorter than its QoS.
function rules.time(job, all, partitions)
  if given(all.time_limit) then
    return
  end
  local account, timed, walls = request.account(all), site.timed, site.walls or {}
  local counted, longer, longest = timed.accounts[account], false, 0
  local of_partitions, of_qos = math.huge, math.huge
  for name in request.names(request.qos(all)) do
    counted, longer = counted or timed.qos[name], longer or timed.longer[name]
    of_qos = math.min(of_qos, walls[name] or math.huge)
  end
  for _, name in ipairs(admitting(all, partitions)) do
    if partitions[name] then
      counted = counted or timed.partitions[name]
      local time = request.default_time(name, partitions[name])
      of_partitions, longest = math.min(of_partitions, time), math.max(longest, time)
    end
  end
  counted = counted or longer and longest < of_qos
  local most = math.min(of_partitions, of_qos < math.huge and of_qos or timed.walls[account] or math.huge)
  -- Slurm writes 2^32 - 1 for a partition without a time limit
  if counted and most < 4294967295 then
    job.time_limit = most
  end
end

return rules
