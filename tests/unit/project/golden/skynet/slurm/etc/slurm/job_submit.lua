-- Written by gpupool from the inventory of skynet; changes made here are undone by the next apply.
-- slurmctld calls it for every job, at its submission and at every change.

local site = {
  sizes = { ["script"] = 524288, ["line"] = 16384, ["text"] = 4096, ["tasks"] = 1000000, ["hosts"] = 10000 },
  export_fix = true,
  accounts = {
    ["root"] = true, ["essa-lab"] = true, ["hays-lab"] = true, ["kira-lab"] = true, ["hoffman-lab"] = true,
    ["nlprx-lab"] = true, ["ha-lab"] = true, ["ei-lab"] = true, ["rail-lab"] = true, ["rehg-lab"] = true,
    ["tail-lab"] = true, ["rl2-lab"] = true, ["ravichandar-lab"] = true, ["wu-lab"] = true, ["cvmlp-lab"] = true,
    ["overcap"] = true
  },
  refuse_fatal = true,
  preemptable_partitions = { ["user-overcap"] = true, ["overcap"] = true },
  refuse_repeated = true,
  partition_limits = {
    ["partitions"] = {
      ["debug"] = { ["per_user"] = { ["gres/gpu"] = 5 }, ["deny"] = true },
      ["user-overcap"] = { ["deny"] = true, ["per_user"] = { ["cpu"] = 1000000, ["gres/gpu"] = 1000000 } }
    },
    ["qos"] = {
      ["normal"] = { ["deny"] = true },
      ["short"] = { ["wall"] = 2880, ["deny"] = true },
      ["long"] = { ["wall"] = 10080, ["deny"] = true },
      ["debug"] = { ["per_user"] = { ["gres/gpu"] = 5 }, ["wall"] = 240, ["deny"] = true },
      ["cvmlp-user-limits"] = { ["per_user"] = { ["cpu"] = 112, ["gres/gpu"] = 16 }, ["deny"] = true }
    },
    ["gpus"] = { "gres/gpu", "gres/gpu:titan_x", "gres/gpu:2080_ti", "gres/gpu:rtx_6000", "gres/gpu:a40" }
  },
  replaced = {
    ["cvmlp-lab"] = {
      ["normal"] = "cvmlp-user-limits", ["short"] = "cvmlp-user-limits", ["long"] = "cvmlp-user-limits"
    }
  },
  timed = {
    ["accounts"] = {},
    ["qos"] = {},
    ["partitions"] = {},
    ["longer"] = { ["short"] = true, ["long"] = true },
    ["walls"] = {}
  },
  memory_per_gpu = { [""] = 30720 },
  memory_per_cpu = 1024,
  most_memory = { ["GPU"] = { [""] = 45056 }, ["CPU"] = { [""] = 4096 } },
  recommended_cpus = { ["default"] = 7, ["a40"] = 15 },
  claimed = {
    ["debug"] = true, ["short"] = true, ["long"] = true, ["essa-lab"] = true, ["hays-lab"] = true, ["kira-lab"] = true,
    ["hoffman-lab"] = true, ["nlprx-lab"] = true, ["ha-lab"] = true, ["ei-lab"] = true, ["rail-lab"] = true,
    ["rehg-lab"] = true, ["tail-lab"] = true, ["rl2-lab"] = true, ["ravichandar-lab"] = true, ["wu-lab"] = true,
    ["cvmlp-lab"] = true, ["user-overcap"] = true, ["overcap"] = true
  },
  step_down = 22000,
  walls = { ["short"] = 2880, ["long"] = 10080, ["debug"] = 240 },
  admits = {
    ["debug"] = { ["never"] = { ["overcap"] = true } },
    ["short"] = { ["never"] = { ["overcap"] = true } },
    ["long"] = { ["never"] = { ["overcap"] = true } },
    ["essa-lab"] = { ["only"] = { ["essa-lab"] = true } },
    ["hays-lab"] = { ["only"] = { ["hays-lab"] = true } },
    ["kira-lab"] = { ["only"] = { ["kira-lab"] = true } },
    ["hoffman-lab"] = { ["only"] = { ["hoffman-lab"] = true } },
    ["nlprx-lab"] = { ["only"] = { ["nlprx-lab"] = true } },
    ["ha-lab"] = { ["only"] = { ["ha-lab"] = true } },
    ["ei-lab"] = { ["only"] = { ["ei-lab"] = true } },
    ["rail-lab"] = { ["only"] = { ["rail-lab"] = true } },
    ["rehg-lab"] = { ["only"] = { ["rehg-lab"] = true } },
    ["tail-lab"] = { ["only"] = { ["tail-lab"] = true } },
    ["rl2-lab"] = { ["only"] = { ["rl2-lab"] = true } },
    ["ravichandar-lab"] = { ["only"] = { ["ravichandar-lab"] = true } },
    ["wu-lab"] = { ["only"] = { ["wu-lab"] = true } },
    ["cvmlp-lab"] = { ["only"] = { ["cvmlp-lab"] = true } },
    ["user-overcap"] = { ["never"] = { ["overcap"] = true } },
    ["overcap"] = { ["only"] = { ["overcap"] = true } }
  },
  default_qos = "normal",
  default_queue = "short",
  no_mail = true,
}

-- templates/job_submit/*.lua
