-- Written by gpupool from the inventory of aicloud; changes made here are undone by the next apply.
-- slurmctld calls it for every job, at its submission and at every change.

local site = {
  refuse_spread = true,
  no_mail = true,
}

-- templates/job_submit/*.lua
