#!/bin/sh
# Prints the kind of password that the user $1 has in shadow(5): none, first (must be changed at the next login) or own;
# nothing if there is no such user. The hash is not printed.

getent -s files shadow "$1" | while IFS=: read -r _ hash changed _; do
  case $hash in
    '' | '!'* | '*'*) echo none ;;
    *) if [ "$changed" = 0 ]; then echo first; else echo own; fi ;;
  esac
done
