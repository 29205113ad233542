"""Conda for all users, and environment modules."""

from typing import Annotated

from pydantic import Field

from gpupool.cluster.schema.base import Entry, Flag, Nodes, PlainPath, SourcedEntry, VariableName, Word, spelt

_STEP = r"[A-Za-z0-9_+][A-Za-z0-9_.+-]*"
ModuleName = Annotated[
    str,
    spelt(
        rf"^{_STEP}(/{_STEP})*$", "a module has letters, digits and _ . + -, and / between its parts", max_length=100
    ),
]
#: A directory of a module: `.` for its prefix, a path relative to the prefix, or an absolute path.
ModulePath = Annotated[str, spelt(rf"^(\.|/?{_STEP}(/{_STEP})*)$", "write . or a path of letters, digits and _ . + -")]
Program = Annotated[str, spelt(rf"^{_STEP}$", "a program has letters, digits and _ . + -")]


class CondaInstaller(Entry):
    """One conda for all users of some nodes; a user's own conda takes precedence."""

    url: Annotated[
        str,
        spelt(
            r"^(https?|file)://[!-~]+$",
            "an address begins with https://, http:// or file:// and has no spaces",
            description="URL of the installer of Miniforge or Miniconda.",
        ),
    ]
    sha256: Annotated[
        str, spelt(r"^[0-9a-f]{64}$", "a sha256 has 64 digits of 0 to 9 and a to f", description="Of the installer.")
    ]
    where: Nodes
    prefix: PlainPath = Field("/opt/conda", description="A link to the installation; default: /opt/conda.")


class Conda(SourcedEntry):
    """Conda: each user's own, and one for all users if `installer` is set."""

    bashrc_hook: Flag = Field(False, description="The .bashrc of new homes makes conda work in batch jobs.")
    installer: CondaInstaller | None = Field(
        None, description="One conda for all users; default: each user installs conda."
    )


class Module(SourcedEntry):
    """A module file. The software itself is not installed by gpupool."""

    name: ModuleName = Field(description="Argument of `module load`, such as gcc/7.4.")
    about: Word | None = Field(None, description="One line for `module whatis`.")
    prefix: PlainPath | None = Field(None, description="Directory in which the software is installed.")
    prepend: dict[VariableName, tuple[ModulePath, ...]] = Field(
        default_factory=dict,
        description="Directories that come first in a variable, such as PATH: [bin]; relative to the prefix.",
    )
    set: dict[VariableName, Word] = Field(
        default_factory=dict, description="Values of variables; {prefix} is the prefix."
    )
    needs: tuple[ModuleName, ...] = Field((), description="Modules that are loaded before it.")
    conflicts: tuple[ModuleName, ...] = Field((), description="Modules that cannot be loaded at the same time.")
    provides: tuple[Program, ...] = Field((), description="Commands that `gpupool verify` looks for when it is loaded.")


class Modules(SourcedEntry):
    """Environment modules (Lmod)."""

    enabled: Flag = Field(True, description="False: planned, not deployed.")
    where: Nodes = "@head,@compute"
    paths: tuple[PlainPath, ...] = Field((), description="Further directories of module files, such as the site's own.")
    list: tuple[Module, ...] = Field((), description="The module files that gpupool writes.")
