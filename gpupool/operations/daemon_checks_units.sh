#!/bin/sh
# After daemon_checks.sh: systemd tries new units and drop-ins.
# shellcheck disable=SC2034,SC2154 # daemon_checks.sh sets etc and dir, and its no reads said

lay "$@"; units=
for path in "$@"; do
  unit=${path#"$etc"/}; unit=${unit%%.d/*}; unit=${unit##*/}
  case $unit in *-.*) unit=${unit%%-.*}-0.${unit##*-.};; *@.*) unit=${unit%%@.*}@0.${unit##*@.};; esac
  units="$units $unit"
done
# programs may come with the same run, and an older systemd may lack a word: what it cannot read is refused
# shellcheck disable=SC2086 # names, with spaces between
said=$(SYSTEMD_UNIT_PATH="$dir:" systemd-analyze verify --man=no $units 2>&1 |
  grep -v 'Unknown key\|Unknown lvalue\|Unknown section')
no "^$dir/[^ ]*:[0-9]*: "
