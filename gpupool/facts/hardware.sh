#!/bin/sh
# Prints the machine's hardware: each line is a kind and its values. $1 is the path of the disk for jobs.
export LC_ALL=C
echo "arch $(uname -m)"
echo "product $(cat /sys/class/dmi/id/product_name 2>/dev/null)"
lscpu -p=CPU,CORE,SOCKET 2>/dev/null | grep -v '^#' | tr ',' ' ' | sed 's/^/cpu /'
sed -n 's/^MemTotal: *\([0-9]*\) kB/memory \1/p' /proc/meminfo
df -Pk "$1" 2>/dev/null | sed -n '2s/^[^ ]* *\([0-9]*\) .*/tmp \1/p'
lsblk -bdnro NAME,SIZE,TYPE 2>/dev/null | sed -n 's/^\([^ ]*\) \([0-9]*\) disk$/disk \1 \2/p'
for device in /sys/bus/pci/devices/*; do
  case $(cat "$device/vendor" "$device/class" 2>/dev/null | tr '\n' ' ') in
    '0x10de 0x0300'* | '0x10de 0x0302'*) echo "slot ${device##*/}";;
  esac
done
for file in /dev/nvidia[0-9]*; do
  if [ -c "$file" ]; then echo "file $file"; fi
done
if command -v lspci >/dev/null; then timeout 15 lspci -Dnn -d 10de: 2>/dev/null | sed 's/^/lspci /'; fi
if command -v nvidia-smi >/dev/null; then
  timeout 20 nvidia-smi --query-gpu=name,uuid,pci.bus_id --format=csv,noheader 2>/dev/null | sed 's/^/smi /'
fi
