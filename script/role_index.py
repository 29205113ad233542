"""Print docs/roles/README.md: the roles in the order of the deploy, each with the first paragraph of its page."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "roles"

HEAD = """\
<!-- Made from the pages of this folder by script/docs: do not change this page. -->

# Roles

In the order of [deploys/site.py](../../deploys/site.py). Which node gets which follows from its roles in the inventory.

| role | what it is |
|---|---|
"""


def index() -> str:
    """Return the page; FileNotFoundError for a role of the deploy without a page."""
    calls = re.findall(r"^ *(\w+)\.\w+\(cluster, node\)$", (ROOT / "deploys" / "site.py").read_text(), re.MULTILINE)
    return HEAD + "".join(f"| [{role}]({role}.md) | {summary(role)} |\n" for role in dict.fromkeys(calls))


def summary(role: str) -> str:
    """Return the first paragraph of a role's page on one line."""
    return (PAGES / f"{role}.md").read_text().split("\n\n")[1].replace("\n", " ")


if __name__ == "__main__":
    print(index(), end="")
