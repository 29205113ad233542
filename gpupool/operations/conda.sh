#!/bin/sh
# Defines a function that installs conda; the caller appends the call. It ends with a message at the first failure.

set -eu; umask 022
say() { printf '%s\n' "$1" >&2; exit 1; }
install_conda() { # url sha256 directory; temporary files are in DIRECTORY.gpupool-new, which marks an unfinished one
  url=$1 directory=$3 new=$3.gpupool-new
  mkdir -p /var/lib/gpupool; exec 9>/var/lib/gpupool/conda.lock
  # a run whose connection was lost may still be running
  flock -w 1800 9 || say "$directory: another installation is running"
  [ ! -f "$directory/.gpupool-installed" ] || return 0
  mkdir -p -- "${directory%/*}/"
  if [ -d "$new" ]; then rm -rf -- "$directory" "$new"; fi
  if [ -e "$directory" ] || [ -L "$directory" ]; then say "$directory already exists; move it away"; fi
  mkdir -m 0700 -- "$new"; mkdir -- "$new/home" "$new/tmp"
  answer=$(curl -fsSL --retry 3 -o "$new/installer.sh" -- "$url" 2>&1) || say "cannot download $url: ${answer#curl: }"
  sum=$(sha256sum <"$new/installer.sh"); sum=${sum%% *}
  [ "$sum" = "$2" ] || { rm -rf -- "$new"; say "$url: its sha256 is $sum, and $2 in the inventory; nothing was run"; }
  # the installer also writes to HOME and TMPDIR, and must not see the environment of this run
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME="$new/home" \
    TMPDIR="$new/tmp" bash "$new/installer.sh" -b -p "$directory" >"$new/log" 2>&1 </dev/null 9>&- ||
    { tail -n 30 "$new/log" >&2; say "$url failed: $(tail -n 1 "$new/log")"; }
  if ! [ -x "$directory/bin/conda" ] || ! [ -r "$directory/etc/profile.d/conda.sh" ]; then
    say "$url did not create bin/conda and etc/profile.d/conda.sh in $directory"
  fi
  # archives that root unpacks may keep the owners in the archive
  chown -hR 0:0 -- "$directory"; chmod -R go-w -- "$directory"
  sync -f -- "$directory"; printf '%s\n' "$2" >"$directory/.gpupool-installed"; sync -- "$directory/.gpupool-installed"
  rm -rf -- "$new"
}
