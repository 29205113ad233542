#!/bin/sh
# Prints who is in groups of a directory, as sssd knows them now. $1 a program for Python that prints them, $2 what sssd
# calls the directory, $3... groups. A line each, after its kind and a colon: X why nothing can be told (instead of all
# others), S what sssd says of the directory (Online or Offline), M what the program prints.
# Members are asked for anew: what sssd still knows of groups is good for an hour and a half.

program=$1 domain=$2; shift 2
if ! command -v sss_cache >/dev/null; then echo 'X:sssd is not installed yet'; exit 0; fi
if ! systemctl -q is-active sssd; then echo 'X:sssd does not run'; exit 0; fi
# one that was away a moment ago is asked again now
systemctl kill -s USR2 --kill-whom=main sssd 2>/dev/null; sss_cache -G 2>/dev/null
found=$(python3 -I -c "$program" "$@" 2>&1) || { echo "X:$(printf '%s' "$found" | tail -n 1)"; exit 0; }
# after the groups: only a question tells sssd that no server answers
printf 'S:%s\n' "$(timeout 20 sssctl domain-status -o -- "$domain" </dev/null 2>&1 | sed -n 's/^Online status: *//p')"
printf 'M:%s\n' "$found"
