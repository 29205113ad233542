-- Which partitions a job goes to, and where it may not be submitted to or from.
local given = request.given
local rules = {}

-- A user has a partition for jobs without --partition.
function rules.of_user(job)
  local partition = site.user_partitions[job.user_name]
  if partition and not given(job.partition) then
    job.partition = partition
  end
end

-- Returns whether a partition has the types of GPUs that a job requests; a GPU without a type may be any.
local function has_types(job, types)
  for _, field in ipairs(amounts.GPU_FIELDS) do
    for kind in pairs(amounts.gpus_in(given(job[field]))) do
      if not (types and (types[kind] or kind == "" and next(types))) then
        return false
      end
    end
  end
  return true
end

-- A job without --partition goes to all partitions that admit it and have its GPUs, and starts where it fits first. If
-- none has them, Slurm itself refuses the job with the reason.
function rules.fitting(job)
  if given(job.partition) then
    return
  end
  local names, having = {}, {}
  for _, partition in ipairs(site.fitting) do
    if request.is_admitted(job, partition) and not (partition.users and not partition.users[job.user_name]) then
      names[#names + 1] = partition.name
      having[#having + 1] = has_types(job, partition.gpus) and partition.name or nil
    end
  end
  if #names > 0 then
    job.partition = table.concat(#having > 0 and having or names, ",")
  end
end

-- Slurm itself refuses a job without a partition; the message names the partitions.
function rules.hint(job)
  if not given(job.partition) then
    slurm.log_user("Specify a partition with --partition (-p): %s.", table.concat(site.partition_names, ", "))
  end
end

-- A job without GPUs leaves partitions of jobs with GPUs: it goes to another one, or is refused.
function rules.without_gpu(job, all, partitions)
  if amounts.has_gpus(all) then
    return
  end
  local names, seen, changed, refused = {}, {}, false, nil
  for name in request.names(request.partitions(all, partitions)) do
    local instead = site.without_gpu[name] or name
    if instead == "refuse" or instead ~= name and not request.is_new(job, all) then
      refused = refused or name
    else
      changed = changed or instead ~= name
      names[#names + 1] = not seen[instead] and instead or nil
      seen[instead] = true
    end
  end
  -- a new job keeps its other partitions; a job that exists is never moved
  if refused and (#names == 0 or not request.is_new(job, all)) then
    return "Partition " .. refused
      .. " is for jobs with GPUs: request one, such as --gpus=1, or use another partition (-p)."
  elseif refused or changed then
    job.partition = table.concat(names, ",")
  end
end

function rules.assigned(_, all, partitions)
  for name in request.names(request.partitions(all, partitions)) do
    local users = site.assigned[name]
    if users and not users[all.user_name] then
      return "Partition " .. name .. " is only for users who are assigned to it: submit to another one (-p)."
    end
  end
end

-- Compute nodes do not have every directory of the heads.
function rules.folder(job)
  local from = given(job.work_dir) or ""
  for _, folder in ipairs(site.refused_folders) do
    if from == folder or from:sub(1, #folder + 1) == folder .. "/" then
      return "Compute nodes do not have " .. folder .. ": submit from another directory, or set one with --chdir."
    end
  end
end

return rules
