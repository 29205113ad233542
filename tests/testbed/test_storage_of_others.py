"""Storage of other servers on live nodes: it stays mounted, and a node without it is noticed."""

import re
from collections.abc import Iterator

import pytest
from pace import until

from tests.testbed.cluster import Testbed, gpupool, up

NETWORK = "10.189.0.0/16"
INVENTORY = """schema: 1
cluster: {name: elsewhere, domain: elsewhere.example, network: 10.90.0.0/16}
gpu_types: {a40: {models: [A40]}}
hardware: {box: {cpus: 16, memory: 64G, gpu_slots: 2, cpus_kept_per_gpu: 4}}
nodes:
  - {name: ctl, address: 10.90.1.1, roles: [head, controller, database]}
  - {name: "gpu-[1-2]", address: "10.90.2.[1-2]", roles: [compute], hardware: box, gpus: {a40: 2}}
accounts:
  - {name: red, kind: lab, gid: 5001, contributed_gpus: 4}
users: [{name: ann, uid: 20001, account: red}, {name: bob, uid: 20002, account: red}]
qos: {normal: {default: true}}
partitions: [{name: all, nodes: "@compute", max_time: 2d, default_time: 1h}]
scheduler:
  default_partition: all
  default_memory: {per_gpu: 8G, per_cpu: 1G}
  max_memory: {per_gpu: 16G, per_cpu: 2G}
slurm: {health: {interval: 2s, checks: [mounts]}}
environment: {job_directory: {path: /local/own, min_free: 1M}}
storage:
  local: [{path: /local, where: "@compute"}]
  mount_on: "@head,@compute"
  exports:
    homes: {at: /home, fs: lustre, mounted_by: site, made_on: ctl}
    fast: {at: /weka, fs: weka, mounted_by: site, made_on: ctl, mode: "1777"}
  links: {/srv/fast: /weka}
  home: {path: "/home/{user}", export: homes}
  user_spaces: [{path: "/weka/{account}/{user}", env: SCRATCH}]
  # all that is a minute old goes within two days
  purge: [{path: /weka, not_updated_for: 48h, every: 1h, warn_before: 2879m}]
files:
  - {source: banner.conf, path: /etc/ssh/sshd_config.d/50-banner.conf, where: ctl, reload: ssh}
  - {source: getquota, path: /usr/local/bin/getquota, where: "@compute", mode: "0755"}
testbed: {nodes: "ctl,gpu-[1-2]"}
access: {keys: homes}
"""


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A head and two nodes whose homes and one other directory were mounted before gpupool was used."""
    inventory = tmp_path_factory.mktemp("others") / "elsewhere"
    inventory.mkdir()
    (inventory / "inventory.yml").write_text(INVENTORY)
    (inventory / "files").mkdir()
    (inventory / "files" / "banner.conf").write_text("Banner /etc/issue.net\n")
    (inventory / "files" / "getquota").write_text("#!/bin/sh\necho 5 of 10 TB\n")
    try:
        yield up(inventory, NETWORK)
    finally:
        gpupool("testbed", "down", inventory)


def state(testbed: Testbed, node: str) -> str:
    return testbed.out("ctl", f"scontrol show node {node} | grep -o 'State=[^ ]*\\|Reason=.*'")


def taken_away(testbed: Testbed, node: str, path: str) -> str:
    """Unmount storage of other servers; return the command that mounts it again."""
    device = testbed.out(node, f"findmnt -no MAJ:MIN {path}")
    # docker's volume has no other path in the container than the mount itself
    testbed.out(node, f"mkdir -p /run/aside && mount --bind {path} /run/aside && umount {path}")
    assert device == testbed.out(node, "findmnt -no MAJ:MIN /run/aside")
    return f"mount --bind /run/aside {path} && umount /run/aside"


def test_users_are_warned_before_a_purge(testbed: Testbed) -> None:
    testbed.out("ctl", "mkdir -p /weka/red/ann/run && echo x > /weka/red/ann/run/file", user="ann")
    look = "systemctl start gpupool-purge; cat /weka/red/ann/purge-soon.txt"
    until(lambda: "1 files and links" in testbed.run("ctl", look).stdout, "the file is a minute old")
    shown = testbed.run("ctl", "bash -lic true", user="ann").stdout
    assert "1 files and links below /weka/red/ann will be removed" in shown
    assert "purged" not in testbed.run("ctl", "bash -lc true", user="ann").stdout
    assert testbed.out("ctl", "find /weka/red -name 'purge-soon.txt'") == "/weka/red/ann/purge-soon.txt"
    assert testbed.out("ctl", "cat /weka/red/ann/run/file", user="ann") == "x"


def test_homes_and_links_are_on_the_mounts_of_the_site(testbed: Testbed) -> None:
    assert testbed.out("gpu-1", "find /etc/systemd -name 'home.*' -o -name 'weka.*'") == ""
    assert testbed.out("gpu-1", "stat -c '%U %a' /home/ann /home/bob") == "ann 700\nbob 700"
    assert testbed.out("gpu-2", "readlink /srv/fast; stat -c '%u %a' /weka") == "/weka\n0 1777"
    testbed.out("ctl", "echo here > ~/note", user="ann")
    assert testbed.out("ctl", "srun -w gpu-2 cat ~/note", user="ann") == "here"
    assert testbed.plan() == (0, {})
    done = gpupool("verify", testbed.inventory)
    assert done.returncode == 0, done.stdout


SCRIPT = """#!/bin/bash
echo $JOBSCRATCH
stat -c '%U %G %a' $JOBSCRATCH
mkdir $JOBSCRATCH/deep && echo data > $JOBSCRATCH/deep/file && ln -s /home/ann $JOBSCRATCH/home
srun -n 2 -N 2 bash -c 'test -O $JOBSCRATCH && echo $SLURMD_NODENAME'
touch ready; sleep 1000
"""


def test_each_job_has_a_private_directory_on_each_of_its_nodes(testbed: Testbed) -> None:
    testbed.out("ctl", "rm -f ready job.out; cat > job.sh", user="ann", text=SCRIPT)
    job = testbed.out("ctl", "sbatch --parsable -N 2 -o job.out job.sh", user="ann")
    until(lambda: testbed.run("ctl", "test -e ready", user="ann").returncode == 0, "the job is there")
    top = f"/local/own/{job}"
    path, rights, *nodes = testbed.out("ctl", "cat job.out", user="ann").splitlines()
    assert (path, rights, sorted(nodes)) == (top, "ann red 700", ["gpu-1", "gpu-2"])
    # other users can neither enter it, nor list the jobs, nor put anything next to it
    for command in (f"ls {top}", "ls /local/own", "mkdir /local/own/99999", f"mv {top} /local/mine"):
        assert testbed.run("ctl", f"srun -w gpu-1 {command}", user="bob").returncode != 0, command
    testbed.out("ctl", f"scancel {job}", user="ann")
    for node in ("gpu-1", "gpu-2"):
        until(lambda node=node: testbed.out(node, "ls -A /local/own") == "", f"nothing is left on {node}")
    assert testbed.out("ctl", "cat ready; ls job.out", user="ann") == "job.out", "what a link leads to stays"
    assert "DRAIN" not in state(testbed, "gpu-1")


def test_below_a_directory_of_others_a_job_has_no_private_directory(testbed: Testbed) -> None:
    testbed.out("gpu-1", "chmod 0777 /local/own")
    try:
        done = testbed.run("ctl", "srun -w gpu-1 bash -c 'echo ${JOBSCRATCH-none}'", user="ann")
        line = "gpupool: this node has no directory for the job, so JOBSCRATCH is not set; tell an admin"
        assert (done.returncode, done.stdout.splitlines()) == (0, [line, "none"])
        assert "only root may write to" in testbed.out("gpu-1", "journalctl -q -t gpupool-prolog -n 1 -o cat")
    finally:
        assert testbed.plan("--limit", "gpu-1") == (3, {"gpu-1": ["Directories of jobs | /local/own"]})
        assert testbed.apply("--limit", "gpu-1").returncode == 0
    assert testbed.out("ctl", "srun -w gpu-1 bash -c 'echo ${JOBSCRATCH-none}'", user="ann") != "none"


def test_a_node_without_the_mount_is_named_and_drained_until_it_is_back(testbed: Testbed) -> None:
    again = taken_away(testbed, "gpu-1", "/weka")
    try:
        until(lambda: "DRAIN" in state(testbed, "gpu-1"), "it is drained", lambda: state(testbed, "gpu-1"))
        assert "/weka is not mounted" in state(testbed, "gpu-1")
        assert "DRAIN" not in state(testbed, "gpu-2")
        done = testbed.apply()
        assert done.returncode == 1
        words = " ".join(done.stdout.split())
        assert "gpu-1" in words
        assert "/weka: the site's fast is not mounted; the site mounts it, not gpupool" in words
        done = gpupool("verify", testbed.inventory)
        assert done.returncode == 1
        assert "not mounted: /weka" in " ".join(done.stdout.split())
    finally:
        testbed.out("gpu-1", again)
    until(lambda: "DRAIN" not in state(testbed, "gpu-1"), "it is resumed", lambda: state(testbed, "gpu-1"))
    assert testbed.plan() == (0, {})


def test_no_home_is_created_below_a_missing_mount(testbed: Testbed) -> None:
    text = INVENTORY.replace("users: [", "users: [{name: eve, uid: 20003, account: red}, ")
    again = taken_away(testbed, "ctl", "/home")
    try:
        (testbed.inventory / "inventory.yml").write_text(text)
        done = testbed.apply()
        assert done.returncode == 1
        assert "/home: the site's homes is not mounted" in " ".join(done.stdout.split())
        assert testbed.out("ctl", "ls -A /home") == ""
    finally:
        testbed.out("ctl", again)
    done = testbed.apply()
    assert done.returncode == 0, done.stdout
    assert testbed.out("gpu-2", "stat -c %U /home/eve") == "eve"


def test_files_of_the_site_are_put_checked_and_removed(testbed: Testbed) -> None:
    assert testbed.out("ctl", "srun -w gpu-2 getquota", user="ann") == "5 of 10 TB"
    assert testbed.out("ctl", "sshd -T | grep ^banner; ls /usr/local/bin") == "banner /etc/issue.net"
    banner, inventory = testbed.inventory / "files" / "banner.conf", testbed.inventory / "inventory.yml"
    banner.write_text("Baner /etc/issue.net\n")
    code, changes = testbed.plan("--limit", "ctl")
    assert (code, "Bad configuration option: Baner" in str(changes)) == (1, True), changes
    banner.write_text("Banner none\n")
    inventory.write_text(re.sub(".*getquota.*\n", "", inventory.read_text()))
    (testbed.inventory / "files" / "getquota").unlink()
    done = testbed.apply()
    assert done.returncode == 0, done.stdout
    assert testbed.run("gpu-1", "test -e /usr/local/bin/getquota").returncode == 1
    assert testbed.out("ctl", "sshd -T | grep ^banner") == "banner none"
    assert testbed.plan() == (0, {})
