"""The nodes for plain pyinfra: `pyinfra inventory/example/inventory.py deploys/site.py --dry`."""

from pathlib import Path as _Path

from gpupool.engine.hosts import targets_for_pyinfra as _targets_for_pyinfra

nodes = _targets_for_pyinfra(_Path(__file__).parent)
