"""What a container does before systemd: it turns docker's surroundings into those of a machine."""

import shlex

from gpupool.slurm.gres import V1_MOUNT
from gpupool.system.devices import MAJOR

# Slurm's v1 plugin wants these, each at <mount point>/<controller>.
V1_CONTROLLERS = ("devices", "cpuset", "memory", "freezer")
NVIDIA_CONTROL = 255

_SCRIPT = """\
# A private cgroup2 tree, so that systemd can move processes about in it.
umount -R /sys/fs/cgroup 2>/dev/null
mkdir -p /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup || exit 90
{controllers}\
# Files that docker binds into /etc become plain ones, which tools can replace by rename; later starts keep them.
own() {{
  grep -q " /etc/$1 " /proc/self/mounts || return 0
  cat "/etc/$1" > "/run/docker-$1"
  umount "/etc/$1" || return 0
  [ -e "/var/lib/container/own-$1" ] && return 0
  {{ if [ -n "$2" ]; then printf "$2"; else cat "/run/docker-$1"; fi; }} > "/etc/.$1.new"
  mv -f "/etc/.$1.new" "/etc/$1" && : > "/var/lib/container/own-$1"
}}
mkdir -p /var/lib/container
own hosts ""
own hostname ""
own resolv.conf {resolv}
# Mounts that this kernel cannot do would fail at each boot.
mkdir -p /run/systemd/system
grep -qw rpc_pipefs /proc/filesystems || ln -sf /dev/null /run/systemd/system/run-rpc_pipefs.mount
grep -qw nfsd /proc/filesystems || ln -sf /dev/null /run/systemd/system/proc-fs-nfsd.mount
# Its own identity, made once.
[ -s /etc/machine-id ] || tr -d - < /proc/sys/kernel/random/uuid > /etc/machine-id
key=/etc/ssh/ssh_host_ed25519_key
if ! [ -s $key.pub ]; then
  rm -f $key $key.new $key.new.pub
  ssh-keygen -q -t ed25519 -N "" -C "root@$(hostname)" -f $key.new && mv -f $key.new $key && mv -f $key.new.pub $key.pub
fi
mkdir -p -m 0700 /root/.ssh
grep -qsF {key} /root/.ssh/authorized_keys || echo {key} >> /root/.ssh/authorized_keys
{devices}\
exec /lib/systemd/systemd
"""


def script(*, cgroups: str, gpus: int, nameservers: tuple[str, ...], public_key: str) -> str:
    """Return the shell text that a container starts with, each time it starts."""
    resolv = "".join(f"nameserver {address}\\n" for address in nameservers)
    return _SCRIPT.format(
        controllers=_controllers() if cgroups == "v1" else "",
        devices=_devices(gpus),
        resolv=shlex.quote(resolv),
        key=shlex.quote(public_key.strip()),
    )


def _controllers() -> str:
    return "".join(
        f"mkdir -p {V1_MOUNT}/{name} && mount -t cgroup -o {name} cgroup {V1_MOUNT}/{name}\n" for name in V1_CONTROLLERS
    )


def gpu_minors(gpus: int) -> tuple[int, ...]:
    """Return the device numbers of that many GPUs and of the driver's control device."""
    return (*range(gpus), NVIDIA_CONTROL) if gpus else ()


def _devices(gpus: int) -> str:
    names = {minor: "nvidiactl" if minor == NVIDIA_CONTROL else f"nvidia{minor}" for minor in gpu_minors(gpus)}
    return "".join(
        f"[ -e /dev/{name} ] || mknod -m 666 /dev/{name} c {MAJOR} {minor}\n" for minor, name in names.items()
    )
