"""Environment variables of logins and jobs, and private directories of jobs."""

from typing import Annotated

from pydantic import Field

from gpupool.cluster.schema.base import Entry, Nodes, PlainPath, SourcedEntry, TextOfUser, VariableName, spelt
from gpupool.cluster.units import Size

# sshd allows * and ? in AcceptEnv, and does not start with an invalid name
AcceptedName = Annotated[
    str, spelt(r"^[A-Za-z_*?][A-Za-z0-9_*?]*$", "a variable has letters, digits and _, * or ? here")
]


class AcceptEnv(Entry):
    """Environment variables that SSH clients may send."""

    where: Nodes
    names: tuple[AcceptedName, ...] = Field(description="Names of the variables; * and ? match as in sshd_config.")


class JobDirectory(Entry):
    """A private directory for each job on each of its nodes, removed when the job ends."""

    path: PlainPath = Field(description="Local directory of compute nodes that holds them.")
    env: VariableName = Field("JOBSCRATCH", description="Environment variable of jobs with its path.")
    min_free: Size = Field(1024, description="With less free space, a job starts without a private directory.")


class Environment(SourcedEntry):
    """Environment variables; values may contain {user} and {account}."""

    accept_env: AcceptEnv | None = Field(None, description="Variables that SSH clients may send; default: none.")
    login: dict[VariableName, TextOfUser] = Field(
        default_factory=dict, description="Variables of login shells, with {user} and {account}."
    )
    job: dict[VariableName, TextOfUser] = Field(
        default_factory=dict, description="Variables of jobs, with {user} and {account}."
    )
    private_tmp: PlainPath | None = Field(
        None,
        description="Local directory of compute nodes for the private /tmp and /dev/shm of each job.",
    )
    job_directory: JobDirectory | None = Field(
        None, description="A private directory for each job on its nodes; default: none."
    )
