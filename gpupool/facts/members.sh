#!/bin/sh
# Prints the current members of groups of a directory, from sssd. $1 a Python program that prints them, $2 sssd's name of
# the directory, $3... groups. Each line begins with its kind and a colon: X the reason why there is no answer (instead of
# all others), S sssd's state of the directory (Online or Offline), M the output of the program.
# sssd caches groups for an hour and a half, so its cache is invalidated first.

program=$1 domain=$2; shift 2
if ! command -v sss_cache >/dev/null; then echo 'X:sssd is not installed yet'; exit 0; fi
if ! systemctl -q is-active sssd; then echo 'X:sssd does not run'; exit 0; fi
# SIGUSR2: sssd connects at once to a server that did not answer before
systemctl kill -s USR2 --kill-whom=main sssd 2>/dev/null; sss_cache -G 2>/dev/null
found=$(python3 -I -c "$program" "$@" 2>&1) || { echo "X:$(printf '%s' "$found" | tail -n 1)"; exit 0; }
# after the groups: sssd notices only at a query that no server answers
printf 'S:%s\n' "$(timeout 20 sssctl domain-status -o -- "$domain" </dev/null 2>&1 | sed -n 's/^Online status: *//p')"
printf 'M:%s\n' "$found"
