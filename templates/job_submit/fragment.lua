-- The site's own job_submit.lua. It runs with copies of variables and libraries, so it cannot change gpupool's part.
local fragment = {}
local environment = setmetatable({}, { __index = _G })

if site.fragment then
  for _, name in ipairs({ "slurm", "string", "table", "math", "os" }) do
    environment[name] = setmetatable({}, { __index = _G[name] })
  end
  environment._G = environment
  -- Lua 5.1 has setfenv, later releases have a parameter of load
  local load_fragment = setfenv and assert(loadstring(site.fragment, "=site"))
    or assert(load(site.fragment, "=site", "t", environment))
  if setfenv then
    setfenv(load_fragment, environment)
  end
  load_fragment()
end

-- Returns the code with which the fragment refuses a job, or nil. An error in the fragment must not block users.
function fragment.refusal(name, ...)
  local asked = rawget(environment, name)
  if not asked then
    return nil
  end
  local ok, answer = pcall(asked, ...)
  if not ok then
    slurm.log_error("slurm/job_submit.lua: %s: %s", name, tostring(answer))
  elseif answer and answer ~= slurm.SUCCESS then
    return answer
  end
end

return fragment
