#!/usr/bin/env bash
# Runs every fuzz target for the time given (`tools/fuzz.sh 3s`), or those of one
# package (`tools/fuzz.sh 3s internal/wire`), one after the other, and says how
# many there were. None at all is a failure: then the search below is broken.
#
# Fuzzing compiles a package and all that it imports once more, with
# instrumentation. For packages that link the SQL database that takes minutes,
# so their targets run only in the long form (JUNCTOR_LONG); their seeds run
# with the unit tests in any case.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?how long for each target, as in 3s}
only=${2:-}
count=0
skipped=0
while IFS=: read -r file name; do
	dir=./$(dirname "$file")
	[[ -z $only || $dir == ./$only ]] || continue
	if [[ -z ${JUNCTOR_LONG:-} ]] && go list -deps -test "$dir" | grep -q '^modernc.org/sqlite'; then
		printf '%s %s: seeds only, it links the database\n' "$dir" "$name"
		skipped=$((skipped + 1))
		continue
	fi
	printf '%s %s\n' "$dir" "$name"
	if ! out=$(go test -run='^$' -fuzz="^$name\$" -fuzztime="$time" "$dir" 2>&1); then
		printf '%s\n' "$out"
		exit 1
	fi
	count=$((count + 1))
done < <(grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' internal mcpapps | sed -E 's/func //' | sort)
[[ $count -gt 0 ]] || { echo "no fuzz targets found" >&2; exit 1; }
echo "$count targets for $time each, $skipped as seeds only"
