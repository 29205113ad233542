#!/bin/sh
# Prints the lines of /etc/subuid after "u:", of /etc/subgid after "g:", and uids and gids above 65535 after "t:".

for kind in u g; do
  file=/etc/sub${kind}id
  [ ! -e "$file" ] || sed -n "s/^[^#]/$kind:&/p" "$file"
done
{ getent passwd; getent group; } | awk -F : '$3 > 65535 { print "t:" $3 }'
