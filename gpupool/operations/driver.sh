#!/bin/sh
# Functions that install a GPU driver, after packages.sh; the calls of them come after it. $prefix is how the versions of
# the driver begin.
# shellcheck disable=SC2154 # prefix and log are set before it

offered() { # package...: apt would take them of this branch, now that it has read the pins
  for package in "$@"; do
    version=$(apt-cache policy "$package" | sed -n 's/^  Candidate: //p')
    case $version in
      "$prefix"*) ;;
      *) printf '%s\n' "no version $prefix* of $package in the package lists, only ${version:-none}" >&2; exit 1;;
    esac
  done
}
change() { # package...: installed in the version of the pin, whichever was held before; NAME- is removed
  apt install --no-install-recommends --allow-change-held-packages --allow-downgrades -- "$@" || say 'apt-get install'
}
hold() { # pattern...: all that is installed of this driver
  # shellcheck disable=SC2046 # names
  set -- $(dpkg-query -W -f='${db:Status-Status} ${Version} ${Package}\n' "$@" 2>/dev/null |
    awk -v prefix="$prefix" '$1 == "installed" && index($2, prefix) == 1 { print $3 }')
  [ $# -eq 0 ] || apt-mark hold -- "$@" >>"$log"
}
reload() { # the new module instead of the old one, which stays if something uses it
  systemctl daemon-reload
  [ ! -d /sys/module/nouveau ] || modprobe -r nouveau >>"$log" 2>&1 || :
  if [ -d /sys/module/nvidia ]; then
    systemctl stop nvidia-persistenced >>"$log" 2>&1 || :
    modprobe -r nvidia-uvm nvidia-drm nvidia-modeset nvidia >>"$log" 2>&1 || :
  fi
  modprobe nvidia >>"$log" 2>&1 || :
  systemctl restart gpupool-gpus.service >>"$log" 2>&1 || :
  systemctl enable --now nvidia-persistenced >>"$log" 2>&1 || :
}
