"""The user slurm, as which slurmctld and slurmdbd run: it needs the same uid on all nodes of a cluster."""

NAME = "slurm"
#: The uid that Debian's packages give it (postinst of slurm-wlm-basic-plugins).
UID = 64030


def other_number(here: int, wanted: int, first: str) -> str:
    """Return the problem of a node where the user has the uid `here`, not `wanted` as on `first`, and the solution."""
    return (
        f"the user {NAME} has uid {here} here and {wanted} on {first}, and Slurm refuses messages of another uid: with "
        f"its daemons stopped, `usermod -u {wanted} {NAME}`, "
        f"then `find / -xdev -uid {here} -exec chown -h {NAME} {{}} +`"
    )
