"""The files of a site's repository beside its inventory: README, checks before a commit, owners of files, and CI."""

from pathlib import Path

#: The folder of the inventory in the repository. It has no other files: every *.yml file that is not hidden is read.
INVENTORY = "inventory"

#: Places in a repository by file of this folder. Names without a dot, because tools ignore files with one.
_PLACES = {
    "README.md": "README.md",
    "CODEOWNERS": "CODEOWNERS",
    "gitignore": ".gitignore",
    "pre-commit.yml": ".pre-commit-config.yaml",
    "github.yml": ".github/workflows/gpupool.yml",
    "gitlab.yml": ".gitlab-ci.yml",
}


def write(folder: Path) -> None:
    """Write all files to a folder without them; OSError if one cannot be written."""
    here = Path(__file__).parent
    scripts = {f"ci/{path.name}": f"ci/{path.name}" for path in sorted((here / "ci").glob("*.sh"))}
    for name, place in {**_PLACES, **scripts}.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((here / name).read_bytes())
