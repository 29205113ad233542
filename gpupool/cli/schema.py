"""`gpupool schema`: the inventory language as JSON Schema, for editors."""

from gpupool.cli.screen import print_json
from gpupool.cluster.schema import Inventory


def command() -> None:
    """Print the JSON Schema of inventories, for the YAML support of editors."""
    schema = Inventory.model_json_schema(by_alias=True)
    # one file of a folder holds some of the keys, so none is required of a single file
    schema.pop("required", None)
    print_json({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
