"""Environment modules on live nodes: the guide's `module load` in a login and in a batch job, with stub software."""

import pytest

from tests.testbed.cluster import Changed, Testbed

HAYS = "u-hays1"
NONE = "modules: {enabled: false, src: L353}"
NODES = ("sky1", "clippy")
MODULES = """modules:
    where: "sky1,clippy"
    list:
      - {name: gcc/7.4, prefix: /opt/fixtures/gcc/7.4, prepend: {PATH: [bin], LD_LIBRARY_PATH: [lib64]}}
      - {name: gcc/12, prefix: /opt/fixtures/gcc/12, prepend: {PATH: [bin]}}
      - name: python/3.9.1
        prefix: /opt/fixtures/python/3.9.1
        prepend: {PATH: [bin]}
        conflicts: [deepl]
      - name: cudnn/8.2_cuda-11.1
        prefix: /opt/fixtures/cudnn/8.2_cuda-11.1
        prepend: {LD_LIBRARY_PATH: [lib64]}
        set: {CUDNN_HOME: "{prefix}"}
      - {name: deepl/deeplearn-py3.7, prefix: /opt/fixtures/deepl, prepend: {PATH: [bin]}, conflicts: [python]}
      - {name: mpi/5, needs: [gcc/12]}"""
SOFTWARE = """
stub() { mkdir -p "${1%/*}"; printf '#!/bin/sh\\necho "%s"\\n' "$2" > "$1"; chmod 755 "$1"; }
stub /opt/fixtures/gcc/7.4/bin/gcc 'gcc 7.4'; stub /opt/fixtures/gcc/12/bin/gcc 'gcc 12'
stub /opt/fixtures/python/3.9.1/bin/python 'Python 3.9.1'; stub /opt/fixtures/python/3.9.1/bin/python3.9 'Python 3.9.1'
stub /opt/fixtures/deepl/bin/python 'Python 3.7'
"""
LOADED = """module load gcc/7.4 python/3.9.1 cudnn/8.2_cuda-11.1 || exit
gcc --version; python --version; python3.9; echo "$LD_LIBRARY_PATH" "$CUDNN_HOME"
"""
SHOWN = """gcc 7.4
Python 3.9.1
Python 3.9.1
/opt/fixtures/cudnn/8.2_cuda-11.1/lib64:/opt/fixtures/gcc/7.4/lib64 /opt/fixtures/cudnn/8.2_cuda-11.1"""


def at_login(testbed: Testbed, node: str, script: str) -> str:
    """Return the output of a script in a login shell of a user."""
    return testbed.out(node, "bash -l -s", HAYS, script)


def in_job(testbed: Testbed, script: str, options: str = "") -> str:
    """Return the output of a plain bash batch script that is submitted from a login shell."""
    testbed.out("sky1", "cat > modules.sh", HAYS, f"#!/bin/bash\n{script}")
    submit = f"sbatch --wait -o modules.out -p debug -w clippy --gres=gpu:1 {options} modules.sh"
    done = testbed.run("sky1", "bash -l -s", HAYS, submit)
    output = testbed.out("sky1", "cat modules.out", HAYS)
    assert done.returncode == 0, done.stderr + output
    return output


@pytest.mark.promise("SDU-033", "SDU-036")
def test_modules_are_loaded_at_a_login_and_in_a_batch_job(changed: Changed) -> None:
    testbed = changed("software.yml", NONE, MODULES)
    for node in NODES:
        testbed.out(node, SOFTWARE)
    try:
        done = testbed.apply("--limit", ",".join(NODES))
        assert done.returncode == 0, done.stdout
        assert testbed.plan("--limit", ",".join(NODES)) == (0, {})
        assert at_login(testbed, "sky1", LOADED) == SHOWN
        assert at_login(testbed, "clippy", LOADED) == SHOWN
        assert in_job(testbed, LOADED) == SHOWN
        # without an exported environment Slurm makes a login shell for the job
        assert in_job(testbed, LOADED, "--export=NONE") == SHOWN
        assert in_job(testbed, "module load deepl/deeplearn-py3.7 && python") == "Python 3.7"
        # another version replaces the loaded one, required modules are loaded too, a conflict is refused
        assert at_login(testbed, "sky1", "module load gcc/7.4; module load mpi/5 >/dev/null 2>&1; gcc") == "gcc 12"
        refused = at_login(testbed, "sky1", "module load python/3.9.1; module load deepl 2>&1 || echo refused; python")
        assert "these module(s) are loaded" in refused
        assert refused.endswith("refused\nPython 3.9.1")
        # a module that left the inventory is removed from the nodes
        without = changed("software.yml", "      - {name: mpi/5, needs: [gcc/12]}", "")
        assert without.apply("--limit", "sky1").returncode == 0
        assert "no" in at_login(without, "sky1", "module load mpi/5 2>/dev/null && echo yes || echo no")
    finally:
        for node in NODES:
            testbed.out(node, "rm -rf /opt/fixtures; DEBIAN_FRONTEND=noninteractive apt-get -q -y purge lmod")
        testbed.out("sky1", "rm -rf ~/modules.sh ~/modules.out ~/.cache/lmod ~/.lmod.d", HAYS)
