#!/bin/sh
# After processes.sh: defines a function that ends what a user has started outside of jobs.

set -e
end_processes() { # name uid; more than one round, because a process may start others meanwhile
  rm -f -- "/var/lib/systemd/linger/$1"
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    found=$(outside_of_jobs "$2"); [ -n "$found" ] || return 0
    printf '%s\n' "$found" | xargs kill -KILL 2>/dev/null || true; sleep 0.2
  done
  printf 'user %s still has processes outside of jobs: %s\n' "$1" "$(printf %s "$found" | tr "\n" " ")" >&2; return 1
}
