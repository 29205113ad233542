-- Written by gpupool from the inventory of sdumont; changes made here are undone by the next apply.
-- slurmctld calls it for every job, at its submission and at every change.

local site = {
  sizes = { ["script"] = 524288, ["line"] = 16384, ["text"] = 4096, ["tasks"] = 1000000, ["hosts"] = 10000 },
  partition_names = {
    "nvidia_dev", "nvidia_small", "nvidia_long", "nvidia_scal", "nvidia", "sequana_gpu", "sequana_gpu_dev",
    "sequana_gpu_long", "gdl"
  },
  refused_folders = { "/prj" },
  refuse_fatal = true,
  refuse_repeated = true,
  budget = {
    ["prices"] = {
      ["nvidia_dev"] = { ["price"] = { ["cpu"] = 1.5 }, ["cpu"] = 24, ["gpu"] = 2, ["mem"] = 63569 },
      ["nvidia_small"] = { ["price"] = { ["cpu"] = 1.5 }, ["cpu"] = 24, ["gpu"] = 2, ["mem"] = 63569 },
      ["nvidia_long"] = { ["price"] = { ["cpu"] = 1.5 }, ["cpu"] = 24, ["gpu"] = 2, ["mem"] = 63569 },
      ["nvidia_scal"] = { ["price"] = { ["cpu"] = 1.5 }, ["cpu"] = 24, ["gpu"] = 2, ["mem"] = 63569 },
      ["nvidia"] = { ["price"] = { ["cpu"] = 1.5 }, ["cpu"] = 24, ["gpu"] = 2, ["mem"] = 63569 },
      ["sequana_gpu"] = { ["price"] = { ["cpu"] = 1.5 }, ["cpu"] = 48, ["gpu"] = 4, ["mem"] = 381419 },
      ["sequana_gpu_dev"] = { ["price"] = { ["cpu"] = 1.5 }, ["cpu"] = 48, ["gpu"] = 4, ["mem"] = 381419 },
      ["sequana_gpu_long"] = { ["price"] = { ["cpu"] = 1.5 }, ["cpu"] = 48, ["gpu"] = 4, ["mem"] = 381419 },
      ["gdl"] = { ["price"] = { ["cpu"] = 2.0 }, ["cpu"] = 40, ["gpu"] = 8, ["mem"] = 381419 }
    },
    ["file"] = "/run/gpupool-budgets/budgets", ["too_old"] = 600, ["unit"] = "UA"
  },
  no_mail = true,
}

-- templates/job_submit/*.lua
