"""The nodes for plain pyinfra: `pyinfra inventory/aau-ai-cloud/inventory.py deploys/site.py --dry`."""

from pathlib import Path as _Path

from gpupool.target import pyinfra_hosts as _pyinfra_hosts

nodes = _pyinfra_hosts(_Path(__file__).parent)
