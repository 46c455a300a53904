#!/usr/bin/env bash
# Repeats the tests of all packages, several packages at a time, to find tests that
# fail now and then: 20 runs of each package, 200 of those that ever failed.
#
#   tools/flaky.sh                         all packages
#   tools/flaky.sh internal/guard test/a2a these packages
#   RUNS=5 OFTEN=50 JOBS=3 tools/flaky.sh  other numbers
#   tools/flaky.sh add                     count the last make test as a run of its packages
#   tools/flaky.sh table                   the counts so far
#   tools/flaky.sh list                    the same, as lines for docs/reference/proofs.md
#
# It goes round: one run of each package, then the next round, so that each run has
# other tests as its load. Counts add up in .cache/flaky.tsv (package, runs, failed
# runs, failed tests), so you can stop it and it goes on where it was. Without that file
# it goes on from the lines in docs/reference/proofs.md. Remove the line of a package
# after a fix. It fails if any run failed.
set -euo pipefail
cd "$(dirname "$0")/.."
counts=.cache/flaky.tsv
runs=${RUNS:-20}
often=${OFTEN:-200}
jobs=${JOBS:-$(($(nproc) + 1))}
module=$(go list -m)
export CI=true JUNCTOR_TEST_NODE="$PWD/.cache/node" JUNCTOR_TEST_BINARY="$PWD/bin/test/junctor"
export GOFLAGS="${GOFLAGS:-} -buildvcs=false -trimpath"
export RAPID_CHECKS="${RAPID_CHECKS:-30}"
mkdir -p .cache bin/test
if [[ ! -e $counts ]]; then
	sed -nE '/^<!-- flaky -->$/,/^<!-- end -->$/ s/^- `([^`]+)`: ([0-9]+) runs, ([0-9]+) failed(: (.*))?$/\1\t\2\t\3\t\5/p' docs/reference/proofs.md >"$counts"
fi

print_table() {
	sort "$counts" | awk -F'\t' '
		BEGIN {printf "%-28s %6s %6s  %s\n", "package", "runs", "failed", "tests"}
		{printf "%-28s %6d %6d  %s\n", $1, $2, $3, $4; runs += $2; failed += $3}
		END {printf "%-28s %6d %6d\n", "total", runs, failed; exit failed > 0}'
}
print_list() { sort "$counts" | awk -F'\t' '{printf "- `%s`: %d runs, %d failed%s\n", $1, $2, $3, ($4 == "") ? "" : ": " $4}'; }
case ${1:-} in
table)
	print_table
	exit
	;;
list)
	print_list
	exit
	;;
esac

binaries=$(mktemp -d)
trap 'rm -rf "$binaries"' EXIT
trap 'exit 130' INT TERM
export counts binaries

# count PACKAGE FAILED TESTS adds one run to the line of the package.
count() {
	(
		flock 9
		awk -F'\t' -v OFS='\t' -v p="$1" -v failed="$2" -v tests="$3" '
			$1 == p {$2++; $3 += failed; if (tests != "" && index(" " $4 " ", " " tests " ") == 0) $4 = $4 (($4 == "") ? "" : " ") tests; found = 1}
			{print}
			END {if (!found) print p, 1, failed, tests}' "$counts" >"$counts.new"
		mv "$counts.new" "$counts"
	) 9>"$counts.lock"
}

run_once() { # run_once PACKAGE
	local name=${1//\//-} log
	log=$(mktemp -p "$binaries")
	if (cd "$1" && "$binaries/$name.test" -test.timeout=20m -test.shuffle=on) >"$log" 2>&1; then
		count "$1" 0 ""
	else
		count "$1" 1 "$(sed -nE 's/^ *--- FAIL: ([^ ]+).*/\1/p' "$log" | paste -sd' ')"
		mkdir -p .cache/flaky
		cp "$log" ".cache/flaky/$name.$(date +%s).log"
	fi
	rm "$log"
}
export -f count run_once

# add_results counts what the last make test left. Its step of allocations runs only some
# tests of a package.
add_results() {
	local file package action
	for file in .cache/results/*.json; do
		[[ $file == */allocations.json ]] && continue
		while IFS=$'\t' read -r package action; do
			count "${package#"$module"/}" "$([[ $action == pass ]] && echo 0 || echo 1)" \
				"$(sed -nE 's|.*"Action":"fail","Package":"'"$package"'","Test":"([^"]+)".*|\1|p' "$file" | paste -sd' ')"
		done < <(grep -v '"Test":' "$file" | sed -nE 's|.*"Action":"(pass\|fail)","Package":"([^"]+)".*|\2\t\1|p' | sed "s|^$module\t|.\t|")
	done
}
if [[ ${1:-} == add ]]; then
	add_results
	print_table
	exit
fi

# list_unfinished prints the packages that need more runs.
list_unfinished() {
	printf '%s\n' "${packages[@]}" | awk -F'\t' -v runs="$runs" -v often="$often" '
		FILENAME != "-" {ran[$1] = $2; failed[$1] = $3; next}
		ran[$1] < (failed[$1] ? often : runs)' "$counts" -
}

if [[ $# -gt 0 ]]; then
	packages=("$@")
else
	mapfile -t packages < <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | sed "s|^$module/\?||; s|^\$|.|")
fi
mapfile -t unfinished < <(list_unfinished)
tools/install.sh node debian
if printf '%s\n' "${unfinished[@]}" | grep -q '^test/'; then go build -ldflags=-w -o "$JUNCTOR_TEST_BINARY" ./cmd/junctor; fi
for package in "${unfinished[@]}"; do
	go test -c -vet=off -ldflags=-w -o "$binaries/${package//\//-}.test" "./$package"
done
while mapfile -t unfinished < <(list_unfinished) && [[ ${#unfinished[@]} -gt 0 ]]; do
	echo "$(date +%T) one run of each of ${#unfinished[@]} packages"
	printf '%s\n' "${unfinished[@]}" | shuf | xargs -P "$jobs" -I{} bash -c 'run_once "$1"' _ {}
done
print_table
