"""Check memberships in accounts, their number, and the Unix groups of partitions."""

from collections.abc import Iterator
from datetime import date

from gpupool.cluster.accounting_file import FILE, accounts
from gpupool.cluster.checks.names import unknown
from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.lab_rights import LabRights, rights
from gpupool.cluster.resolve.site import Site


def ensure_memberships_are_known(site: Site) -> Iterator[Complaint]:
    """Further accounts of users and the QoS of accounts exist, and each is listed once."""
    shared = {account.name for account in site.inventory.accounts if account.members == "all"}
    for index, user in enumerate(site.inventory.users):
        for number, name in enumerate(user.accounts):
            path: Path = ("users", index, "accounts", number)
            if name not in site.account_names:
                yield unknown(path, "account", name, site.account_names)
            elif name in shared and name != user.account:
                yield Complaint(path, f"all users are members of {name}", "remove it", "warning")
            elif name in user.accounts[:number]:
                yield Complaint(path, f"{name} is named twice", "remove it", "warning")
    for index, account in enumerate(site.inventory.accounts):
        for number, name in enumerate(account.qos):
            path = ("accounts", index, "qos", number)
            qos = site.inventory.qos.get(name)
            if qos is None:
                yield unknown(path, "QoS", name, site.inventory.qos)
            elif qos.everybody and not qos.default_for:
                yield Complaint(path, f"all users have {name}", f"set `everybody: false` in qos.{name}", "warning")


def ensure_uids_of_accounts_are_separate(site: Site) -> Iterator[Complaint]:
    """No number is in the uids of two accounts: no lab's file can give its users the files of another lab's users."""
    ranges = [(i, one.name, one.uids) for i, one in enumerate(site.inventory.accounts) if one.uids]
    ranges.sort(key=lambda one: (one[2].first, one[0]))
    for number, (index, _, here) in enumerate(ranges):
        other = max(ranges[:number], key=lambda one: one[2].last, default=None)
        if other and here.first <= other[2].last:
            message = f"{here} and the uids of {other[1]}, {other[2]}, overlap"
            yield Complaint(("accounts", index, "uids"), message, "choose a range without numbers of the other")


def ensure_accounts_have_no_more_members(site: Site) -> Iterator[Complaint]:
    """An account has at most `most_members` members; users whose access has ended do not count."""
    today = date.today()
    users = [user for user in site.inventory.users if not (user.until and user.until < today)]
    for index, account in enumerate(site.inventory.accounts):
        if account.most_members is None:
            continue
        path: Path = ("accounts", index, "most_members")
        if account.members == "all":
            yield Complaint(path, f"all users are members of {account.name}", "remove it, or members: all")
            continue
        count = sum(account.name in (user.account, *user.accounts) for user in users)
        if count > account.most_members:
            message = f"{account.name} has {count} member{'s' * (count != 1)}; the maximum is {account.most_members}"
            yield Complaint(path, message, "remove members, or raise most_members")


def ensure_accounts_of_another_system_bypass_no_cap(site: Site) -> Iterator[Complaint]:
    """If another system creates accounts, and labs have caps, no owners' partition is open to all accounts."""
    lab_rights, whole = LabRights.of(site), not site.inventory.slurm.exact_accounting
    claims = (
        [(owner, what) for owner in site.ownership.owners for what in rights(owner)] if lab_rights.computable else []
    )
    nodes_with_rights = frozenset(site.ownership.of_nodes).union(
        *(lab_rights.pool_nodes(owner, what) for owner, what in claims)
    )
    kinds = {what for _, what in claims}
    others = [account for account in site.inventory.accounts if not account.exact]
    in_file = next((name for name in accounts(site.attached) if name not in site.account_names), None)
    loose = next(
        (account.name for account in others if not all(lab_rights.capped(account, what) for what in kinds)), None
    )
    for path, partition in site.partitions():
        if (
            site.is_preempted(partition)
            or partition.allow_accounts
            or not site.nodes_of(partition.nodes) & nodes_with_rights
        ):
            continue
        if whole or loose or in_file:
            below = f"another system creates below {loose}" if loose else f"{FILE} has, such as {in_file},"
            who = "another system creates (slurm.exact_accounting)" if whole else below
            message = f"accounts that {who} have no cap, and could keep GPUs of labs here"
            yield Complaint(path, message, "set allow_accounts, with allow_lab_accounts for all labs")


def ensure_groups_of_partitions_are_known(site: Site) -> Iterator[Complaint]:
    """Each group of `allow_groups` is an account's or listed in `access.other_groups`."""
    inventory = site.inventory
    own = {account.name for account in inventory.accounts if account.gid}
    others = set(inventory.access.other_groups)
    homeless = any(user.account not in own for user in inventory.users)
    known = {*own, *others, *(["people"] if homeless else [])}
    for path, partition in site.partitions():
        for number, name in enumerate(partition.allow_groups):
            where: Path = (*path, "allow_groups", number)
            if name in known:
                continue
            if name in site.account_names:
                yield Complaint(where, f"the account {name} has no group", "give it a gid, or use allow_accounts")
            else:
                hint = "name it in access.other_groups if a directory or the system has it"
                yield unknown(where, "group", name, known, hint)
        if not partition.allow_groups or set(partition.allow_groups) & {*others, "people"}:
            continue
        members = {user.name for user in inventory.users for account in (user.account, *user.accounts)
                   if account in partition.allow_groups and account in own}  # fmt: skip
        if not members and not set(partition.allow_groups) - known:
            message = "none of these groups has a member, so no user can submit here"
            yield Complaint((*path, "allow_groups"), message, severity="warning")
    for number, name in enumerate(inventory.access.other_groups):
        if name in site.account_names or name == "people":
            path = ("access", "other_groups", number)
            yield Complaint(path, f"{name} is an account, whose group gpupool creates", "choose another name")
