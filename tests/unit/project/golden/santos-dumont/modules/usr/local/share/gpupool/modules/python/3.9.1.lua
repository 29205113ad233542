-- Written by gpupool from the inventory of sdumont; changes made here are undone by the next apply.
local module = {
  name = "python/3.9.1",
  conflicts = { "deepl" },
  needs = {},
  prepend = {
    { ["name"] = "PATH", ["path"] = "/opt/sdumont/python/3.9.1/bin" },
    { ["name"] = "LD_LIBRARY_PATH", ["path"] = "/opt/sdumont/python/3.9.1/lib" }
  },
  set = {},
}

-- A module file of Lmod: applies the table `module` above, which gpupool writes from the inventory.
whatis("Name: " .. module.name)
if module.about then
  whatis("Description: " .. module.about)
  help(module.about)
end
for _, name in ipairs(module.conflicts) do
  conflict(name)
end
for _, name in ipairs(module.needs) do
  depends_on(name)
end
for _, entry in ipairs(module.prepend) do
  prepend_path(entry.name, entry.path)
end
for _, entry in ipairs(module.set) do
  setenv(entry.name, entry.value)
end
