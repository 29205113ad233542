-- The rules in their order, and the two functions that slurmctld calls.

-- Fields of a changed job, by what they ask for.
local TRES = " tres_per_job tres_per_node tres_per_task tres_per_socket"
local MEMORY = " min_mem_per_node min_mem_per_cpu mem_per_tres"
local CPUS = " min_cpus pn_min_cpus cpus_per_task cpus_per_tres"
local TASKS = " min_nodes max_nodes num_tasks ntasks_per_node ntasks_per_tres"
local PRICED = "time_limit partition account shared"
-- a job that leaves whole nodes must not keep what it had there
local MOVED = site.exclusive and " partition" or ""

-- A rule is asked where `site` has its `data`. It gets the job that it may change, the job with all its fields, and
-- slurmctld's partitions, and returns the message of a refusal, or nil. When a job is changed, a rule is asked if one
-- of its `fields` changes; a rule without fields is asked at submission only.
local rules = {
  { data = "sizes", ask = sizes.ask, fields = "container num_tasks req_nodes exc_nodes" },
  { data = "export_fix", ask = messages.export },
  { data = "user_partitions", ask = placement.of_user },
  { data = "fitting", ask = placement.fitting },
  { data = "partition_names", ask = placement.hint },
  { data = "without_gpu", ask = placement.without_gpu, fields = "partition" .. TRES },
  { data = "assigned", ask = placement.assigned, fields = "partition" },
  { data = "refused_folders", ask = placement.folder, fields = "work_dir" },
  { data = "accounts", ask = qos.account, fields = "account" },
  { data = "refuse_fatal", ask = preemption.fatal, fields = "bitflags min_nodes" },
  { data = "preemptable_partitions", ask = preemption.component_partition, fields = "partition qos" },
  { data = "preemptable_qos", ask = preemption.component_qos, fields = "partition qos" },
  { data = "out_of_service", ask = gpus.out_of_service, fields = TRES },
  { data = "refuse_repeated", ask = gpus.repeated, fields = TRES },
  { data = "gpu_types", ask = gpus.typed, fields = TRES },
  { data = "cpus_by_type", ask = gpus.default_cpus },
  { data = "partition_limits", ask = limits.ask, fields = "partition" },
  { data = "partition_qos", ask = qos.of_partition },
  { data = "replaced", ask = qos.replaced, fields = "qos account" },
  { data = "timed", ask = qos.time },
  { data = "whole_memory", ask = memory.of_whole_nodes },
  { data = "memory_per_gpu", ask = memory.per_gpu },
  { data = "memory_per_cpu", ask = memory.per_cpu },
  { data = "most_memory", ask = memory.most, fields = "features" .. MEMORY .. TRES .. CPUS .. TASKS .. MOVED },
  { data = "most_cpus", ask = gpus.most_cpus, fields = "features shared" .. CPUS .. TRES .. TASKS .. MOVED },
  { data = "recommended_cpus", ask = gpus.recommended_cpus },
  { data = "claimed", ask = preemption.kept_node, fields = "partition shared" },
  { data = "step_down", ask = preemption.step_down, fields = "nice partition shared" .. TRES },
  { data = "budget", ask = budgets.ask, fields = PRICED .. TRES .. MEMORY .. CPUS .. TASKS },
  { data = "no_mail", ask = messages.mail },
}

local active, names = {}, {}
for _, rule in ipairs(rules) do
  if site[rule.data] then
    active[#active + 1], names[#names + 1] = rule, rule.data
  end
end

-- An error in a rule must not block users: it is written to slurmctld's log, and the other rules are asked.
local function ask(asked, job, all, partitions)
  for _, rule in ipairs(asked) do
    local ok, refusal = pcall(rule.ask, job, all, partitions)
    if not ok then
      slurm.log_error("job_submit.lua: %s: %s", rule.data, tostring(refusal))
    elseif refusal then
      slurm.log_user("%s", refusal)
      return slurm.ESLURM_ACCOUNTING_POLICY
    end
  end
  return slurm.SUCCESS
end

local function is_touched(rule, change)
  for field in (rule.fields or ""):gmatch("%S+") do
    if not request.unset(change[field], field) then
      return true
    end
  end
  return false
end

function slurm_job_submit(job, partitions, uid)
  return fragment.refusal("slurm_job_submit", job, partitions, uid) or ask(active, job, job, partitions)
end

function slurm_job_modify(change, record, partitions, uid)
  local refusal = fragment.refusal("slurm_job_modify", change, record, partitions, uid)
  -- root may change everything
  if refusal or uid == 0 then
    return refusal or slurm.SUCCESS
  end
  local touched = {}
  for _, rule in ipairs(active) do
    touched[#touched + 1] = is_touched(rule, change) and rule or nil
  end
  -- the job as it will be; `before` is the job as it is
  local all = setmetatable({}, {
    __index = function(_, field)
      if field == "before" then
        return record
      elseif field == "user_name" then
        -- the owner of the job, which the user who changes it need not be
        return record.user_name
      end
      local new = change[field]
      return request.unset(new, field) and record[field] or new
    end,
  })
  return ask(touched, change, all, partitions)
end

slurm.log_info("job_submit.lua of gpupool: %s", table.concat(names, ", "))

return slurm.SUCCESS
