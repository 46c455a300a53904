#!/usr/bin/env bash
# `make test` and `make test/quick`: what a change must pass. `make prove` runs the
# long forms.
#
#   tools/test.sh                      everything
#   ONLY="test/servers internal/guard" tools/test.sh   the tests of these packages
#   SINCE=main tools/test.sh           the tests that a change since main can affect
#   tools/test.sh quick                vet and unit tests that need only Go
#
# A test runs once: one that fails fails the run, whatever a second try would do.
# With CI set, a test that misses a program fails and names it. Results of the
# tests are left in .cache/results as go test -json.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/steps.sh
. tools/memory.sh
module=$(go list -m)
results=.cache/results
export JUNCTOR_TEST_NODE="$PWD/.cache/node"
# No version stamp in test builds: it requires a repository that git trusts. Without
# the folder's path in them, packages that one clone has compiled serve another one.
export GOFLAGS="${GOFLAGS:-} -buildvcs=false -trimpath"
# Debug information, which stack traces do not need, is half of the linking time.
link=(-ldflags=-w)
# Libraries that only compute run without the race detector, which would take most of
# the time of these tests: SQLite (C translated to Go, with its own locks), password
# hashes and the reference evaluation of JSON schemas.
race=(-race)
for computing in modernc.org golang.org/x/crypto github.com/santhosh-tekuri; do race+=("-gcflags=$computing/...=-race=false"); done
# By default a process with the race detector sleeps for a second before it exits.
export GORACE="${GORACE:-} atexit_sleep_ms=0"
# Tests often wait, so there are more at a time than cores.
busy=(-p=3 -parallel=4)
# Cases per property test; make prove runs many more.
export RAPID_CHECKS="${RAPID_CHECKS:-30}"
# Cancelling the run ends the children too, so that no server stays behind.
trap 'exit 130' INT TERM
trap 'code=$?; set +e; drop_memory; (exit "$code"); steps_summary' EXIT

# Packages that take long for their size: they wait, or start browsers and Node.
slow=' test/console test/realservers test/limits test/docs test/bank test/oauth '
# list_tested prints each package that has tests, with its folder. The slow ones and those
# with the most test code come first: a long one that starts last would keep one core waiting.
list_tested() {
	local package dir size
	go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' ./... |
		while read -r package dir; do
			size=$(cat "$dir"/*_test.go | wc -c)
			[[ $slow != *" ${package#"$module"/} "* ]] || size=$((size + 1000000))
			echo "$size $package $dir"
		done | sort -rn | cut -d' ' -f2-
}

if [[ ${1:-} == quick ]]; then
	unset CI
	mapfile -t packages < <(list_tested | cut -d' ' -f1 | grep -v "^$module/test/")
	step vet go vet ./...
	# Without -shuffle, so that Go takes the results of unchanged packages from its cache.
	step "unit tests" go test -short -vet=off "${link[@]}" "${busy[@]}" "${packages[@]}"
	exit
fi

use_memory
export CI=true
wanted=all # the packages to test, one a line
if [[ -n ${ONLY:-} ]]; then
	# shellcheck disable=SC2086 # ONLY holds several names
	wanted=$(go list $(printf './%s ' ${ONLY}))
elif [[ -n ${SINCE:-} ]]; then
	mkdir -p bin/test
	(cd tools && go build -o ../bin/test/affected ./affected)
	wanted=$(bin/test/affected "$SINCE")
	[[ -n $wanted ]] || { echo "no test depends on what changed since $SINCE"; exit; }
fi

# Sources with concurrency of their own start goroutines. What only guards its state
# counts if its tests start goroutines: the detector sees nothing in tests that do not.
starting='^[[:space:]]+go [a-zA-Z]|\.Go\(|AfterFunc\('
guarding='sync\.(Mutex|RWMutex|Map|Cond|WaitGroup)|atomic\.'
has_concurrency() { # has_concurrency FOLDER
	local sources tests
	mapfile -t sources < <(find "$1" -maxdepth 1 -name '*.go' ! -name '*_test.go')
	mapfile -t tests < <(find "$1" -maxdepth 1 -name '*_test.go')
	grep -qE "$starting" "${sources[@]}" || { grep -qE "$guarding" "${sources[@]}" && grep -qE "$starting" "${tests[@]}"; }
}

racing=()  # unit tests of packages with concurrency of their own
plain=()   # other unit tests, and those that start whole programs, which are slow under the detector
counted=() # packages among racing that count allocations, which the detector adds to
whole=()   # whole-program tests
while read -r package dir; do
	[[ $wanted == all ]] || grep -qFx "$package" <<<"$wanted" || continue
	case $package in
	*/test/crosstalk) racing+=("$package") ;; # its clients share one process, so it looks for races
	*/test/*) whole+=("$package") ;;
	*/internal/bench | */internal/cli) plain+=("$package") ;;
	*)
		if has_concurrency "$dir"; then
			racing+=("$package")
			if grep -q '^func Test.*Alloc' "$dir"/*_test.go; then counted+=("$package"); fi
		else
			plain+=("$package")
		fi
		;;
	esac
done < <(list_tested)

# One binary for all whole-program tests: each would link its own.
export JUNCTOR_TEST_BINARY="$PWD/bin/test/junctor"
build_all() {
	mkdir -p bin/test
	go build "${link[@]}" -o bin/test/ ./...
}
check_other_systems() {
	(cd tools && go build -o ../bin/test/typecheck ./typecheck)
	bin/test/typecheck darwin windows
}
# Modules of their own are compiled here; only make prove runs the tests of the last three.
check_modules() {
	local folder
	(cd tools && go vet ./... && go test ./...)
	for folder in test/evm test/oracle test/river; do (cd "$folder" && go vet .); done
}
# run_tests NAME FLAGS -- PACKAGES: no package, no step.
run_tests() {
	local name=$1 flags=()
	shift
	while [[ $1 != -- ]]; do flags+=("$1") && shift; done
	shift
	[[ $# -gt 0 ]] || return 0
	step "$name" .cache/bin/gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary=skipped \
		--jsonfile "$results/${name//[^a-z]/-}.json" --packages "$*" -- -count=1 -vet=off -timeout=30m "${link[@]}" "${flags[@]}"
}

rm -rf "$results"
mkdir -p "$results"
step setup tools/install.sh gofumpt gotestsum golangci-lint nfpm node debian
if [[ $wanted == all ]]; then
	step format tools/lint.sh format
	step modules go mod tidy -diff
	step build build_all
	# The tests wait for much of their time. These do not.
	begin lint .cache/bin/golangci-lint run ./...
	begin "other systems" check_other_systems
	begin "other modules" check_modules
	begin console tools/console.sh check
else
	step build build_all
fi
run_tests "unit, race" "${race[@]}" "${busy[@]}" -shuffle=on -- "${racing[@]}"
run_tests "unit" "${busy[@]}" -shuffle=on -- "${plain[@]}"
run_tests allocations -run Alloc -- "${counted[@]}"
run_tests "whole programs" -p=3 -- "${whole[@]}"
finish
printf '\nskipped:\n'
tools/skips.sh "$results"/*.json
