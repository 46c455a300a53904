#!/usr/bin/env bash
# Runs every fuzz target for the time given (`tools/fuzz.sh 3s`), one after the
# other, and says how many there were. None at all is a failure: then the search
# below is broken.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?how long for each target, as in 3s}
count=0
while IFS=: read -r file name; do
	count=$((count + 1))
	printf '%s %s\n' "$(dirname "$file")" "$name"
	if ! out=$(go test -run='^$' -fuzz="^$name\$" -fuzztime="$time" "./$(dirname "$file")" 2>&1); then
		printf '%s\n' "$out"
		exit 1
	fi
done < <(grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' internal | sed -E 's/func //' | sort)
[[ $count -gt 0 ]] || { echo "no fuzz targets found" >&2; exit 1; }
echo "$count targets, $time each"
