"""The compiler wrapper for building modules: the modules are identical, and headers are compiled once."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gpupool.testbed.vm.recipe import COMPILER

REAL = "/usr/bin/gcc"
INCLUDED_FIRST = ("compiler-version.h", "kconfig.h", "compiler_types.h")

pytestmark = pytest.mark.skipif(not Path(REAL).exists(), reason=f"needs {REAL}")


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A folder with headers like the kernel's; linux/module.h defines a name that programs use."""
    headers = tmp_path / "include" / "linux"
    headers.mkdir(parents=True)
    for name in INCLUDED_FIRST:
        (headers / name).write_text(f"#define HAS_{name.partition('.')[0].replace('-', '_')} 1\n")
    (headers / "module.h").write_text(
        "#pragma once\n#define current get_current()\nint get_current(void);\n"
        "static inline const char *own_name(void) { return 0; }\n"
    )
    wrapper = tmp_path / "bin" / "gcc"
    wrapper.parent.mkdir()
    wrapper.write_text(COMPILER)
    wrapper.chmod(0o755)
    return tmp_path


@pytest.fixture
def built(kernel: Path) -> Callable[..., bytes]:
    """Return a function that returns the object file of a text, built as the kernel builds a file of a module."""

    def build(text: str, name: str, *, by: str = "", more: tuple[str, ...] = ()) -> bytes:
        source, target = kernel / f"{name}.c", kernel / f"{name}.o"
        source.write_text(text)
        given = [word for header in INCLUDED_FIRST for word in ("-include", f"{kernel}/include/linux/{header}")]
        names = [f'-DKBUILD_MODNAME="{name}"', f"-D__KBUILD_MODNAME=kmod_{name}"]
        command = [by or f"{kernel}/bin/gcc", f"-Wp,-MMD,{kernel}/{name}.d", f"-I{kernel}/include", *given, "-O2"]
        environment = {**os.environ, "GPUPOOL_PRECOMPILED": f"{kernel}/precompiled"}
        done = [*command, *more, "-DMODULE", *names, "-c", "-o", str(target), str(source)]
        subprocess.run(done, check=True, cwd=kernel, env=environment, capture_output=True)
        return target.read_bytes()

    return build


MODULE = """\
#include <linux/module.h>
const char *name = KBUILD_MODNAME;
int size = HAS_kconfig + HAS_compiler_types + HAS_compiler_version;
int who(void) { return current; }
"""


def test_each_file_of_a_module_is_compiled_to_the_same_object(kernel: Path, built: Callable[..., bytes]) -> None:
    """The first is built from the headers' text, the second after they were compiled; each has a different name."""
    for name in ("one", "two", "three"):
        made = built(MODULE, name)
        assert f"{name}\0".encode() in made
        assert made == built(MODULE, name, by=REAL)
    assert len(list(kernel.glob("precompiled/*/all.h.gch"))) == 1


def test_other_compiler_options_have_separate_headers(kernel: Path, built: Callable[..., bytes]) -> None:
    for name in ("one", "two"):
        built(MODULE, name)
        built(MODULE, name, more=("-O0",))
    assert len(list(kernel.glob("precompiled/*/all.h.gch"))) == 2


def test_a_file_that_redefines_a_name_of_the_headers_is_compiled_without_them(
    built: Callable[..., bytes],
) -> None:
    text = "int size = HAS_kconfig;\nint next(int current) { current++; return current; }\n"
    for name in ("one", "two", "three"):
        assert built(text, name) == built(text, name, by=REAL)


def test_an_error_of_the_compiler_is_passed_on(built: Callable[..., bytes]) -> None:
    for name in ("one", "two", "three"):
        with pytest.raises(subprocess.CalledProcessError) as failed:
            built(f"{MODULE}int wrong = nothing_of_this_name;\n", name)
        assert b"nothing_of_this_name" in failed.value.stderr


def test_files_outside_modules_are_left_to_the_compiler(kernel: Path) -> None:
    (kernel / "plain.c").write_text("int main(void) { return 0; }\n")
    environment = {**os.environ, "GPUPOOL_PRECOMPILED": f"{kernel}/precompiled"}
    subprocess.run([f"{kernel}/bin/gcc", "-o", "plain", "plain.c"], check=True, cwd=kernel, env=environment)
    assert (kernel / "plain").exists()
    assert not (kernel / "precompiled").exists()
