"""The nodes for plain pyinfra: `pyinfra inventory/arandu/inventory.py deploys/site.py --dry`."""

from pathlib import Path as _Path

from gpupool.plain import groups_of as _groups_of

globals().update(_groups_of(_Path(__file__).parent))
