#!/bin/sh
# After packages.sh: defines functions that install a GPU driver; the caller appends their calls. $prefix: the beginning of
# the driver's versions.
# shellcheck disable=SC2154 # the caller sets prefix and log

offered() { # package...: fail unless apt's candidate of each, by its pins, is of this driver
  for package in "$@"; do
    version=$(apt-cache policy "$package" | sed -n 's/^  Candidate: //p')
    case $version in
      "$prefix"*) ;;
      *) printf '%s\n' "no version $prefix* of $package in the package lists, only ${version:-none}" >&2; exit 1;;
    esac
  done
}
change() { # package...: install the pinned versions, also of held packages; NAME- removes a package
  apt install --no-install-recommends --allow-change-held-packages --allow-downgrades -- "$@" || say 'apt-get install'
}
hold() { # pattern...: hold all installed packages of this driver
  # shellcheck disable=SC2046 # names
  set -- $(dpkg-query -W -f='${db:Status-Status} ${Version} ${Package}\n' "$@" 2>/dev/null |
    awk -v prefix="$prefix" '$1 == "installed" && index($2, prefix) == 1 { print $3 }')
  [ $# -eq 0 ] || apt-mark hold -- "$@" >>"$log"
}
reload() { # replace the loaded module by the new one, unless it is in use
  systemctl daemon-reload
  [ ! -d /sys/module/nouveau ] || modprobe -r nouveau >>"$log" 2>&1 || :
  if [ -d /sys/module/nvidia ]; then
    systemctl stop nvidia-persistenced nvidia-fabricmanager >>"$log" 2>&1 || :
    modprobe -r nvidia-uvm nvidia-drm nvidia-modeset nvidia >>"$log" 2>&1 || :
  fi
  modprobe nvidia >>"$log" 2>&1 || :
  systemctl restart gpupool-gpus.service >>"$log" 2>&1 || :
  systemctl enable --now nvidia-persistenced >>"$log" 2>&1 || :
  # only nodes with NVSwitch have it
  systemctl enable --now nvidia-fabricmanager >>"$log" 2>&1 || :
}
