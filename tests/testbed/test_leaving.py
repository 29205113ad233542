"""Things that leave the inventory are removed from the nodes; files that were changed by hand stay, and are named."""

from tests.testbed.cluster import Changed, Testbed

HEAD = "sky1"
TOOL = """\
  - {name: sbash, where: "@head", options: {gpus: 1, cpus: 6, partition: short}, src: "L199-215", inferred: [options]}
"""
LINK = "    /srv/share5: /coc/pskynet5\n"
SBASH, PAGE, SHARE = "/usr/local/bin/sbash", "/usr/local/share/man/man1/sbash.1", "/srv/share5"


def recorded(testbed: Testbed) -> list[str]:
    """Return the paths that gpupool has put on the head."""
    return testbed.out(HEAD, "cut -f1 /var/lib/gpupool/files").splitlines()


def test_a_tool_and_a_link_are_removed_with_the_inventory_and_nothing_else(changed: Changed) -> None:
    before = recorded(changed("software.yml", TOOL, ""))
    testbed = changed("storage.yml", LINK, "")
    status, changes = testbed.plan("--limit", HEAD)
    assert (status, changes[HEAD]) == (3, [f"Removed files | {path}" for path in (SHARE, SBASH, PAGE)])
    done = testbed.apply("--limit", HEAD)
    assert done.returncode == 0, done.stdout
    assert testbed.run(HEAD, f"ls -d {SBASH} {PAGE} {SHARE}").stdout == ""
    assert recorded(testbed) == [path for path in before if path not in (SBASH, PAGE, SHARE)]
    assert testbed.out(HEAD, "ls -d /srv/share4 /coc/pskynet5").split() == ["/coc/pskynet5", "/srv/share4"]
    assert testbed.plan("--limit", HEAD) == (0, {})


def test_a_file_that_was_changed_by_hand_is_kept_and_named(changed: Changed) -> None:
    testbed = changed("software.yml", TOOL, "")
    testbed.out(HEAD, f"echo '# mine' >> {SBASH}")
    done = testbed.apply("--limit", HEAD)
    assert done.returncode == 1
    assert f"{SBASH}: no longer in the inventory, but it was changed since gpupool wrote it: remove it" in done.stdout
    assert "# mine" in testbed.out(HEAD, f"tail -n 1 {SBASH}")
    # as the message asks: the file is removed by hand, and the next apply forgets it
    testbed.out(HEAD, f"rm {SBASH}")
    assert testbed.apply("--limit", HEAD).returncode == 0
    assert SBASH not in recorded(testbed)
    assert testbed.plan("--limit", HEAD) == (0, {})
