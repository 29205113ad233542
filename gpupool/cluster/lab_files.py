"""Read files with the users of one lab each, `labs/ACCOUNT.yml`: a site may let a lab's head change only that file.

The head of a lab is not trusted. Such a file has users of this account only, whose uids the site has reserved for it
(`accounts[].uids`). It gives them no further account, QoS, partition or right, and is no link to another file.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from gpupool.cluster.complaints import Complaint, Located, Path, Place
from gpupool.cluster.near import misspelt
from gpupool.cluster.schema.directory import Ids, id_range
from gpupool.cluster.schema.labs import User
from gpupool.cluster.text import Text, files_of, read

FOLDER = "labs"
#: The keys of a user that such a file may set.
KEYS = ("name", "uid", "full_name", "keys", "shell", "until", "src", "inferred")
_LARGEST = 1_000_000  # bytes of one file
_MOST = 500  # files


def add_users(text: Text, inventory: FilePath, instead: Mapping[FilePath, str] | None = None) -> None:
    """Add the users of all files in the inventory's folder `labs` to its text, and complaints about these files.

    `instead` has texts to read instead of files. An inventory of one file has no such folder.
    """
    folder = inventory / FOLDER
    if not folder.is_dir():
        return
    files = files_of(folder)
    if folder.is_symlink() or len(files) > _MOST:
        reason = "a link: write a folder" if folder.is_symlink() else f"{len(files)} files: the maximum is {_MOST}"
        text.located.append(Located(Place(str(folder), 1), Complaint((), reason)))
        return
    ids = dict(_accounts(text.data))
    for file in files:
        _add(text, file, ids, instead)


def _accounts(data: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the accounts of an inventory with their `uids`, as written; None without it."""
    accounts = data.get("accounts")
    for account in accounts if isinstance(accounts, list) else ():
        if isinstance(account, dict) and isinstance(account.get("name"), str):
            yield account["name"], account.get("uids")


def _add(text: Text, file: FilePath, ids: Mapping[str, Any], instead: Mapping[FilePath, str] | None) -> None:
    top, account = Place(str(file), 1), file.stem
    if complaint := _refused(file, ids):
        text.located.append(Located(top, complaint))
        return
    own = read(file, instead)
    text.located += own.located
    for key in own.data:
        if key != "users":
            message = f"{key} cannot be set in the file of a lab, which has only `users`"
            text.located.append(Located(own.places[key,], Complaint((key,), message, "set it in another file")))
    users, known = own.data.get("users") or [], text.data.setdefault("users", [])
    if not isinstance(users, list) or not all(isinstance(user, dict) for user in users):
        message = f"users of {account} must be a list of users"
        text.located.append(Located(own.places["users",], Complaint(("users",), message, "write - {name: …, uid: …}")))
        return
    if not isinstance(known, list):
        return  # the schema complains
    for index, user in enumerate(users):
        at: Path = ("users", len(known))
        text.places |= {(*at, *path[2:]): place for path, place in own.places.items() if path[:2] == ("users", index)}
        text.located += [
            Located(text.places.get(wrong.path, top), wrong)
            for wrong in _wrong(user, at, account, _range(ids[account]))
        ]
        known.append({**user, "account": account})


def _refused(file: FilePath, ids: Mapping[str, Any]) -> Complaint | None:
    """Return why a file cannot be read as a lab's; None if it can."""
    account = file.stem
    if file.is_symlink():
        return Complaint((), "a link; the file of a lab must be a file", "write its users here")
    if not file.is_file():
        return Complaint((), "not a file", f"remove it from {FOLDER}/")
    if file.stat().st_size > _LARGEST:
        return Complaint((), f"too large: the maximum is {_LARGEST // 1_000_000} MB")
    if account not in ids:
        near = misspelt(account, ids)
        hint = f"did you mean {near[0]}{file.suffix}?" if near else "name the file after the account"
        return Complaint((), f"there is no account {account}", hint)
    if ids[account] is None:
        hint = f"set uids of the account, such as 20001-20999, or write the users in a file beside {FOLDER}/"
        return Complaint((), f"{account} has no uids that its file may give to users", hint)
    return None


def _range(value: Any) -> Ids | None:
    try:
        return id_range(value)
    except ValueError:
        return None  # the schema complains


def _wrong(user: Mapping[str, Any], at: Path, account: str, ids: Ids | None) -> Iterator[Complaint]:
    """Yield a complaint about each key of a user that the file of a lab must not have."""
    for key, value in user.items():
        if key == "account" and value == account:
            continue
        if key == "account":
            yield Complaint((*at, key), f"{value!r} is not the account of this file", f"remove it: all have {account}")
        elif key in User.model_fields and key not in KEYS:
            message = f"{key} cannot be set in the file of a lab"
            yield Complaint((*at, key), message, f"the site writes such a user in a file beside {FOLDER}/")
    uid = user.get("uid")
    if ids and isinstance(uid, int) and uid not in ids:
        yield Complaint((*at, "uid"), f"{uid} is not one of {account}'s uids, {ids}", f"choose a free number of {ids}")
