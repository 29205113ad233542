"""Singularity in a user's terminal; its package and its images come from servers that the test runs."""

from collections.abc import Iterator

import pytest
from pace import until

from tests.testbed.cluster import Changed, Testbed
from tests.testbed.containers import make_image

NODE, SERVER, USER, OTHER = "clippy", "marvin", "u-kira1", "u-hays1"
IN_JOB = f"srun -p short -w {NODE}"
WEB = 8099
LOLCOW, TENSORFLOW = "godlovedc/lolcow", "nvidia/tensorflow:20.10-tf2-py3"
PREFETCHED = "/opt/images/lolcow.sif"
BEFORE = "  modules: {enabled: false, src: L353}\n"

#: Downloads the package of Debian's next release to the folder $1. Prints its sha256.
FETCH = r"""
set -eu
mkdir -p "$1/lists/partial" "$1/cache"; cd "$1"
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
  grep -oE 'https?://[^ ]+' | grep -v security | head -n 1)
echo "deb [trusted=yes] $mirror sid main" > sid.list
apt() {
  apt-get -q -o Dir::Etc::sourcelist="$PWD/sid.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State::lists="$PWD/lists" -o Dir::Cache="$PWD/cache" \
    -o Acquire::Check-Valid-Until=false -o APT::Sandbox::User=root "$@" >&2
}
[ -e apptainer.deb ] || { apt update && apt download apptainer && mv apptainer_*.deb apptainer.deb; }
rm -rf lists cache
sha256sum apptainer.deb | cut -d ' ' -f 1
"""
#: Starts a registry with the names docker.io and nvcr.io, which need a line in /etc/hosts, and a certificate.
REGISTRY = r"""
set -eu
export DEBIAN_FRONTEND=noninteractive
command -v docker-registry >/dev/null ||
  { apt-get -q update && apt-get -q -y install --no-install-recommends docker-registry openssl; } >&2
systemctl disable -q --now docker-registry
mkdir -p /var/tmp/registry && cd /var/tmp/registry
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-registry -keyout key.pem -out cert.pem \
  -addext 'subjectAltName=DNS:index.docker.io,DNS:registry-1.docker.io,DNS:nvcr.io' 2> /dev/null
cp cert.pem /usr/local/share/ca-certificates/test-registry.crt && update-ca-certificates > /dev/null 2>&1
cat > config.yml <<END
version: 0.1
storage: {filesystem: {rootdirectory: /var/tmp/registry/images}}
http: {addr: "127.0.0.1:443", tls: {certificate: /var/tmp/registry/cert.pem, key: /var/tmp/registry/key.pem}}
END
systemctl is-active -q test-registry ||
  systemd-run -q --unit=test-registry docker-registry serve /var/tmp/registry/config.yml
"""
HOSTS = "127.0.0.1 index.docker.io registry-1.docker.io nvcr.io"


@pytest.fixture(scope="module")
def served(skynet: Testbed) -> Iterator[str]:
    """Serve the package on the controller, and two images in a registry on the node; yield the package's sha256."""
    sha256 = skynet.out(SERVER, "sh -s /var/tmp/apptainer", text=FETCH).splitlines()[-1]
    web = f"python3 -m http.server {WEB} --directory /var/tmp/apptainer"
    skynet.out(SERVER, f"systemctl is-active -q test-web || systemd-run -q --unit=test-web {web}")
    skynet.out(NODE, "sh -s", text=REGISTRY)
    until(
        lambda: skynet.run(NODE, "bash -c ': < /dev/tcp/127.0.0.1/443'").returncode == 0,
        "the registry answers",
        lambda: skynet.run(NODE, "journalctl -q -o cat -u test-registry").stdout,
    )
    names = [f"localhost:443/{LOLCOW}:latest", f"localhost:443/{TENSORFLOW}"]
    make_image(skynet, NODE, *names)
    for name in names:
        skynet.out(NODE, f"docker push -q {name}")
    yield sha256
    skynet.out(SERVER, "systemctl stop test-web")
    skynet.out(NODE, f"systemctl stop test-registry; rm -rf /var/tmp/registry {PREFETCHED}")
    skynet.out(NODE, "rm /usr/local/share/ca-certificates/test-registry.crt; update-ca-certificates >/dev/null 2>&1")
    skynet.out(NODE, "apt-get -q -y purge docker-registry apptainer >/dev/null 2>&1")


@pytest.fixture
def singularity(changed: Changed, served: str) -> Iterator[Testbed]:
    """Yield SkyNet with singularity on one node, and an image that the node downloads."""
    package = f'{{url: "http://{SERVER}:{WEB}/apptainer.deb", sha256: {served}}}'
    text = f"""  singularity: {{where: {NODE}, package: {package}, fakeroot: true, dev: minimal}}
  images: [{{source: "docker://{LOLCOW}", at: {PREFETCHED}}}]
"""
    testbed = changed("software.yml", BEFORE, f"{BEFORE}{text}")
    done = testbed.apply("--limit", NODE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert testbed.plan("--limit", NODE) == (0, {})
    testbed.out("sky1", "rm -rf ~/tried && mkdir -p ~/tried", USER)
    testbed.out(NODE, f"echo '{HOSTS}' >> /etc/hosts && systemctl restart gpupool-images")
    yield testbed
    # apply does not remove a file that has replaced a package's file: a person has to
    testbed.out(NODE, "rm /etc/apptainer/apptainer.conf")


def typed(testbed: Testbed, command: str, options: str = "", text: str = "") -> str:
    """Return the output of a command that a user types on a head; `text` is its standard input."""
    return testbed.out("sky1", f"cd ~/tried && {IN_JOB} {options} {command}", USER, text)


@pytest.mark.promise(
    *("AAU-037", "AAU-039", "AAU-040", "AAU-041", "AAU-042", "AAU-044", "AAU-046", "AAU-047", "AAU-048")
)
def test_the_commands_of_the_guide_run_as_a_user(singularity: Testbed) -> None:
    assert "exec" in typed(singularity, "singularity -h")
    assert "--fakeroot" in typed(singularity, "singularity help build")

    typed(singularity, f"singularity pull docker://{LOLCOW}")
    assert singularity.out("sky1", "stat -c %U ~/tried/lolcow_latest.sif", USER) == USER
    assert typed(singularity, "singularity run lolcow_latest.sif").endswith("moo")
    typed(singularity, f"singularity pull docker://nvcr.io/{TENSORFLOW}")
    image = "tensorflow_20.10-tf2-py3.sif"

    uid = singularity.out("sky1", "id -u", USER)
    assert typed(singularity, f"singularity exec {image} id -u").splitlines()[-1] == uid
    script = "mkdir -p mnist-data output_data && echo 'echo $1 >/output_data/made' > example.sh"
    singularity.out("sky1", f"cd ~/tried && {script}", USER)
    binds = "--nv -B .:/code -B mnist-data/:/data -B output_data:/output_data"
    typed(singularity, f"singularity exec {binds} {image} sh /code/example.sh 10", "--gres=gpu:1")
    assert singularity.out("sky1", "cat ~/tried/output_data/made", USER) == "10"

    # of the GPUs that --nv brings in, the job's device cgroup opens one; without a cgroup there are none
    look = "for gpu in /dev/nvidia[0-9]*; do { exec 3<$gpu; } 2>&1; done | grep -c 'No such device' || :"
    singularity.out("sky1", "cd ~/tried && cat > look.sh", USER, f"{look}\n")
    assert typed(singularity, f"singularity exec --nv -B .:/code {image} bash /code/look.sh", "--gres=gpu:1")[-1] == "1"
    assert "nvidia" not in typed(singularity, f"singularity exec {image} ls /dev", "--gres=gpu:1")

    definition = f"BootStrap: docker\nFrom: nvcr.io/{TENSORFLOW}\n%post\n  mkdir /made\n  id -u > /made/by\n"
    singularity.out("sky1", "cd ~/tried && cat > Singularity", USER, definition)
    typed(singularity, "singularity build --fakeroot tensorflow_keras.sif Singularity")
    own = "--nv -B .:/code -B output_data:/output_data tensorflow_keras.sif"
    by = typed(singularity, f"singularity exec {own} cat /made/by", "--gres=gpu:1").splitlines()[-1]
    assert by == "0", "root of a user namespace has built it"
    # an interactive shell of the image; the job ends with it
    output = typed(singularity, f"singularity shell {own}", "--gres=gpu:1", text="bash /code/look.sh\nexit\n")
    assert output.splitlines()[-1] == "1"
    until(
        lambda: singularity.out("marvin", f"squeue -h -u {USER}") == "",
        "the job ends with the shell",
        lambda: singularity.out("marvin", "squeue"),
    )


@pytest.mark.promise("AAU-038", "AAU-043")
def test_images_of_the_inventory_exist_for_all_users(singularity: Testbed) -> None:
    until(
        lambda: singularity.run(NODE, f"test -s {PREFETCHED}").returncode == 0,
        "the node has fetched its image",
        lambda: singularity.out(NODE, "journalctl -q -o cat -u gpupool-images"),
    )
    assert singularity.out(NODE, f"stat -c '%U %a' {PREFETCHED}") == "root 644"
    for user in (USER, OTHER):
        output = singularity.out("sky1", f"{IN_JOB} singularity run {PREFETCHED}", user)
        assert output.endswith("moo")
    singularity.out(NODE, "systemctl start gpupool-images")
    fetched = singularity.out(NODE, "journalctl -q -o cat -u gpupool-images")
    assert fetched.count(f"fetched {PREFETCHED}") == 1


def test_subordinate_ids_are_assigned_once(singularity: Testbed) -> None:
    before = singularity.out(NODE, "cat /etc/subuid /etc/subgid")
    assert before.count(f"{USER}:") == 2
    singularity.out(NODE, f"sed -i '/^{OTHER}:/d' /etc/subgid && echo '{OTHER}:100000:10' >> /etc/subgid")
    assert singularity.apply("--limit", NODE).returncode == 0
    after = singularity.out(NODE, "cat /etc/subuid /etc/subgid")
    assert set(before.splitlines()) - set(after.splitlines()) <= {
        line for line in before.splitlines() if line.startswith(f"{OTHER}:")
    }
    assert f"{OTHER}:100000:10" in after.splitlines(), "a range that exists is never changed"
    assert after.count(f"{OTHER}:") == 3
    assert singularity.plan("--limit", NODE) == (0, {})
