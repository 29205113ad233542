-- Written by gpupool from the inventory of arandu; changes made here are undone by the next apply.
-- slurmctld calls it for every job, at its submission and at every change.

local site = {
  sizes = { ["script"] = 524288, ["line"] = 16384, ["text"] = 4096, ["tasks"] = 1000000, ["hosts"] = 10000 },
  fitting = {
    { ["name"] = "arandu", ["gpus"] = { ["a100"] = true } },
    { ["name"] = "devwork", ["gpus"] = { ["ws"] = true } }
  },
  refuse_fatal = true,
  refuse_repeated = true,
  memory_per_gpu = { [""] = 61440 },
  memory_per_cpu = 2048,
  no_mail = true,
}

-- templates/job_submit/*.lua
