"""Policies of a site: heads, processes outside of jobs, ports for users, homes."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gpupool.cluster.quote import quoted
from gpupool.cluster.schema.base import Flag, Mode, Name, Nodes, SourcedEntry, spelt
from gpupool.cluster.units import Duration, Size


def _port_range(text: str) -> str:
    first, _, last = text.partition("-")
    if not 1 <= int(first) <= int(last or first) <= 65535:
        raise ValueError(f"{quoted(text)} is not a range of ports; write 8000-9000")
    return text


PortRange = Annotated[
    str, spelt(r"^[0-9]{1,5}(-[0-9]{1,5})?$", "write 8000-9000, or one port"), AfterValidator(_port_range)
]


class HeadNodes(SourcedEntry):
    """Limits of each user on a head node."""

    cpu_per_user: Annotated[
        str,
        spelt(
            r"^[1-9][0-9]{0,5}%$",
            "write a share such as 200%",
            description="CPU time of all processes of a user together: 200% are two logical CPUs.",
        ),
    ]
    memory_per_user: Size = Field(description="Memory of all processes of a user together, with its unit: 4G.")
    tasks_per_user: Annotated[int, Field(strict=True, ge=64, le=4194304)] = Field(
        4096, description="Maximum processes and threads of a user."
    )
    linger: Flag = Field(True, description="Processes of a user, such as tmux, keep running after the last session.")


class Reaper(SourcedEntry):
    """Ends users' processes outside of Slurm, on compute nodes that are not heads; `timers` sets how often."""

    grace: Duration = Field(description="Time from the first sight of a process outside of jobs to its end.")
    spare_users: tuple[Name, ...] = Field(("root", "slurm"), description="Users whose processes are never ended.")
    spare_docker_of_jobs: Flag = Field(
        True, description="Keep a container while a job that may have started it runs on the node."
    )


class DevPorts(SourcedEntry):
    """Ports for users' own servers."""

    range: PortRange = Field(description="The ports, such as 8000-9000, or one port.")
    open_to: Literal["cluster", "vpn", "all"] = Field(
        description="Where connections may come from: the cluster's network, the VPN too, or everywhere."
    )
    where: Nodes | None = Field(None, description="Default: all nodes.")


class Policies(SourcedEntry):
    """Site policies."""

    head_nodes: HeadNodes | None = Field(None, description="Limits of each user on head nodes; default: none.")
    reaper: Reaper | None = Field(
        None, description="Ends users' processes outside of jobs on compute nodes; default: off."
    )
    dev_ports: DevPorts | None = Field(None, description="Ports for users' own servers; default: none.")
    # PAM refuses all logins if the limit is above the kernel's fs.nr_open
    nofile: Annotated[int, Field(strict=True, ge=1024, le=1048576)] | None = Field(
        None, description="Maximum open files per process, in sessions and jobs."
    )
    home_mode: Mode | None = Field(None, description="Mode of new homes; default: storage.home.mode.")
    vscode_kill: Nodes | None = Field(None, description="Nodes on which abandoned VS Code servers are ended.")
    jobs_of_removed_users: Literal["finish", "end"] = Field(
        "finish",
        description="Running jobs of a user who is removed from `users` or from an account: they finish, or apply "
        "ends them. Pending jobs are always cancelled.",
    )
    reboot_only_idle: Flag = Field(
        True, description="Compute nodes refuse `reboot` and similar commands while a job runs on them."
    )
