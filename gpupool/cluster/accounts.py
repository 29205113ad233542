"""Accounts of Slurm and their users, with the values that the inventory resolves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from gpupool.cluster.schema import labs
from gpupool.cluster.schema.labs import Limits


@dataclass(frozen=True)
class Account:
    """A Slurm account with the values that the inventory resolves; `entry` has all others as written.

    `limits` include a lab's cap. `exact` is False if another system also manages the account in slurmdbd.
    `coordinators` are users. `nodes` are the names of the nodes that it owns; `owns` is how much it owns of a GPU type,
    or of `cpu`.
    """

    entry: labs.Account
    name: str
    parent: str
    limits: Limits
    exact: bool
    tier: Literal["standard", "premium"]
    coordinators: tuple[str, ...]
    nodes: tuple[str, ...]
    owns: Mapping[str, int]


@dataclass(frozen=True)
class User:
    """A person with all accounts and QoS; `entry` has all other values as written.

    `uid` is the user's id on every node; where the inventory has none, it is made up, and only a twin has it.
    `gid` is that of the default account's group; None if it has none. `accounts` are all that the user's jobs may use,
    `own_accounts` those of the user's entry, both with the default one first. `qos` are valid in all accounts,
    `account_qos` in one. `home` is a path.
    """

    entry: labs.User
    name: str
    uid: int
    gid: int | None
    own_accounts: tuple[str, ...]
    accounts: tuple[str, ...]
    qos: tuple[str, ...]
    account_qos: Mapping[str, tuple[str, ...]] = field(hash=False)
    home: str

    @property
    def account(self) -> str:
        """The account of jobs without --account."""
        return self.entry.account

    def ended_on(self, day: date) -> bool:
        """Return whether the user's access has ended."""
        return self.entry.until is not None and day > self.entry.until

    def qos_on(self, day: date, account: str) -> tuple[str, ...]:
        """Return the QoS that the user has on a day for jobs of an account, grants included."""
        granted = (grant.qos for grant in self.entry.grants if day <= grant.until)
        return tuple(dict.fromkeys((*self.qos, *self.account_qos[account], *granted)))
