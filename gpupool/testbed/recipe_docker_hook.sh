#!/bin/sh
# Stands for NVIDIA's hook: docker starts it before a container with --gpus, and tells it of that on standard input.
# Each GPU that is asked for, by number or by a UUID of nvidia-smi -L, appears in the container; a line is noted.

note=/var/log/nvidia-container-runtime-hook.log
state=$(cat)
told() { printf '%s' "$state" | sed -n 's/.*"'"$1"'": *"\{0,1\}\([^",}]*\).*/\1/p' | head -n 1; }
pid=$(told pid) bundle=$(told bundle)
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
printf '%s asked=%s made=%s\n' "$(told id)" "$asked" "${made# }" >> $note
