#!/bin/sh
# Print, as Markdown, how the nodes' files differ from those of a commit ($1). No network is needed.
set -eu
PATH=$PWD/.venv/bin:$PATH
most=50000 # bytes of the difference; a comment on GitHub has at most 65536
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/before"
if git cat-file -e "$1:inventory" 2>/dev/null; then
    git archive "$1" inventory | tar -x -C "$work"
    gpupool render "$work/inventory" --out "$work/before" >"$work/log" || { cat "$work/log" >&2; exit 1; }
fi
gpupool render inventory --out "$work/after" >"$work/log" || { cat "$work/log" >&2; exit 1; }
cd "$work"
git diff --no-index --no-color before after >difference || [ "$?" -eq 1 ]
printf '## Files of nodes\n\n'
if [ -s difference ]; then
    printf '%s files of nodes change.\n\n' "$(grep -c '^diff --git ' difference)"
    printf '<details><summary>Difference</summary>\n\n~~~~~~~~diff\n'
    head -c "$most" difference
    printf '\n~~~~~~~~\n\n</details>\n'
    if [ "$(wc -c <difference)" -gt "$most" ]; then
        printf '\nThe difference is longer than this comment may be: run `sh ci/difference.sh COMMIT` for all of it.\n'
    fi
else
    printf 'No file of a node changes.\n'
fi
