"""drift: what a controller can see by itself of what differs from the last apply, as metrics.

It runs on controllers with nothing but Python's standard library and Slurm's `scontrol`. `gpupool drift`, which knows
the inventory, compares Slurm by the same modules.
"""
