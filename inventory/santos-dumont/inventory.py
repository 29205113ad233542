"""The nodes for plain pyinfra: `pyinfra inventory/santos-dumont/inventory.py deploys/site.py --dry`."""

from pathlib import Path as _Path

from gpupool.engine.targets import for_pyinfra as _for_pyinfra

nodes = _for_pyinfra(_Path(__file__).parent)
