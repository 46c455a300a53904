#!/usr/bin/env bash
# Repeats the tests package by package on a machine that is kept busy, to find those
# that fail now and then: 20 runs of each package, 200 of those that ever failed.
#
#   tools/flaky.sh                         all packages
#   tools/flaky.sh internal/guard test/a2a these packages
#   RUNS=5 OFTEN=50 tools/flaky.sh         other numbers
#   tools/flaky.sh table                   what was counted so far
#
# Counts add up in .cache/flaky.tsv (package, runs, failed runs, failed tests), so it
# can be stopped and goes on where it was. Remove a package's line after a fix. It
# fails if any run failed.
set -euo pipefail
cd "$(dirname "$0")/.."
counts=.cache/flaky.tsv
runs=${RUNS:-20}
often=${OFTEN:-200}
module=$(go list -m)
export CI=true JUNCTOR_TEST_NODE="$PWD/.cache/node" JUNCTOR_TEST_BINARY="$PWD/bin/test/junctor"
export GOFLAGS="${GOFLAGS:-} -buildvcs=false -trimpath"
mkdir -p .cache bin/test
touch "$counts"

print_table() {
	sort "$counts" | awk -F'\t' '
		BEGIN {printf "%-28s %6s %6s  %s\n", "package", "runs", "failed", "tests"}
		{printf "%-28s %6d %6d  %s\n", $1, $2, $3, $4; runs += $2; failed += $3}
		END {printf "%-28s %6d %6d\n", "total", runs, failed; exit failed > 0}'
}
if [[ ${1:-} == table ]]; then
	print_table
	exit
fi

work=$(mktemp -d)
burner=()
finish() {
	local code=$?
	[[ ${#burner[@]} -eq 0 ]] || kill "${burner[@]}" 2>/dev/null || true
	rm -rf "$work"
	exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

tools/install.sh node debian
go build -o "$JUNCTOR_TEST_BINARY" ./cmd/junctor
# Half of the cores always have other work.
for ((i = 0; i < ($(nproc) + 1) / 2; i++)); do
	(while :; do :; done) &
	burner+=($!)
done

counted() { awk -F'\t' -v p="$1" -v n="$2" '$1 == p {print $n; found = 1} END {if (!found) print 0}' "$counts"; }

# count PACKAGE FAILED TESTS adds one run to the package's line.
count() {
	awk -F'\t' -v OFS='\t' -v p="$1" -v failed="$2" -v tests="$3" '
		$1 == p {$2++; $3 += failed; if (tests != "" && index(" " $4 " ", " " tests " ") == 0) $4 = $4 (($4 == "") ? "" : " ") tests; found = 1}
		{print}
		END {if (!found) print p, 1, failed, tests}' "$counts" >"$work/counts"
	mv "$work/counts" "$counts"
}

repeat() { # repeat PACKAGE: until it has as many runs as it needs
	local package=$1 binary need
	binary=$work/${package//\//-}.test
	need=$runs
	[[ $(counted "$package" 3) -eq 0 ]] || need=$often
	[[ $(counted "$package" 2) -lt $need ]] || return 0
	go test -c -vet=off -ldflags=-w -o "$binary" "./$package"
	while [[ $(counted "$package" 2) -lt $need ]]; do
		if (cd "$package" && "$binary" -test.timeout=20m -test.shuffle=on) >"$work/log" 2>&1; then
			count "$package" 0 ""
		else
			count "$package" 1 "$(sed -nE 's/^ *--- FAIL: ([^ ]+).*/\1/p' "$work/log" | paste -sd' ')"
			mkdir -p .cache/flaky
			cp "$work/log" ".cache/flaky/${package//\//-}.$(date +%s).log"
			need=$often
		fi
	done
	rm -f "$binary"
	printf '%-28s %6d runs %6d failed\n' "$package" "$(counted "$package" 2)" "$(counted "$package" 3)"
}

if [[ $# -gt 0 ]]; then
	packages=("$@")
else
	mapfile -t packages < <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | sed "s|^$module/\?||; s|^\$|.|")
fi
for package in "${packages[@]}"; do repeat "$package"; done
print_table
