"""A valid inventory that uses every key: the commented example with everything switched on."""

from pathlib import Path
from typing import Any

from gpupool.cluster.reference import switched_on
from gpupool.cluster.text import read

EXAMPLE = Path(__file__).parents[2] / "inventory" / "example"


def everything(folder: Path) -> dict[str, Any]:
    """Return the data of the inventory, without the example's contradictions; its files are written to a folder."""
    for file in EXAMPLE.glob("*.yml"):
        (folder / file.name).write_text(switched_on(file.read_text()))
    data = read(folder).data
    data["cluster"].pop("totals")
    del data["accounts"][1]["limits"]["group"]["mem"]
    del data["scheduler"]["default_memory"]["per_node"]
    # Slurm preempts either by the tiers of partitions or by QoS
    del data["qos"]["scavenger"], data["qos"]["urgent"]
    del data["slurm"]["exact_accounting"]  # with accounts from another system, their caps are unknown
    # these are of the site's own Slurm, and the repository is of SchedMD's packages
    del data["slurm"]["prefix"], data["slurm"]["etc"]
    # each lab owns a different form of resources: GPUs of types, and a node
    del data["accounts"][0]["contributed_gpus"], data["accounts"][1]["contributed_gpus"]
    data["accounts"][0]["owns"] = {"a40": 2, "rtx_6000": 2}
    data["accounts"].insert(2, {"name": "node-lab", "kind": "lab", "gid": 5099, "owns": "rtx-02"})
    data["accounts"][1]["limits"]["per_job"]["gpus"] = data["accounts"][1]["limits"]["group"].pop("gpus")
    for partition in data["partitions"]:
        if not partition.get("preemptable"):
            partition["nodes"] = "@compute!rtx-02"
        if "for_each" in partition:
            partition["for_each"] = "project"
    climate = next(account for account in data["accounts"] if account["name"] == "climate")
    climate.setdefault("limits", {}).setdefault("group", {})["gpu"] = 0
    uncapped = [
        account["name"] for account in data["accounts"] if account["kind"] != "lab" or account["name"] == "node-lab"
    ]
    for partition in data["partitions"]:
        if "allow_accounts" not in partition:
            partition |= {"deny_accounts": uncapped, "lift": ["per_user"], "tier": 80}
    data["partitions"].append(
        {"name": "node", "nodes": "rtx-02", "max_time": "1d", "tier": 80, "allow_accounts": ["node-lab"]}
    )
    data["cluster"] |= {"src": "L1", "inferred": ["name"]}
    data["examples"] = ["job.sh"]
    data["slurm"] |= {"state": "/srv/slurm"}
    # some text for each key that takes Slurm's own words
    data["hardware"]["small"]["parameters"] = {"CpuBind": "core"}
    data["slurm"]["cgroup"]["parameters"]["AllowedDevicesFile"] = "/etc/slurm/devices.conf"
    # a user without a Unix group, a purge, and a type of GPU for sbash: each is written to a different file
    data["users"].append({"name": "u-optics1", "uid": 20009, "account": "physics.optics", "keys": []})
    data["access"]["password_login"] = True
    # sizes and numbers by GPU type, which the example has as one
    data["scheduler"]["default_cpus_per_gpu"] = {"a40": 12, "default": 6}
    data["partitions"][0]["default_cpus_per_gpu"] = {"a40": 12, "default": 6}
    data["scheduler"]["default_memory"]["per_gpu"] = {"a40": "25G", "default": "24G"}
    data["scheduler"]["max_memory"]["per_gpu"] = {"a40": "33G", "default": "32G"}
    data["scheduler"]["private_data"] = ["jobs"]
    data["scheduler"]["refuse_submit_from"] = ["/home"]
    data["tools"].append({"name": "sbash", "where": "@compute", "options": {"gpu": "a40", "partition": "short"}})
    return data
