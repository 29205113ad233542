#!/bin/sh
# Print, as Markdown, what apply would change after a commit ($1). That commit's cluster runs as containers here.
# It needs Docker and no access to the nodes. Progress is printed to standard error.
set -eu
PATH=$PWD/.venv/bin:$PATH
work=$(mktemp -d)
site=$work/site/inventory
trap 'gpupool testbed down "$site" >&2 || :; rm -rf "$work"' EXIT
base=$(git rev-parse --verify "$1^{commit}")
head=$(git rev-parse HEAD)
git clone --quiet . "$work/site"
git -C "$work/site" fetch --quiet "$PWD" "$base" "$head"
git -C "$work/site" checkout --quiet --detach "$base"
gpupool testbed up --yes "$site" >&2
gpupool apply --on testbed --yes "$site" >&2
git -C "$work/site" checkout --quiet --detach "$head"
printf '## Plan\n\n'
gpupool plan --on testbed --markdown "$site" || [ "$?" -eq 3 ]
