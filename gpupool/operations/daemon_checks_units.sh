#!/bin/sh
# After daemon_checks.sh: checks new units and drop-ins with systemd.
# shellcheck disable=SC2034,SC2154 # daemon_checks.sh sets etc and dir, and its `no` reads output

lay "$@"; units=
for path in "$@"; do
  unit=${path#"$etc"/}; unit=${unit%%.d/*}; unit=${unit##*/}
  case $unit in *-.*) unit=${unit%%-.*}-0.${unit##*-.};; *@.*) unit=${unit%%@.*}@0.${unit##*@.};; esac
  units="$units $unit"
done
# refuse only lines that systemd cannot parse: the same run may install programs, and an older systemd may lack a key
# shellcheck disable=SC2086 # names, with spaces between
output=$(SYSTEMD_UNIT_PATH="$dir:" systemd-analyze verify --man=no $units 2>&1 |
  grep -v 'Unknown key\|Unknown lvalue\|Unknown section')
no "^$dir/[^ ]*:[0-9]*: "
