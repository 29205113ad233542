#!/bin/sh
# Puts the backup $file of slurmctld's state ("": none) into its directory $state, and there the ClusterID $number ("": as
# it is). slurmctld must be stopped. The list of jobs is moved last: without it, the next run begins again.
# shellcheck disable=SC2154 # the caller sets file, state and number

set -eu
umask 077
fail() { echo "$*" >&2; exit 1; }
if [ -n "$file" ]; then
  name=${file##*/}
  (cd "${file%/*}" && sha256sum --status --strict -c "$name.sha256") || fail "$file: its checksum is wrong; nothing was changed"
  new=$state/.gpupool-restored
  rm -rf "$new"; mkdir -p "$new"
  tar -xzf "$file" -C "$new" || fail "$file cannot be read; nothing was changed"
  [ -s "$new/job_state" ] || fail "$file has no list of jobs; nothing was changed"
  chown -R slurm:slurm "$new"
  for path in "$new"/*; do
    [ "${path##*/}" != job_state ] || continue
    rm -rf "${state:?}/${path##*/}"; mv "$path" "$state/"
  done
  sync "$state"
  mv "$new/job_state" "$state/"; rm -rf "$new"
fi
own=$(head -n 1 "$state/clustername" 2>/dev/null || :)
case $own in
  *"|$number" | '') ;;
  *'|'*) [ -z "$number" ] || {
    printf %s "${own%%|*}|$number" > "$state/clustername.gpupool-new"
    chown slurm:slurm "$state/clustername.gpupool-new"; chmod 0644 "$state/clustername.gpupool-new"
    mv "$state/clustername.gpupool-new" "$state/clustername"; } ;;
esac
