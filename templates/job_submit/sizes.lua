-- Sizes of a job: the bytes of its texts, and its tasks. slurmctld keeps the texts in memory for each job and each task
-- of an array, and sends them to all programs that read the queue. Slurm itself limits all other texts.
-- It does not limit tasks: with 2147483648, which `scontrol update` accepts, slurmctld 22.05 kept a node from all jobs
-- for half a minute. It compares each name of a list of nodes with all nodes, and answers no other program meanwhile:
-- 25,000 names take a second, and "x[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]" is 100 million (measured on 24.11).
local given = request.given
local rules = {}

-- Whether a list such as "a,n[1-3,7]x[0-9]" names more hosts than `most`; slurmctld would look for each of them.
local function has_more_hosts(list, most)
  if #list > 100 * most then
    return true
  end
  local total = 0
  for item in list:gsub("%b[]", function(box)
    return box:gsub(",", ";")
  end):gmatch("[^,]+") do
    local count = 1
    for box in item:gmatch("%b[]") do
      local inside = 0
      for first, last in box:gmatch("(%d+)%-?(%d*)") do
        inside = inside + math.max(1, (tonumber(last) or tonumber(first)) - tonumber(first) + 1)
      end
      count = count * math.max(1, inside)
    end
    total = total + count
  end
  return total > most
end

function rules.ask(job)
  local sizes, script = site.sizes, given(job.script) or ""
  if #(given(job.container) or "") > sizes.text then
    return string.format("--container is too long: at most %d bytes.", sizes.text)
  elseif #script > sizes.script then
    return string.format("The job's script is too long: at most %d KiB.", math.floor(sizes.script / 1024))
  elseif (given(job.num_tasks) or 0) > sizes.tasks then
    return string.format("A job may have at most %d tasks.", sizes.tasks)
  end
  for _, list in ipairs({ given(job.req_nodes) or "", given(job.exc_nodes) or "" }) do
    if has_more_hosts(list, sizes.hosts) then
      return string.format("--nodelist and --exclude may name at most %d nodes each.", sizes.hosts)
    end
  end
  for line in script:gmatch("#SBATCH([^\n]*)") do
    if #line > sizes.line then
      return string.format("A line of #SBATCH is too long: at most %d KiB.", math.floor(sizes.line / 1024))
    end
  end
end

return rules
