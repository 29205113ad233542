"""The allowed forms of a testbed, and the docker command lines for them."""

import itertools

import pytest

from gpupool.errors import TestbedError
from gpupool.testbed import boot, container, network
from gpupool.testbed.bare import bare as bare_of
from gpupool.testbed.spec import Container, Spec, Volume

VOLUME = Volume("pskynet1", "multivac.cc.gatech.edu:/pskynet1", "50T")
GPU = Container("gpu-1", "10.66.1.1", "gpu-1.example.org", ("slurmd",), gpus=2, volumes={"pskynet1": "/testbed/p"})
SPEC = Spec("twin", "10.66.0.0/16", "example.org", containers=(GPU,), volumes=(VOLUME,))


def created(box: Container = GPU, cgroups: str = "v1") -> list[str]:
    return container.create(
        SPEC,
        box,
        image="gpupool/node:x",
        cgroups=cgroups,
        nameservers=("192.0.2.53",),
        public_key="ssh-ed25519 AAA me\n",
    )


def values(arguments: list[str], option: str) -> list[str]:
    return [after for word, after in itertools.pairwise(arguments) if word == option]


def test_a_node_is_named_labelled_and_placed() -> None:
    arguments = created()
    assert arguments[:3] == ["create", "--name", "gpupool-twin-gpu-1"]
    assert values(arguments, "--label")[:2] == ["gpupool.testbed=gpupool-twin", "gpupool.testbed.node=gpu-1"]
    assert values(arguments, "--ip") == ["10.66.1.1"]
    assert values(arguments, "--hostname") == ["gpu-1"]
    assert values(arguments, "--domainname") == ["example.org"]
    assert values(arguments, "--restart") == ["no"]
    assert values(arguments, "--volume") == ["gpupool-twin-pskynet1:/testbed/p"]


def test_each_gpu_has_a_device_rule() -> None:
    assert values(created(), "--device-cgroup-rule") == ["c 195:0 rwm", "c 195:1 rwm", "c 195:255 rwm"]
    plain = Container("head", "10.66.0.1", "head.example.org")
    assert not values(created(plain), "--device-cgroup-rule")


def test_a_container_has_no_rights_on_the_machine() -> None:
    assert values(created(), "--cap-drop") == ["SYS_RESOURCE", "SYS_TIME", "SYS_MODULE"]
    assert "--privileged" not in created()


def test_v1_controllers_are_mounted_only_if_they_exist() -> None:
    assert "controllers='devices cpuset memory freezer'\n" in created(cgroups="v1")[-1]
    assert "controllers=''\n" in created(cgroups="v2")[-1]


def test_the_start_script_creates_devices_and_executes_systemd() -> None:
    text = boot.script(cgroups="v2", gpus=1, nameservers=(), public_key="ssh-ed25519 AAA it's me")
    assert "devices='nvidia0:0 nvidiactl:255'\n" in text
    assert "'ssh-ed25519 AAA it'\"'\"'s me'" in text
    assert text.endswith("exec /lib/systemd/systemd\n")


def test_the_shape_changes_only_if_the_container_must_be_recreated() -> None:
    more = Container(GPU.name, GPU.address, GPU.hostname, GPU.packages, gpus=3, volumes=GPU.volumes)
    packages = Container(GPU.name, GPU.address, GPU.hostname, ("slurmd", "lmod"), gpus=2, volumes=GPU.volumes)
    words = Container(GPU.name, GPU.address, GPU.hostname, GPU.packages, 2, GPU.volumes, roles=("compute",))
    assert container.shape(SPEC, more) != container.shape(SPEC, GPU)
    assert container.shape(SPEC, packages) == container.shape(SPEC, GPU)
    assert container.shape(SPEC, words) == container.shape(SPEC, GPU)


def test_a_volume_in_memory_has_source_and_size() -> None:
    made = network.create_volume(SPEC, VOLUME)
    assert values(made, "--opt") == ["type=tmpfs", "device=multivac.cc.gatech.edu:/pskynet1", "o=size=50T,mode=0755"]
    assert not values(network.create_volume(SPEC, Volume("home", kind="disk")), "--opt")


def test_volumes_in_memory_are_kept_while_all_nodes_are_off() -> None:
    anchor = container.anchor(SPEC, "base")
    assert anchor is not None
    assert values(anchor, "--volume") == ["gpupool-twin-pskynet1:/volumes/pskynet1"]
    assert container.anchor(Spec("twin", "10.66.0.0/16", "", volumes=(Volume("home", kind="disk"),)), "base") is None


def test_the_bridge_has_the_last_address() -> None:
    assert values(network.create(SPEC), "--gateway") == ["10.66.255.254"]


@pytest.mark.parametrize(
    ("box", "message"),
    [
        (Container("head", "10.67.0.1", "head"), "head: 10.67.0.1 is not a free address of 10.66.0.0/16"),
        (Container("head", "10.66.255.254", "head"), "10.66.255.254 is not a free address"),
        (Container("head", "10.66.1.1", "head"), "the address 10.66.1.1 is used 2 times"),
        (Container("gpu-1", "10.66.0.1", "head"), "the name gpu-1 is used 2 times"),
        (Container("Head", "10.66.0.1", "head"), "'Head' is not a valid name for docker"),
        (Container("head", "here", "head"), "head: 'here' is not an address"),
        (Container("head", "10.66.0.1", "head", volumes={"x": "/x"}), "head: there is no volume 'x'"),
        (Container("volumes", "10.66.0.1", "head"), "no node may be called 'volumes'"),
    ],
)
def test_contradicting_values_are_refused(box: Container, message: str) -> None:
    with pytest.raises(TestbedError, match=message.replace("(", r"\(")):
        Spec("twin", "10.66.0.0/16", "example.org", containers=(GPU, box), volumes=(VOLUME,))


def test_an_invalid_network_is_refused() -> None:
    with pytest.raises(TestbedError, match=r"network 10\.66\.0\.1/16 is not valid"):
        Spec("twin", "10.66.0.1/16", "example.org")


def test_a_bare_node_has_no_packages_and_is_otherwise_the_same() -> None:
    bare = bare_of(SPEC)
    assert [box.packages for box in bare.containers] == [()]
    assert container.shape(bare, bare.containers[0]) == container.shape(SPEC, GPU)
