"""The state of a node after gpupool, by operations of stock pyinfra: plain pyinfra runs this file."""

from pyinfra import host
from pyinfra.operations import apt, files, server, systemd

state = host.data.state
apt.packages(name="Packages", packages=state["packages"])
for name, gid in host.loop(state["groups"]):
    server.group(name=f"Group {name}", group=name, gid=gid)
for name, uid, group, groups, home, shell in host.loop(state["users"]):
    server.user(
        name=f"User {name}", user=name, uid=uid, group=group, groups=groups, home=home, shell=shell, ensure_home=False
    )
for source, path, owner, group, mode in host.loop(state["files"]):
    files.put(name=f"File {path}", src=source, dest=path, user=owner, group=group, mode=mode)
for path, link in host.loop(state["links"]):
    files.link(name=f"Link {path}", path=path, target=link)
for unit in host.loop(state["services"]):
    systemd.service(name=f"Service {unit}", service=unit, running=True, enabled=True)
