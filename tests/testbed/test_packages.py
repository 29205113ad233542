"""Packages of the inventory on live nodes: one line for all nodes of a role, and pinned versions."""

import pytest

from tests.testbed.cluster import Changed, Testbed

HEADS = ("sky1", "sky2")
OF_HEADS = "head: [screen, xauth]"
# an apt repository on the node with two versions of one package
REPOSITORY = """set -eu
cd /var/local; rm -rf fixtures; mkdir fixtures; cd fixtures
for version in 1.0 2.0; do
  mkdir -p p/DEBIAN
  printf 'Package: gpupool-fixture\\nVersion: %s\\nArchitecture: all\\nMaintainer: none <none@example.org>\\n' \
    $version > p/DEBIAN/control
  printf 'Description: for a test\\n' >> p/DEBIAN/control
  dpkg-deb --build p $version.deb >/dev/null
  { cat p/DEBIAN/control; echo "Filename: ./$version.deb"; echo "Size: $(stat -c %s $version.deb)"
    echo "SHA256: $(sha256sum $version.deb | cut -d ' ' -f 1)"; echo; } >> Packages
done
echo 'deb [trusted=yes] file:/var/local/fixtures ./' > /etc/apt/sources.list.d/fixtures.list
"""
ONLY_FIXTURES = "-o Dir::Etc::sourcelist=/etc/apt/sources.list.d/fixtures.list -o Dir::Etc::sourceparts=-"
REMOVE = "rm -rf /var/local/fixtures /etc/apt/sources.list.d/fixtures.list /var/lib/apt/lists/_var_local_fixtures_*"


def version(testbed: Testbed, node: str) -> str:
    """Return the installed version of the package."""
    return testbed.out(node, "dpkg-query -W -f '${Version}' gpupool-fixture")


@pytest.mark.promise("SKY-170")
def test_code_is_kept_in_git_on_all_nodes(skynet: Testbed) -> None:
    for node in skynet.target.nodes:
        assert "nothing to commit" in skynet.out(
            node.name, "cd $(mktemp -d) && git init -q && git status; rm -r $PWD", "u-kira1"
        )


@pytest.mark.promise("SKY-026", "SKY-027")
def test_one_line_installs_a_version_on_all_nodes_of_a_role_and_keeps_it(changed: Changed) -> None:
    testbed = changed("software.yml", OF_HEADS, "head: [screen, xauth, gpupool-fixture=1.0]")
    for node in HEADS:
        testbed.out(node, REPOSITORY)
        testbed.out(node, f"apt-get -q update {ONLY_FIXTURES} -o APT::Get::List-Cleanup=0")
    try:
        status, changes = testbed.plan()
        assert status == 3
        assert set(changes) == set(HEADS)
        done = testbed.apply("--limit", ",".join(HEADS))
        assert done.returncode == 0, done.stdout
        assert [version(testbed, node) for node in HEADS] == ["1.0", "1.0"]
        assert testbed.plan() == (0, {})
        # a newer version is available, and apt does not install it
        upgraded = f"DEBIAN_FRONTEND=noninteractive apt-get -q -y dist-upgrade {ONLY_FIXTURES}"
        testbed.out("sky1", upgraded)
        assert version(testbed, "sky1") == "1.0"
        newer = changed("software.yml", "gpupool-fixture=1.0", "gpupool-fixture=2.0")
        assert newer.apply("--limit", "sky1").returncode == 0
        assert version(newer, "sky1") == "2.0"
        older = changed("software.yml", "gpupool-fixture=2.0", "gpupool-fixture=1.0")
        assert older.apply("--limit", "sky1").returncode == 0
        assert version(older, "sky1") == "1.0"
        # without a version the package stays as installed, and apt may upgrade it
        free = changed("software.yml", "gpupool-fixture=1.0", "gpupool-fixture")
        assert free.apply("--limit", "sky1").returncode == 0
        assert version(free, "sky1") == "1.0"
        free.out("sky1", upgraded)
        assert version(free, "sky1") == "2.0"
    finally:
        for node in HEADS:
            testbed.out(node, f"dpkg --purge gpupool-fixture; {REMOVE}")
