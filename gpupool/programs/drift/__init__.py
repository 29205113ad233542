"""drift: metrics of the differences from the last apply that a controller can see without the inventory.

It runs on controllers, and needs only Python's standard library and Slurm's `scontrol`. `gpupool drift` has the
inventory, and uses the same modules to compare Slurm.
"""
