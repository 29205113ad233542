#!/bin/sh
# Has docker run in a container, where it is installed: $start is what starts dockerd, $hook stands for NVIDIA's.
# shellcheck disable=SC2154 # start and hook are set before it

if [ -e /usr/lib/systemd/system/docker.service ] || [ -e /lib/systemd/system/docker.service ]; then
  printf '#!/bin/sh\n%s' "$start" > /usr/local/sbin/dockerd-in-container
  printf '#!/bin/sh\n%s' "$hook" > /usr/bin/nvidia-container-runtime-hook
  chmod 755 /usr/local/sbin/dockerd-in-container /usr/bin/nvidia-container-runtime-hook
  # dockerd starts one of its own, which sees the same mounts
  systemctl mask --quiet containerd.service
  mkdir -p /etc/systemd/system/docker.service.d
  # shellcheck disable=SC2016 # systemd puts in what the variable holds
  printf '[Service]\nExecStart=\nExecStart=/usr/local/sbin/dockerd-in-container -H fd:// $DOCKER_OPTS\n' \
    > /etc/systemd/system/docker.service.d/container.conf
fi
