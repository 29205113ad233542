#!/bin/sh
# Checks items of a node and prints JSON, one object a line: first {"clock": SECONDS}, then for each item
# {"kind": …, "item": …, "fault": …}, with an empty fault if it works, and "mounted" for a mount.
# $1 time limit in seconds for each mount, then pairs of a kind and an item:
# mount PATH, device FILE, gpus PROGRAM (the GPU check, if it is installed), service UNIT, program NAME (must answer).
# The checks run in parallel, so that ten dead servers take as long as one. A check of a mount triggers its automount.

seconds=$1; shift
text() { printf %s "$1" | tr '\n\t' '  ' | sed 's/[\\"]/\\&/g'; }
seen() { # kind item fault [more]
  printf '{"kind": "%s", "item": "%s", "fault": "%s"%s}\n' "$1" "$(text "$2")" "$(text "$3")" "${4-}"
}
look() { # kind item
  case $1 in
    mount)
      if answer=$(timeout -s KILL "$seconds" stat -f -c %T -- "$2" 2>&1); then fault=
      elif [ -n "$answer" ]; then fault=${answer##*: }
      else fault="no answer in $seconds s"; fi
      # an autofs without another mount at the path is not mounted yet
      mounted=false; if grep -F " $2 " /proc/self/mounts | grep -qv ' autofs '; then mounted=true; fi
      seen mount "$2" "$fault" ", \"mounted\": $mounted";;
    device) if [ -c "$2" ]; then seen device "$2" ''; else seen device "$2" missing; fi;;
    gpus)
      if [ -x "$2" ]; then
        faults=$(timeout -k 5 30 "$2"); code=$?
        [ "$code" != 124 ] || faults='no answer in 30 s'
        [ "$code" = 0 ] || faults=${faults:-exit code $code}
        seen gpus "$2" "${faults#gpupool: }"
      fi;;
    service) if systemctl is-active --quiet "$2"; then seen service "$2" ''; else seen service "$2" 'does not run'; fi;;
    program)
      case $2 in docker) what=info;; *) what=--version;; esac
      if timeout -k 5 60 "$2" "$what" >/dev/null 2>&1; then seen program "$2" ''; else seen program "$2" "$what fails"; fi;;
  esac
}
date +'{"clock": %s.%N}'
while [ $# -gt 0 ]; do
  look "$1" "$2" &
  shift 2
done
wait
