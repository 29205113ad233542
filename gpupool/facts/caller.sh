#!/bin/sh
# Prints the address of the client of the SSH connection that this command runs in; nothing outside of one.
# sudo takes the variable away: then it is that of a process above.

pid=$$
while [ "${pid:-0}" -gt 1 ]; do
  from=$(tr '\0' '\n' 2>/dev/null < "/proc/$pid/environ" | sed -n 's/^SSH_CONNECTION=//p')
  if [ -n "$from" ]; then
    echo "${from%% *}"
    break
  fi
  pid=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status" 2>/dev/null)
done
