"""The pages of SkyNet's guide on its web node, as users of the cluster read them."""

import re

import pytest

from tests.testbed.cluster import Changed, Testbed, gpupool


def get(testbed: Testbed, path: str, method: str = "GET", node: str = "sky1") -> tuple[int, str]:
    """Return the status and the body of an answer of the web node."""
    url = f"http://optimus.cc.gatech.edu{path}"
    answer = testbed.out(node, f"curl -s -i --path-as-is -X {method} '{url}'", "u-kira1")
    return int(answer.split()[1]), answer


@pytest.mark.promise("SKY-021", "SKY-117")
def test_the_wiki_and_the_short_names_are_served(skynet: Testbed) -> None:
    status, page = get(skynet, "/wiki/skynet")
    assert status == 200
    assert "<h1>SkyNet</h1>" in page
    status, page = get(skynet, "/wiki/slurm-aliases", node="clippy")
    assert status == 200
    # the names on the page are those of a head
    alias = skynet.out("sky1", "bash -lic 'alias sqme' 2>/dev/null", "u-kira1")
    assert alias.startswith("alias sqme=")
    assert "alias sqme=" in page
    status, page = get(skynet, "/wiki/")
    links = re.findall(r'<a href="([^"]+)"', page)
    assert {"skynet", "slurm-aliases"} <= set(links)
    assert {get(skynet, f"/wiki/{link}")[0] for link in links} == {200}


@pytest.mark.promise("SKY-029")
def test_links_on_users_pages_lead_to_readable_pages(skynet: Testbed) -> None:
    links = re.findall(r'href="([^"]+)"', get(skynet, "/wiki/skynet")[1])
    assert links
    assert [link for link in links if get(skynet, f"/wiki/{link}")[0] != 200] == []


def test_only_the_pages_are_served_and_no_file_is_executed(skynet: Testbed) -> None:
    _, answer = get(skynet, "/wiki/skynet")
    headers = answer.partition("\r\n\r\n")[0].lower()
    assert "content-security-policy: default-src 'none'" in headers
    assert "x-content-type-options: nosniff" in headers
    assert "x-frame-options: deny" in headers
    assert not re.search(r"server: nginx/", headers)
    assert get(skynet, "/wiki/nothing")[0] == 404
    assert get(skynet, "/wiki/../../../../../etc/passwd")[0] in (400, 404)
    assert get(skynet, "/wiki/skynet", "POST")[0] in (403, 405)
    skynet.out("optimus", "ln -s /etc/passwd /usr/local/share/gpupool/web/wiki/link.txt")
    try:
        assert get(skynet, "/wiki/link.txt")[0] in (403, 404)
    finally:
        skynet.out("optimus", "rm /usr/local/share/gpupool/web/wiki/link.txt")


def test_a_page_is_a_file_of_the_inventory_and_needs_no_restart(changed: Changed) -> None:
    testbed = changed("wiki/skynet.html", "<h1>SkyNet</h1>", "<h1>SkyNet is new</h1>")
    show = "systemctl show -P MainPID -P ActiveEnterTimestampMonotonic nginx"
    before = testbed.out("optimus", show)
    assert testbed.apply("--limit", "optimus").returncode == 0
    assert "SkyNet is new" in get(testbed, "/wiki/skynet")[1]
    assert testbed.out("optimus", show) == before
    assert testbed.plan() == (0, {})


def test_verify_names_a_web_server_that_does_not_run(skynet: Testbed) -> None:
    skynet.out("optimus", "systemctl stop nginx")
    try:
        done = gpupool("verify", skynet.inventory, "--on", "testbed", "--limit", "optimus")
        assert done.returncode == 1
        assert "optimus: pages are served" in done.stdout
    finally:
        assert skynet.apply("--limit", "optimus").returncode == 0
    assert get(skynet, "/wiki/")[0] == 200
