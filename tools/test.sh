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
whole=() # whole-program tests
while read -r p; do
	case $p in
	*/test/*) whole+=("$p") ;;
	*) unit+=("$p") ;;
	esac
done < <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...)

vet_all() {
	go vet ./...
	GOOS=darwin go vet ./...
	GOOS=windows go vet ./...
}
# tests FLAGS -- PACKAGES. A test that fails is run once more by itself, unless it
# raced: what then passes is told at the end as shaky, what fails again fails.
tests() {
	local flags=() shaky=.cache/shaky
	while [[ $1 != -- ]]; do flags+=("$1") && shift; done
	shift
	rm -f "$shaky"
	.cache/bin/gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary=skipped \
		--rerun-fails=1 --rerun-fails-max-failures=3 --rerun-fails-run-root-test --rerun-fails-abort-on-data-race \
		--rerun-fails-report "$shaky" --packages "$*" -- -count=1 -timeout=25m "${flags[@]}"
	[[ ! -s $shaky ]] || steps_remarks+=("$(cat "$shaky")")
}

step setup tools/install.sh gofumpt gotestsum golangci-lint node debian
step format tools/lint.sh format
step modules go mod tidy -diff
step build go build ./...
step "vet, 3 systems" vet_all
step console tools/console.sh check
step "unit, race" tests -race -shuffle=on -- "${unit[@]}"
step allocations tests -run Alloc -- "${unit[@]}"
step lint .cache/bin/golangci-lint run ./...
for p in "${whole[@]}"; do
	case $p in
	*/test/crosstalk) step "${p##*/junctor/}, race" tests -race -- "$p" ;;
	*) step "${p##*/junctor/}" tests -- "$p" ;;
	esac
done
