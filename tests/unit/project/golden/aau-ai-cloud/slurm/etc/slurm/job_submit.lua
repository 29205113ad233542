-- Written by gpupool from the inventory of aicloud; changes made here are undone by the next apply.
-- slurmctld calls it for every job, at its submission and at every change.

local site = {
  sizes = { ["script"] = 524288, ["line"] = 16384, ["text"] = 4096, ["tasks"] = 1000000, ["hosts"] = 10000 },
  refuse_fatal = true,
  refuse_repeated = true,
  no_mail = true,
}

-- templates/job_submit/*.lua
