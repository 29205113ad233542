"""The whole cluster at full size as a twin on one machine, and its promises tested there with real jobs."""
