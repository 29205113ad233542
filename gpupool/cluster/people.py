"""Read users of another system, a CSV file, as entries of `users`."""

import csv
import typing
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

from gpupool.cluster.complaints import BadInventoryError, Complaint, Located, Path, Place, locate
from gpupool.cluster.near import misspelt
from gpupool.cluster.schema.labs import User
from gpupool.cluster.shape import validated

_DELIMITERS = ",;\t"
_SEVERAL = ";"  # between the items of one cell
_NO_COLUMN = ("grants", "inferred")
KEYS = tuple(key for key in User.model_fields if key not in _NO_COLUMN)
_LISTS = {key for key, field in User.model_fields.items() if typing.get_origin(field.annotation) is tuple}


def users_of(file: FilePath, account: str | None = None) -> list[dict[str, Any]]:
    """Return an entry of `users` for each row of a CSV file, whose first row has the keys of a user.

    A row without a default account gets `account`. BadInventoryError has all mistakes with their lines.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise _bad(file, 1, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise _bad(file, 1, f"not UTF-8 text: invalid byte at offset {error.start}", "save it as UTF-8") from None
    head = text.partition("\n")[0]
    try:
        (_, header), *rows = _rows(text, max(_DELIMITERS, key=head.count))
    except csv.Error as error:
        raise _bad(file, 1, f"not CSV: {error}") from None
    except ValueError:
        raise _bad(file, 1, "has no rows", f"begin with the names of its columns: {', '.join(KEYS[:4])}") from None
    keys = [cell.strip().lower().replace(" ", "_") for cell in header]
    located = [*_wrong_columns(file, keys)]
    located += [
        Located(Place(str(file), line), Complaint((), f"{len(cells)} cells; the first row has {len(keys)} columns"))
        for line, cells in rows
        if len(cells) > len(keys)
    ]
    if located:
        raise BadInventoryError(located)
    users = [_user(dict(zip(keys, cells, strict=False)), account) for _, cells in rows]
    complaints = [one for one in validated({"users": users})[1] if one.path[:1] == ("users",) and len(one.path) > 1]
    if complaints:
        places: dict[Path, Place] = {("users", index): Place(str(file), line) for index, (line, _) in enumerate(rows)}
        raise BadInventoryError(locate(complaints, places, Place(str(file), 1)))
    return users


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with any text, each with its first line, without empty cells at the end."""
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    line = 1
    for cells in reader:
        while cells and not cells[-1].strip():
            cells.pop()
        if cells:
            yield line, cells
        line = reader.line_num + 1


def _wrong_columns(file: FilePath, keys: list[str]) -> Iterator[Located]:
    for index, key in enumerate(keys):
        if key not in KEYS:
            near = misspelt(key, KEYS)
            hint = f"did you mean {near[0]}?" if near else f"a column is one of {', '.join(KEYS)}"
            yield Located(Place(str(file), 1), Complaint((), f"{key!r} is not a key of a user", hint))
        elif key in keys[:index]:
            yield Located(Place(str(file), 1), Complaint((), f"two columns are {key}", "keep one"))


def _user(cells: dict[str, str], account: str | None) -> dict[str, Any]:
    user = {key: _value(key, cell.strip()) for key, cell in cells.items() if cell.strip()}
    return user if account is None or "account" in user else {**user, "account": account}


def _value(key: str, cell: str) -> Any:
    if key in _LISTS:
        return [part.strip() for part in cell.split(_SEVERAL) if part.strip()]
    if key == "uid" and cell.isdecimal() and cell.isascii():
        return int(cell)
    return {"true": True, "false": False}.get(cell.lower(), cell) if key == "coordinator" else cell


def _bad(file: FilePath, line: int, message: str, hint: str | None = None) -> BadInventoryError:
    return BadInventoryError([Located(Place(str(file), line), Complaint((), message, hint))])
