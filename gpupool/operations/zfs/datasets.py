"""Compare wanted datasets with existing ones, property by property; nothing is removed, moved or made too small."""

from collections.abc import Iterator, Mapping, Sequence

from gpupool.change import ABSENT, Aspect, Kind
from gpupool.facts.zfs import DatasetsState, Use
from gpupool.facts.zfs_disks import Property
from gpupool.operations.work import Work
from gpupool.operations.zfs.values import FIXED, MARK, OURS, SIZES, about, plain_properties, size, value_text
from gpupool.wanted import Dataset

# these properties are not inherited; their default is none
_OWN = frozenset((*SIZES, "canmount", "filesystem_limit", "snapshot_limit")) - {"recordsize", "special_small_blocks"}
_SHARES = (
    ("userquota", "user_quotas", "uid"),
    ("userobjquota", "user_files", "uid"),
    ("groupquota", "group_quotas", "gid"),
)
_FILES = "userobjquota"  # counts files and directories, where the others count bytes
_AT_ONCE = 200  # quotas in one command
#: The properties that are read of every dataset, wanted or not.
GLANCE = ("type", "mountpoint", "used", MARK)

Properties = Mapping[str, Property]


def work_on_datasets(wanted: Sequence[Dataset], state: DatasetsState) -> Work:
    """Return the work that changes the existing datasets to the wanted ones; `wanted` has parents first."""
    work = Work(Kind.ZFS)
    entries = {entry.name: entry for entry in wanted}
    for entry in wanted:
        now = state.datasets.get(entry.name)
        if now is None:
            _create(entry, entries, state, work)
        elif now["type"].value != "filesystem":
            work.stays[entry.name] = f"a {now['type'].value} has this name; move it away with zfs rename"
        else:
            _place(entry, now, state, work)
            above = _from_above(entry, entries)
            for step in (_bring, _follow, _take_back):
                step(entry, _as_set(now, {**above, **plain_properties(entry)}, state), above, work)
            work_on_quotas(entry, state, work)
            _marks(entry, now, work)
    _strays(entries, state, work)
    return work


def _as_set(now: Properties, wanted: Mapping[str, str], state: DatasetsState) -> Properties:
    """Return properties as they are set: since 2.3, zfs prints xattr=sa as on, which meant dir before."""
    xattr = now.get("xattr")
    if xattr and xattr.value == "on" and wanted.get("xattr") == "sa" and state.version >= (2, 3):
        return {**now, "xattr": Property("sa", xattr.source)}
    return now


def _strays(entries: Mapping[str, Dataset], state: DatasetsState, work: Work) -> None:
    strays = [name for name, now in state.datasets.items() if name not in entries and _own(now, MARK) == "1"]
    for name in strays:
        if name.rpartition("/")[0] not in strays:
            used = about(int(state.datasets[name]["used"].value))
            work.stays[name] = (
                f"no longer in the inventory; it is kept, with {used} in it. To remove it for good: "
                f"zfs destroy -r {name}; to keep it without gpupool: zfs inherit {MARK} {name}"
            )


def _own(now: Properties, name: str) -> str:
    """Return a property that is set on the dataset itself; "" if it is inherited."""
    current = now.get(name)
    return current.value if current and current.source == "local" else ""


def _from_above(entry: Dataset, entries: Mapping[str, Dataset]) -> dict[str, str]:
    """Return the properties that a dataset inherits from the wanted datasets above it."""
    inherited: dict[str, str] = {}
    steps = entry.name.split("/")
    for length in range(1, len(steps)):
        above = entries.get("/".join(steps[:length]))
        inherited |= {
            name: value for name, value in (plain_properties(above) if above else {}).items() if name not in _OWN
        }
    return inherited


def _create(entry: Dataset, entries: Mapping[str, Dataset], state: DatasetsState, work: Work) -> None:
    found = state.places.get(entry.mountpoint or "", "")
    if found:
        why = "something is already mounted there" if found == "mounted" else f"it is not empty ({found})"
        work.obstacles.append(
            f"{entry.mountpoint}, where the dataset {entry.name} is to be mounted: {why}; move it away first"
        )
    properties = {**plain_properties(entry), MARK: "1"}
    if ours := _ours(entry):
        properties[OURS] = ours
    name, _, leaf = entry.name.rpartition("/")
    above = entries[name].mountpoint if name in entries else _value(state.datasets.get(name, {}), "mountpoint")
    if entry.mountpoint and entry.mountpoint != f"{(above or '').rstrip('/')}/{leaf}":
        properties["mountpoint"] = entry.mountpoint
    shown = [f"{name}={value_text(name, value)}" for name, value in plain_properties(entry).items()]
    shown += [
        f"{share} {_shown(share, amount)} for {list(given.values()).count(amount)}"
        for share, given in _given(entry)
        for amount in dict.fromkeys(given.values())
    ]
    options = [word for name, value in properties.items() for word in ("-o", f"{name}={value}")]
    at = f" at {entry.mountpoint}" if entry.mountpoint else ""
    created_text = f"created{at}" + (f": {', '.join(shown)}" if shown else "")
    work.do(entry.name, Aspect(note=created_text), "zfs", "create", "-p", *options, entry.name)
    for share, given in _given(entry):
        _set_many(entry.name, [f"{share}@{number}={amount}" for number, amount in given.items()], work)


def _value(now: Properties, name: str) -> str | None:
    return now[name].value if name in now else None


def _place(entry: Dataset, now: Properties, state: DatasetsState, work: Work) -> None:
    at = now["mountpoint"].value
    if entry.mountpoint and at != entry.mountpoint:
        work.stays[f"{entry.name} mountpoint"] = (
            f"it is {at}, wanted {entry.mountpoint}; a mounted dataset is not moved. When it is not in use: "
            f"zfs set mountpoint={entry.mountpoint} {entry.name}"
        )
    elif now["mounted"].value == "no" and now["canmount"].value == "on" and at.startswith("/"):
        if found := state.places.get(at, ""):
            work.stays[f"{entry.name} is not mounted"] = (
                f"{at} is not empty ({found}); move that away, then: zfs mount {entry.name}"
            )
        else:
            work.do(f"{entry.name} mounted", Aspect(f"at {at}"), "zfs", "mount", entry.name)


def _bring(entry: Dataset, now: Properties, above: Mapping[str, str], work: Work) -> None:
    for name, value in plain_properties(entry).items():
        current = now.get(name, Property("unknown", "-"))
        # an inherited value may change with the datasets above, in this run or by hand
        moves = current.source.startswith("inherited") or (
            current.source != "local" and above.get(name, value) != value
        )
        if current.value == value and not moves:
            continue
        setting = f"{entry.name} {name}"
        wanted, actual = value_text(name, value), value_text(name, current.value)
        message = f"{wanted}, set on the dataset itself" if moves else f"{actual} becomes {wanted}"
        if why := _too_small(name, value, now):
            work.stays[setting] = why
        elif name in FIXED:
            work.stays[setting] = f"{message}: this can only be set when a dataset is created"
        else:
            differs = Aspect(wanted, actual, note=message)
            work.do(setting, differs, "zfs", "set", f"{name}={value}", entry.name)


def _follow(entry: Dataset, now: Properties, above: Mapping[str, str], work: Work) -> None:
    """Have a dataset inherit the wanted properties of datasets above it, if another value was set by hand."""
    for name, value in above.items():
        current = now.get(name, Property(value, ""))
        if name not in plain_properties(entry) and current.value != value and current.source in ("local", "received"):
            wanted, actual = f"{value_text(name, value)}, inherited", value_text(name, current.value)
            work.do(f"{entry.name} {name}", Aspect(wanted, actual), "zfs", "inherit", name, entry.name)


def _take_back(entry: Dataset, now: Properties, above: Mapping[str, str], work: Work) -> None:
    """Reset properties that gpupool has set and that are no longer in the inventory."""
    kept = {"", *plain_properties(entry), *above, *(share[0] for share in _SHARES)}
    for name in _own(now, OURS).split(","):
        if name in kept or not (value := _own(now, name)):
            continue
        actual = value_text(name, value)
        reset = Aspect(ABSENT, actual, note=f"{actual} is reset: no longer in the inventory")
        if name in _OWN - {"canmount"}:
            if value not in ("0", "none"):
                work.do(f"{entry.name} {name}", reset, "zfs", "set", f"{name}=none", entry.name)
        else:
            work.do(f"{entry.name} {name}", reset, "zfs", "inherit", name, entry.name)


def _too_small(name: str, value: str, now: Properties) -> str | None:
    measure = {"quota": "used", "refquota": "referenced"}.get(name)
    if measure is None or not value.isdigit() or not 0 < int(value) < int(now[measure].value):
        return None
    return (
        f"{size(int(value))} is less than the {about(int(now[measure].value))} in use; remove data first, "
        "or set a higher value in the inventory"
    )


def _given(entry: Dataset) -> Iterator[tuple[str, Mapping[str, int]]]:
    for share, key, _ in _SHARES:
        yield share, getattr(entry, key)


def work_on_quotas(entry: Dataset, state: DatasetsState, work: Work) -> None:
    """Add the changes of the quotas of users and groups to `work`; a quota below the use is refused."""
    managed = _own(state.datasets[entry.name], OURS).split(",")
    for share, key, kind in _SHARES:
        given: dict[str, int] = dict(getattr(entry, key))
        uses = (state.users if kind == "uid" else state.groups).get(entry.name, {})
        if not given and share in managed:
            given = {number: 0 for number, use in uses.items() if _share(share, use)[1]}
        settings = []
        for number, amount in given.items():
            use = uses.get(number, Use(0, 0))
            name = f"{entry.name} {share}@{number}"
            used, quota = _share(share, use)
            if quota == amount:
                continue
            if 0 < amount < used:
                in_use = f"{used} files" if share == _FILES else about(used)
                work.stays[name] = (
                    f"{_shown(share, amount)} is less than the {in_use} that {kind} {number} has there, so all "
                    f"writes would fail at once. If this is intended: zfs set {share}@{number}={amount} {entry.name}"
                )
                continue
            work.differs(name, Aspect(_shown(share, amount), _shown(share, quota)))
            settings.append(f"{share}@{number}={amount}")
        _set_many(entry.name, settings, work)


def _share(share: str, use: Use) -> tuple[int, int]:
    """Return the use and the quota, in files or in bytes."""
    return (use.files, use.most_files) if share == _FILES else (use.used, use.quota)


def _shown(share: str, amount: int) -> str:
    return f"{amount} files" if share == _FILES and amount else size(amount)


def _set_many(dataset: str, settings: Sequence[str], work: Work) -> None:
    for at in range(0, len(settings), _AT_ONCE):
        work.run("zfs", "set", *settings[at : at + _AT_ONCE], dataset)


def _ours(entry: Dataset) -> str:
    names = [*entry.properties, *(share for share, given in _given(entry) if given)]
    return ",".join(sorted(names))


def _marks(entry: Dataset, now: Properties, work: Work) -> None:
    """Update the marks of a dataset, after all changes: the next run after a killed one still finds what to reset."""
    if _own(now, MARK) != "1":
        work.do(
            f"{entry.name} {MARK}", Aspect(note="it already exists: taken over"), "zfs", "set", f"{MARK}=1", entry.name
        )
    before, after = _own(now, OURS), _ours(entry)
    if before != after:
        differs = Aspect(after or "nothing", before or "nothing")
        command = ("set", f"{OURS}={after}") if after else ("inherit", OURS)
        work.do(f"{entry.name} {OURS}", differs, "zfs", *command, entry.name)
