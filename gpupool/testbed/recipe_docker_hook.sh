#!/bin/sh
# Replaces NVIDIA's hook: docker runs it before it starts a container with --gpus, with the state on standard input.
# Creates the device file of each requested GPU (a number, or a UUID of nvidia-smi -L) in the container; writes a log.

note=/var/log/nvidia-container-runtime-hook.log
state=$(cat)
field() { printf '%s' "$state" | sed -n 's/.*"'"$1"'": *"\{0,1\}\([^",}]*\).*/\1/p' | head -n 1; }
pid=$(field pid) bundle=$(field bundle)
config=$(cat "$bundle/config.json")
asked=$(printf '%s' "$config" | sed -n 's/.*"NVIDIA_VISIBLE_DEVICES=\([^"]*\)".*/\1/p')
root=$(printf '%s' "$config" | sed -n 's/.*"root":{"path":"\([^"]*\)".*/\1/p')
case $root in /*) ;; *) root=$bundle/$root ;; esac
here=$(for device in /dev/nvidia[0-9]*; do [ ! -e "$device" ] || printf "%s " "${device#/dev/nvidia}"; done)
case $asked in
'' | void | none) asked= ;;
all) asked=$here ;;
*) asked=$(printf '%s' "$asked" | tr , ' ') ;;
esac
made=
for gpu in $asked; do
  case $gpu in
  GPU-*) number=$(nvidia-smi -L 2>/dev/null | sed -n "s/^GPU \([0-9]*\): .*UUID: $gpu).*/\1/p") ;;
  *) number=$gpu ;;
  esac
  [ -n "$number" ] && [ -e "/dev/nvidia$number" ] || {
    echo "nvidia-container-cli: device error: $gpu: unknown device" >&2; exit 1
  }
  nsenter --target "$pid" --mount mknod -m 666 "$root/dev/nvidia$number" c 195 "$number" || exit 1
  made="$made $number"
done
printf '%s asked=%s made=%s\n' "$(field id)" "$asked" "${made# }" >> $note
