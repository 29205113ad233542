#!/bin/sh
# Prints what sshd would do with gpupool's drop-in beside all other files: for each of its keywords whose value is another
# one, "wanted KEYWORD VALUE" for each line of the drop-in alone, "now KEYWORD VALUE" for each line in force, and
# "file KEYWORD PATH" for each file with the keyword that sshd reads before the drop-in, the first file first.
# Prints nothing where sshd is not installed, or if it refuses the files: its check names the reason.
# $1 the drop-in's path, $2 its text, $3... users for whom it is asked: a `Match` may give each other settings.
# $etc: the folder of sshd_config.
# shellcheck disable=SC2154 # the caller sets etc

PATH=$PATH:/usr/sbin:/sbin
if sshd=$(command -v sshd) && [ -f "$etc/sshd_config" ]; then
  path=$1 text=$2; shift 2
  dir=$(mktemp -d); trap 'rm -rf -- "$dir"' EXIT
  mkdir "$dir/sshd_config.d"
  for file in "$etc"/sshd_config.d/*; do [ ! -f "$file" ] || cp -- "$file" "$dir/sshd_config.d/"; done
  printf '%s' "$text" >"$dir/sshd_config.d/${path##*/}"
  printf '%s' "$text" >"$dir/alone"
  sed -E -e '/^[[:space:]]*Include[[:space:]=]/I{s:'"$etc"'/sshd_config\.d:sshd_config.d:g' \
    -e 's:sshd_config\.d:'"$dir"'/&:g}' "$etc/sshd_config" >"$dir/sshd_config"
  # the folder is missing if sshd is started for each connection, or is stopped
  [ -d /run/sshd ] || mkdir -m 0755 /run/sshd
  keywords=$(sed -nE 's/^[[:space:]]*([A-Za-z]+)[[:space:]=].*/\1/p' "$dir/alone" | tr '[:upper:]' '[:lower:]' | grep -vx match | sort -u)
  for user in "$@"; do
    of="user=$user,host=any,addr=192.0.2.1"
    "$sshd" -T -f "$dir/alone" -C "$of" 2>/dev/null | sort >"$dir/wanted" || continue
    "$sshd" -T -f "$dir/sshd_config" -C "$of" 2>/dev/null | sort >"$dir/now"
    [ -s "$dir/wanted" ] && [ -s "$dir/now" ] || continue
    for keyword in $keywords; do
      grep "^$keyword " "$dir/wanted" >"$dir/w"; grep "^$keyword " "$dir/now" >"$dir/n"
      # some keywords, such as AcceptEnv, add up: other values beside the wanted ones are right
      [ -n "$(comm -23 "$dir/w" "$dir/n")" ] || continue
      sed 's/^/wanted /' "$dir/w"; sed 's/^/now /' "$dir/n"
      for file in "$dir/sshd_config" "$dir"/sshd_config.d/*.conf; do
        [ "${file##*/}" != "${path##*/}" ] || break
        ! grep -qiE "^[[:space:]]*${keyword}[[:space:]=]" "$file" || echo "file $keyword $etc/${file#"$dir/"}"
      done
    done
  done
fi
