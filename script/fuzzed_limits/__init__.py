"""Random limits and defaults: a real slurmctld accepts what an inventory allows. See `script/fuzz --limits`."""
