-- Written by gpupool from the inventory of mlmini; changes made here are undone by the next apply.
-- slurmctld calls it for every job, at its submission and at every change.

local site = {
  sizes = { ["script"] = 524288, ["line"] = 16384, ["text"] = 4096, ["tasks"] = 1000000, ["hosts"] = 10000 },
  user_partitions = { ["user_one_example_org"] = "g2", ["user_two_example_org"] = "cpu" },
  partition_names = { "g2", "cpu" },
  assigned = {
    ["g2"] = { ["user_one_example_org"] = true },
    ["cpu"] = { ["user_one_example_org"] = true, ["user_two_example_org"] = true }
  },
  refuse_fatal = true,
  refuse_repeated = true,
  no_mail = true,
}

-- templates/job_submit/*.lua
