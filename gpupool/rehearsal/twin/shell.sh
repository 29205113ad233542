#!/bin/bash
# What a twin's shell begins with: a function that runs the script on its standard input. Calls come one by one.
# Behind the script's output comes a line with the mark and how the script ended, and one with the mark behind its
# complaints; both begin a new line of their own.

exec 3>&2 2>/dev/null # what is said there from now on is bash's own, of what it killed
answer() { # mark seconds; a shell of its own: what the script sets, or that it ends, is nothing to the next one
  timeout --signal KILL "$2" bash -s 2>&3 3>&-
  printf '\n%s %s\n' "$1" $?
  printf '\n%s \n' "$1" >&3
}
