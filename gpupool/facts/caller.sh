#!/bin/sh
# Prints the client's address of the SSH connection in which this command runs; nothing without an SSH connection.
# sudo removes the variable, so it may be only in the environment of a parent process.

pid=$$
while [ "${pid:-0}" -gt 1 ]; do
  from=$(tr '\0' '\n' 2>/dev/null < "/proc/$pid/environ" | sed -n 's/^SSH_CONNECTION=//p')
  if [ -n "$from" ]; then
    echo "${from%% *}"
    break
  fi
  pid=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status" 2>/dev/null)
done
