#!/bin/bash
# What a twin's shell begins with: a function that runs the script on its standard input. Calls come one by one.
# It prints the mark, how the script ended, the sizes of its output and of its complaints; then both of them.

exec 2>/dev/null # what is said there from now on is bash's own, of what it killed
answer() { # mark seconds; a shell of its own: what the script sets, or that it ends, is nothing to the next one
  timeout --signal KILL "$2" bash -s >/tmp/.said-out 2>/tmp/.said-err
  # shellcheck disable=SC2046 # two numbers, on one line
  echo "$1" $? $(stat -c %s /tmp/.said-out /tmp/.said-err); cat /tmp/.said-out /tmp/.said-err
}
