-- Written by gpupool from the inventory of example; changes made here are undone by the next apply.
-- slurmctld calls it for every job, at its submission and at every change.

local site = {
  sizes = { ["script"] = 524288, ["line"] = 16384, ["text"] = 4096, ["tasks"] = 1000000, ["hosts"] = 10000 },
  export_fix = true,
  refuse_fatal = true,
  preemptable_partitions = { ["overcap"] = true },
  refuse_repeated = true,
  partition_limits = {
    ["partitions"] = {
      ["debug"] = { ["per_user"] = { ["gres/gpu"] = 2 }, ["deny"] = true },
      ["overcap"] = { ["deny"] = true, ["per_user"] = { ["cpu"] = 1000000, ["gres/gpu"] = 1000000 } }
    },
    ["qos"] = {
      ["normal"] = { ["deny"] = true },
      ["debug"] = { ["per_user"] = { ["gres/gpu"] = 2 }, ["wall"] = 240, ["deny"] = true },
      ["patient"] = { ["wall"] = 20160, ["deny"] = true },
      ["deadline"] = { ["deny"] = true }
    },
    ["gpus"] = { "gres/gpu", "gres/gpu:a40", "gres/gpu:rtx_6000" }
  },
  timed = { ["accounts"] = {}, ["qos"] = {}, ["partitions"] = {}, ["longer"] = { ["patient"] = true }, ["walls"] = {} },
  memory_per_gpu = { [""] = 24576 },
  memory_per_cpu = 1024,
  most_memory = { ["GPU"] = { [""] = 32768 }, ["CPU"] = { [""] = 1024 } },
  recommended_cpus = { ["default"] = 8, ["a40"] = 16 },
  claimed = { ["debug"] = true, ["short"] = true, ["vision-lab"] = true, ["robotics-lab"] = true, ["overcap"] = true },
  step_down = 22000,
  walls = { ["debug"] = 240, ["patient"] = 20160 },
  admits = {
    ["debug"] = { ["never"] = { ["overcap"] = true } },
    ["short"] = { ["never"] = { ["overcap"] = true } },
    ["vision-lab"] = { ["only"] = { ["vision-lab"] = true } },
    ["robotics-lab"] = { ["only"] = { ["robotics-lab"] = true } },
    ["overcap"] = { ["only"] = { ["overcap"] = true } }
  },
  default_qos = "normal",
  default_queue = "short",
  no_mail = true,
}

-- templates/job_submit/*.lua
