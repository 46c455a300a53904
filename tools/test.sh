#!/usr/bin/env bash
# `make test`: everything in its short form, fuzz targets on their seeds (`make
# prove` lets them search on). Nothing is skipped: with CI set, a
# test that misses a program fails and names it.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/steps.sh
export CI=true
export JUNCTOR_TEST_NODE="$PWD/.cache/node"
# No version stamp in test builds: it wants a repository that git trusts.
export GOFLAGS="${GOFLAGS:-} -buildvcs=false"
# Cancelling the run ends the children too, so that no server stays behind.
trap 'exit 130' INT TERM

unit=() # packages whose tests need only Go
plain=() # those of them that start whole programs, which are slow where they race, and race in the tests of their parts
counted=() # those of them that count allocations
whole=() # whole-program tests
alone=() # those of them that want the machine for themselves: they drive a browser, or a suite with short times of its own
while read -r p dir; do
	case $p in
	*/test/crosstalk) ;; # see below
	*/test/conformance) alone+=("$p") ;;
	*/test/*) if grep -qiE 'chromium|StartConsole' "$dir"/*_test.go; then alone+=("$p"); else whole+=("$p"); fi ;;
	*/internal/bench | */internal/cli) plain+=("$p") ;;
	*)
		unit+=("$p")
		if grep -q '^func Test.*Alloc' "$dir"/*_test.go; then counted+=("$p"); fi
		;;
	esac
done < <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' ./...)

# One binary for all whole-program tests: each would link its own.
export JUNCTOR_TEST_BINARY="$PWD/bin/test/junctor"
build_all() {
	mkdir -p bin/test
	go build -o bin/test/ ./...
}
vet_all() {
	go vet ./...
	(cd tools && go vet ./vet && go build -o ../bin/test/vet ./vet)
	bin/test/vet darwin windows
}
# SQLite, which is C made into Go, is not watched for races: it locks by itself,
# and the detector would take most of the time that these tests need.
race=(-race '-gcflags=modernc.org/...=-race=false')
# tests FLAGS -- PACKAGES, which go vet has seen. A test that fails is run once more by itself, unless it
# raced: what then passes is told at the end as shaky, what fails again fails.
tests() {
	local flags=() shaky=.cache/shaky
	while [[ $1 != -- ]]; do flags+=("$1") && shift; done
	shift
	rm -f "$shaky"
	.cache/bin/gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary=skipped \
		--rerun-fails=1 --rerun-fails-max-failures=12 --rerun-fails-run-root-test --rerun-fails-abort-on-data-race \
		--rerun-fails-report "$shaky" --packages "$*" -- -count=1 -vet=off -timeout=40m "${flags[@]}"
	[[ ! -s $shaky ]] || steps_remarks+=("$(cat "$shaky")")
}

step setup tools/install.sh gofumpt gotestsum golangci-lint nfpm node debian
step format tools/lint.sh format
step modules go mod tidy -diff
step build build_all
step "vet, 3 systems" vet_all
step console tools/console.sh check
step "unit, race" tests "${race[@]}" -shuffle=on -- "${unit[@]}"
step "unit, whole programs" tests -shuffle=on -- "${plain[@]}"
step allocations tests -run Alloc -- "${counted[@]}"
step lint .cache/bin/golangci-lint run ./...
step "test/crosstalk, race" tests "${race[@]}" -- ./test/crosstalk
# These mostly wait, so two at a time.
step "test, two at a time" tests -p=2 -- "${whole[@]}"
for p in "${alone[@]}"; do
	step "${p##*/junctor/}" tests -- "$p"
done
