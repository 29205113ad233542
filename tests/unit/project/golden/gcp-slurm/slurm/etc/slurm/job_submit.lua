-- Written by gpupool from the inventory of mlmini; changes made here are undone by the next apply.
-- slurmctld calls it for every job, at its submission and at every change.

local site = {
  user_partitions = { ["user_one_example_org"] = "g2", ["user_two_example_org"] = "cpu" },
  partition_names = { "g2", "cpu" },
  assigned = {
    ["g2"] = { ["user_one_example_org"] = true },
    ["cpu"] = { ["user_one_example_org"] = true, ["user_two_example_org"] = true }
  },
  refuse_spread = true,
  no_mail = true,
}

-- templates/job_submit/*.lua
