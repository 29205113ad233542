"""The whole cluster at full size as a twin on one machine, and its promises tried there as real jobs."""
