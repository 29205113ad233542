-- Written by gpupool from the inventory of mixed; changes made here are undone by the next apply.
-- slurmctld calls it for every job, at its submission and at every change.

local site = {
  sizes = { ["script"] = 524288, ["line"] = 16384, ["text"] = 4096, ["tasks"] = 1000000, ["hosts"] = 10000 },
  refuse_fatal = true,
  refuse_repeated = true,
  memory_per_gpu = { [""] = 102400 },
  memory_per_cpu = 2048,
  most_memory = { ["GPU"] = { [""] = 122880 }, ["CPU"] = { [""] = 4096 } },
  claimed = { ["all"] = true },
  step_down = 22000,
  default_queue = "all",
  no_mail = true,
}

-- templates/job_submit/*.lua
