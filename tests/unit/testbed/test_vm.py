"""Nodes as virtual machines: which nodes, their size, their start, and what they share with containers."""

import base64
import itertools
import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inventories import cluster_at

from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.gres import cgroup_conf
from gpupool.compile.system.slurmd import slurmd_default
from gpupool.errors import TestbedError, UsageError
from gpupool.testbed import docker, image, keys, look, vm
from gpupool.testbed.overlay import spec_of, stand_in
from gpupool.testbed.spec import Container, Machine, Spec
from gpupool.testbed.vm import boot as vm_boot
from gpupool.testbed.vm import choice as vm_choice
from gpupool.testbed.vm import image as vm_image
from gpupool.testbed.vm import recipe as vm_recipe
from gpupool.testbed.vm.image import Images

ROOT = Path(__file__).parents[3]
FILES = Container("fs1", "10.66.2.1", "fs1.example.org", machine=Machine(disks=(1024, 512)))
SPEC = Spec("twin", "10.66.0.0/16", "example.org", containers=(FILES,))
IMAGES = Images("gpupool/qemu:x", {frozenset(): "gpupool/vm:x"}, {frozenset(): "abc"})


@pytest.fixture(scope="module")
def stores() -> Cluster:
    return load(ROOT / "tests" / "vm" / "inventory")


def script(box: Container = FILES) -> str:
    assert box.machine
    return vm_boot.script(
        SPEC,
        box,
        box.machine,
        disk="abc",
        nameservers=("192.0.2.53",),
        public_key="ssh-ed25519 AAA it's me\n",
        host_key=("private\n", "public\n"),
    )


def arguments(box: Container = FILES) -> list[str]:
    line = next(line for line in script(box).splitlines() if line.startswith("set -- "))
    return shlex.split(line)


def values(arguments: list[str], option: str) -> list[str]:
    return [after for word, after in itertools.pairwise(arguments) if word == option]


def test_a_machine_has_its_cores_memory_and_disks() -> None:
    box = replace(FILES, machine=Machine(cpus=4, threads=2, memory=2048, disks=(1024,)))
    words = arguments(box)
    assert values(words, "-smp") == ["4,sockets=1,cores=2,threads=2"]
    assert values(words, "-m") == ["2048"]
    assert "virtio-blk-pci,drive=disk1,serial=fs1-1" in values(words, "-device")
    assert "disks=disk-1.img:1024\n" in script(box)


def test_qemu_starts_with_its_disks_and_the_strings_for_systemd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("ip", "qemu-img", "socat", "qemu-system-x86_64"):
        tool = tmp_path / "bin" / name
        tool.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "arguments-of-${0##*/}"\n')
        tool.chmod(0o755)
    monkeypatch.setattr(vm_boot, "FOLDER", str(tmp_path / "machine"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    subprocess.run(["sh", "-c", script()], check=True)
    words = (tmp_path / "machine" / "arguments-of-qemu-system-x86_64").read_text().splitlines()
    assert words[4:] == arguments()[2:]
    assert FILES.machine
    assert [path.stat().st_size >> 20 for path in sorted((tmp_path / "machine").glob("disk-*.img"))] == [
        *FILES.machine.disks
    ]
    strings = [path.read_text() for path in sorted((tmp_path / "machine").glob("string-*"))]
    assert [string.partition("=")[0].partition(":")[2] for string in strings] == [
        "ssh.authorized_keys.root",
        "tmpfiles.extra",
    ]


def test_a_machine_reboots_in_place() -> None:
    assert "-no-reboot" not in arguments()
    assert "reboot" not in " ".join(values(arguments(), "-action"))


def test_a_machine_takes_dockers_address() -> None:
    append = values(arguments(), "-append")[0]
    assert " systemd.hostname=fs1 ip=10.66.2.1::10.66.255.254:255.255.0.0:fs1:eth0:none" in append
    assert "ip address flush dev eth0\n" in script()


def test_its_identity_is_passed_as_credentials() -> None:
    credentials = dict(re.findall(r"io\.systemd\.credential\.binary:(\S+?)=([\w+/=]+)", script()))
    text = {name: base64.b64decode(value).decode() for name, value in credentials.items()}
    assert text["ssh.authorized_keys.root"] == "ssh-ed25519 AAA it's me\n"
    lines = {line.split()[1]: line.split(maxsplit=6)[6] for line in text["tmpfiles.extra"].splitlines()}
    assert base64.b64decode(lines["/etc/ssh/ssh_host_ed25519_key"]) == b"private\n"
    assert base64.b64decode(lines["/etc/ssh/ssh_host_ed25519_key.pub"]) == b"public\n"
    assert lines["/etc/resolv.conf"] == "nameserver 192.0.2.53\\n"
    assert len(credentials) == len(values(arguments(), "-smbios"))


@given(st.ip_addresses(v=4), st.ip_addresses(v=4))
def test_each_address_has_a_separate_hardware_address(one: object, other: object) -> None:
    assert re.fullmatch(r"52:54(:[0-9a-f]{2}){4}", vm_boot.mac(str(one)))
    assert (vm_boot.mac(str(one)) == vm_boot.mac(str(other))) == (one == other)


def test_docker_has_the_same_labels_for_a_machine_as_for_a_container(tmp_path: Path) -> None:
    made = vm.create(SPEC, FILES, IMAGES, tmp_path, nameservers=(), public_key="ssh-ed25519 AAA")
    assert values(made, "--name") == ["gpupool-twin-fs1"]
    assert values(made, "--label")[:2] == ["gpupool.testbed=gpupool-twin", "gpupool.testbed.node=fs1"]
    assert values(made, "--ip") == ["10.66.2.1"]
    assert values(made, "--volume") == ["gpupool-vm-disks:/disks:ro"]
    assert values(made, "--cap-add") == ["NET_ADMIN"]
    assert int(values(made, "--stop-timeout")[0]) >= 60


def test_a_machine_keeps_its_host_key_and_its_shape_includes_it(tmp_path: Path) -> None:
    before = vm.shape(SPEC, FILES, tmp_path, "key")
    assert vm.shape(SPEC, FILES, tmp_path, "key") == before
    assert vm.shape(SPEC, FILES, tmp_path, "another key") != before
    assert vm.shape(SPEC, replace(FILES, machine=Machine(disks=(1024, 1024))), tmp_path, "key") != before
    config = vm.ssh_config(SPEC, tmp_path, tmp_path / "key")
    public = keys.public_path(vm.host_key(tmp_path, "fs1")).read_text().split()[1]
    assert public in (tmp_path / "machines" / "known_hosts").read_text()
    assert str(tmp_path / "machines" / "known_hosts") in config.read_text()


@pytest.mark.parametrize(
    ("box", "message"),
    [
        (replace(FILES, machine=Machine(cpus=3, threads=2)), "fs1: 3 CPUs cannot be divided into cores of 2 threads"),
        (replace(FILES, machine=Machine(memory=64)), "fs1: 64 MiB are too little"),
        (replace(FILES, name="a-very-long-name-of-one"), "its name is too long for its disks"),
        (replace(FILES, volumes={"home": "/testbed/home"}), "a virtual machine cannot use volumes of containers"),
    ],
)
def test_an_impossible_machine_is_refused(box: Container, message: str) -> None:
    with pytest.raises(TestbedError, match=message):
        Spec("twin", "10.66.0.0/16", "example.org", containers=(box,))


def test_selectors_choose_machines(stores: Cluster) -> None:
    assert vm_choice.chosen(stores, "@compute,fs1") == ("fs1", "node01")
    assert vm_choice.chosen(stores, "") == ()
    for word in ("fs2", "@gateway"):
        with pytest.raises(UsageError, match="--vm"):
            vm_choice.chosen(stores, word)


def test_machines_mount_exports_and_containers_do_not(stores: Cluster) -> None:
    both = stand_in(stores, cgroup="v1", machines=("fs1", "node01"))
    assert {mount.export: mount.nodes for mount in both.mounts} == dict.fromkeys(
        ("pskynet1", "flash1", "home", "scratch"), ("node01",)
    )
    assert both.drivers.real_storage("fs1", "node01")
    assert not spec_of(both).volumes
    assert vm_choice.left_out(stores, ("fs1", "node01")) == {}
    alone = stand_in(stores, cgroup="v1", machines=("fs1",))
    assert not any(mount.nodes for mount in alone.mounts)
    assert set(vm_choice.left_out(stores, ("fs1",))["node01"]) == {
        "/coc/pskynet1",
        "/coc/flash1",
        "/home",
        "/coc/scratch",
    }


def test_a_machine_is_as_large_as_its_node(stores: Cluster) -> None:
    boxes = {
        box.name: box.machine for box in spec_of(stand_in(stores, cgroup="v1", machines=("fs1", "node01"))).containers
    }
    assert boxes["control"] is None
    assert boxes["fs1"] == Machine(disks=(2048, 2048, 128, 128))
    node = boxes["node01"]
    assert node is not None
    assert (node.cpus, node.threads) == (4, 2)
    assert node.memory >= stores.nodes["node01"].memory + vm_choice.KERNEL_MEMORY


@pytest.mark.promise("SKY-145")
def test_if_all_compute_nodes_are_machines_no_cpus_are_claimed(stores: Cluster) -> None:
    real = stand_in(stores, cgroup="v1", machines=("fs1", "node01"))
    assert "config_overrides" not in slurm_conf(real)
    assert "TaskPlugin=task/cgroup,task/affinity\n" in slurm_conf(real)
    assert "ConstrainCores=yes" in cgroup_conf(real)
    assert "CgroupPlugin=cgroup/v2" in cgroup_conf(real)
    assert " -b" not in slurmd_default(real)
    claimed = stand_in(stores, cgroup="v1", machines=("fs1",))
    assert "config_overrides" in slurm_conf(claimed)
    assert "ConstrainCores=no" in cgroup_conf(claimed)


def test_a_node_larger_than_a_machine_is_claimed() -> None:
    skynet = cluster_at(ROOT / "inventory" / "skynet")
    compute = [name for name in skynet.testbed_nodes if skynet.nodes[name].has("compute")]
    twin = stand_in(skynet, cgroup="v1", machines=compute)
    assert (twin.drivers.cpus, twin.drivers.cgroup) == ("claimed", "v2")
    assert {box.machine for box in spec_of(twin).machines} == {Machine()}


def test_compute_nodes_of_both_kinds_need_one_version_of_control_groups() -> None:
    skynet = cluster_at(ROOT / "inventory" / "skynet")
    compute = [name for name in skynet.testbed_nodes if skynet.nodes[name].has("compute")]
    with pytest.raises(TestbedError, match=f"--vm {','.join(compute)}"):
        stand_in(skynet, cgroup="v1", machines=compute[:1])
    assert stand_in(skynet, cgroup="v2", machines=compute[:1]).drivers.cpus == "claimed"


def test_the_recipe_removes_keys_and_identity_at_the_end() -> None:
    text = vm_recipe.base({}, {})
    assert text.rstrip().endswith("touch /etc/.updated /var/.updated")
    assert "rm -f /etc/ssh/ssh_host_*" in text
    assert "zfs-dkms" in vm_recipe.kernel({}, {})


def test_a_cheap_change_does_not_rebuild_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, base = image.base_tag("trixie", vm_image.KERNEL), image.base_tag("trixie", vm_image.MACHINES)
    monkeypatch.setattr(vm_recipe, "MASKED_UNITS", ("another.service",))
    assert image.base_tag("trixie", vm_image.KERNEL) == kernel
    assert image.base_tag("trixie", vm_image.MACHINES) != base
    monkeypatch.setattr(vm_recipe, "KERNEL_PACKAGES", ("another-kernel",))
    assert image.base_tag("trixie", vm_image.KERNEL) != kernel


def test_zfs_finds_its_disks() -> None:
    # zfs-import-cache.service requires it: with it masked, no pool would return after a reboot
    assert "systemd-udev-settle.service" not in vm_recipe.MASKED_UNITS


@pytest.mark.parametrize(("size", "calls"), [(196_864, ["kill", "wait", "start"]), (5 << 20, [])])
def test_a_machine_without_output_is_switched_off_and_on_once(
    monkeypatch: pytest.MonkeyPatch, size: int, calls: list[str]
) -> None:
    """A machine that has written something is booting, however long it takes."""
    done: list[str] = []
    silent, up = look.read(""), look.read("ssh-ed25519 AAA\nactive\nrunning\n")
    answers = iter([silent] * 5 + [up])
    monkeypatch.setattr(vm, "STILL_SECONDS", -1.0)
    monkeypatch.setattr(vm.time, "sleep", lambda _: None)
    monkeypatch.setattr(look, "over_ssh", lambda *_: next(answers))
    monkeypatch.setattr(docker, "inspect", lambda _, names: {name: {"State": {"Running": True}} for name in names})
    monkeypatch.setattr(docker, "attempt", lambda command: subprocess.CompletedProcess(command, 0, f"{size}\n", ""))
    monkeypatch.setattr(docker, "run", lambda command: done.append(command[0]))
    assert vm.ready(SPEC, FILES, Path("ssh_config")) == up
    assert done == calls
