"""Check the directory of people (LDAP): its ids, servers, certificate and homes."""

from collections.abc import Iterator

from gpupool.cluster.attachments import CERTIFICATES
from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.site import Site
from gpupool.unix import PEOPLE_GID, RESERVED_IDS

_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


def ensure_members_come_from_a_directory(site: Site) -> Iterator[Complaint]:
    """An account with `members_from` needs a directory, and a directory needs such an account."""
    directory, named = site.inventory.directory, False
    for index, account in enumerate(site.inventory.accounts):
        path: Path = ("accounts", index, "members_from")
        named = named or account.members_from is not None
        if account.members_from and directory is None:
            yield Complaint(path, "there is no directory to take members from", "add `directory:`")
        if account.members_from and account.members == "all":
            yield Complaint(path, f"all users are members of {account.name}", "remove it, or members: all")
    if directory and not named:
        message = "no user of the directory can log in"
        hint = "set members_from: GROUP in an account"
        yield Complaint(("directory",), message, hint, severity="warning")


def ensure_ids_of_the_directory_are_separate(site: Site) -> Iterator[Complaint]:
    """No id that the inventory, systemd or a namespace has is in the directory's range: people would share files."""
    directory = site.inventory.directory
    if directory is None:
        return
    ids = directory.ids
    users = [
        (("users", i, "uid"), f"the uid {user.uid}", user.uid)
        for i, user in enumerate(site.inventory.users)
        if user.uid
    ]
    groups = [
        (("accounts", i, "gid"), f"the gid {account.gid}", account.gid)
        for i, account in enumerate(site.inventory.accounts)
        if account.gid
    ]
    for path, label, number in (*users, *groups):
        if number in ids:
            message = f"{label} is within the numbers of the directory, {ids}"
            yield Complaint(path, message, "choose another number, or other ids in `directory`")
    if PEOPLE_GID in ids:
        message = f"{PEOPLE_GID} is reserved for the group `people`"
        yield Complaint(("directory", "ids"), message, f"use a range without {PEOPLE_GID}")
    for reserved, whose in RESERVED_IDS:
        if ids.first <= reserved[-1] and ids.last >= reserved.start:
            message = f"{reserved.start}-{reserved[-1]} is used {whose}"
            yield Complaint(("directory", "ids"), message, "use a range without these numbers")


def ensure_servers_have_one_scheme(site: Site) -> Iterator[Complaint]:
    """sssd uses StartTLS with all servers or with none."""
    servers = site.inventory.directory.servers if site.inventory.directory else ()
    if len({server.partition(":")[0] for server in servers}) > 1:
        message = "some servers are ldaps:// and some are ldap://"
        yield Complaint(("directory", "servers"), message, "write all of them alike")


def ensure_the_certificate_has_no_private_key(site: Site) -> Iterator[Complaint]:
    """The certificate file exists, and has a certificate but no private key: all users can read it on all nodes."""
    directory = site.inventory.directory
    if directory is None or directory.tls_ca is None:
        return
    path: Path = ("directory", "tls_ca")
    text = site.attached.get(f"{CERTIFICATES}/{directory.tls_ca}")
    if text is None:
        message = f"there is no file {CERTIFICATES}/{directory.tls_ca} beside the inventory"
        yield Complaint(path, message, "put the certificate there, as PEM")
    elif "PRIVATE KEY" in text:
        message = f"{CERTIFICATES}/{directory.tls_ca} contains a private key, and all users of a node could read it"
        yield Complaint(path, message, "remove the key from it; only the certificate is needed")
    elif _BEGIN not in text or _END not in text:
        yield Complaint(path, f"{CERTIFICATES}/{directory.tls_ca} contains no certificate in PEM form")


def ensure_homes_can_be_named(site: Site) -> Iterator[Complaint]:
    """sssd builds the path of a home from the user's name alone."""
    pattern = site.inventory.storage.home.path
    if site.inventory.directory and "{" in pattern.replace("{user}", ""):
        message = f"{pattern}: users of the directory have a home by their name alone"
        yield Complaint(("storage", "home", "path"), message, "use {user}")
