#!/bin/bash
# The first lines of a twin's shell. They define a function that runs the script on its standard input.
# After the script's output it prints a line with the mark and the exit code, and after the script's errors a line with
# the mark. Both are separate lines.

exec 3>&2 2>/dev/null # bash's own messages about killed processes are discarded
answer() { # mark seconds; in a subshell, so that variables or the end of a script do not affect the next script
  timeout --signal KILL "$2" bash -s 2>&3 3>&-
  printf '\n%s %s\n' "$1" $?
  printf '\n%s \n' "$1" >&3
}
