"""What Debian takes as names and as fields of passwd: asked by the check of an inventory and by operations."""

import re

GROUP = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
# people of a directory service have their domain in the name
USER = re.compile(rf"{GROUP.pattern}(@[a-z0-9.-]+)?")
PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")


def breaks_passwd(value: str) -> bool:
    """Return whether a value would be more than one field of passwd."""
    return any(sign in value for sign in ":\n\0")
