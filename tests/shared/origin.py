"""The origin field of runs that tests start."""

from gpupool.engine.report import Origin

ORIGIN = Origin("apply", "small", "ann@desk", "0123456789abcdef", uncommitted=True)
