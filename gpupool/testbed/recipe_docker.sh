#!/bin/sh
# Configures docker, if it is installed, so that it runs in a container. $start: the script that starts dockerd, $hook: the
# replacement of NVIDIA's hook.
# shellcheck disable=SC2154 # the caller sets start and hook

if [ -e /usr/lib/systemd/system/docker.service ] || [ -e /lib/systemd/system/docker.service ]; then
  printf '#!/bin/sh\n%s' "$start" > /usr/local/sbin/dockerd-in-container
  printf '#!/bin/sh\n%s' "$hook" > /usr/bin/nvidia-container-runtime-hook
  chmod 755 /usr/local/sbin/dockerd-in-container /usr/bin/nvidia-container-runtime-hook
  # dockerd starts a separate containerd, which sees the same mounts
  systemctl mask --quiet containerd.service
  mkdir -p /etc/systemd/system/docker.service.d
  # shellcheck disable=SC2016 # systemd expands the variable
  printf '[Service]\nExecStart=\nExecStart=/usr/local/sbin/dockerd-in-container -H fd:// $DOCKER_OPTS\n' \
    > /etc/systemd/system/docker.service.d/container.conf
fi
