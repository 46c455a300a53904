#!/usr/bin/env bash
# Runs tests in odd environments, and prints a table of the results:
#
#	tools/environments.sh                  every environment, with the packages that it could affect
#	tools/environments.sh nohup ipv6       only these
#	PACKAGES="internal/proc test/login"    these packages instead
#	PACKAGES=all                           every package of internal and test: hours
#	RUN=TestHangup                         only tests that match
#	KEEP=FOLDER                            keep the output of the tests there
#	BUILT=FOLDER                           keep the test programs there, and use those that are there
#
# Test programs are built once, outside; only their run is in the environment.
# As root, each environment has its own processes and mounts, and its own
# network where it needs one (namespaces): whatever a test leaves behind ends
# with it, and a process that is left counts as a failure. Without root, the
# environments that need it are reported as not run.
set -euo pipefail
self=$(realpath "$0")
cd "$(dirname "$self")/.."

# NAME|NEEDS|PACKAGES|WHAT. Needs are root, and net for a network of its own.
# Packages are groups of those below: the tests that the environment could affect.
environments='
root|root|processes files network programs|as root
user|root|processes files network programs|as the user nobody, with a home and a temporary folder of its own
nohup||processes programs|started as `nohup … &` from a script: SIGHUP, SIGINT and SIGQUIT are ignored
home|root|files programs|the home folder is empty and read-only
proxy||network programs|HTTP_PROXY, HTTPS_PROXY and ALL_PROXY name a dead address
ptrace|root|processes|without ptrace: no CAP_SYS_PTRACE, and a seccomp filter
container|root|processes files|as root with the capabilities of a container (no SYS_ADMIN, NET_ADMIN, SYS_PTRACE), and that filter
tmpdir|root|files programs|TMPDIR is on another file system (tmpfs)
ipv6|root net|network programs|IPv6 is off (net.ipv6.conf.all.disable_ipv6), only 127.0.0.1
ipv4-kernel|root net|network programs|the kernel has no IPv6: sockets of that kind fail
ports|root net|programs|ports 8717 to 8719 are in use
'

# The packages that start processes and send signals; that look at files, users,
# homes and temporary folders; that listen and dial; and that run whole programs
# which do it all. What other packages do is in memory, or the same in a browser.
group() {
	case $1 in
	processes) echo internal/proc internal/upstream internal/audit internal/builtin/ocr test/faults test/secrets ;;
	files) echo internal/config internal/clients internal/seal internal/audit internal/backup internal/store/sqlite internal/store/postgres ;;
	network) echo internal/egress internal/gateway internal/upstream internal/telemetry test/ssrf ;;
	programs) echo internal/cli test/servers test/login test/rooms ;;
	esac
}

# What Docker lets root in a container do.
container_capabilities=-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap

# field NAME NUMBER is a field of an environment.
field() { awk -F'|' -v name="$1" -v n="$2" '$1 == name {print $n}' <<<"$environments"; }
# packages_of ENVIRONMENT are the packages to run there, in one line.
packages_of() {
	local group
	if [[ -n $PACKAGES ]]; then
		echo "$PACKAGES"
		return
	fi
	for group in $(field "$1" 3); do group "$group"; done | tr ' ' '\n' | awk '!seen[$0]++' | paste -sd' '
}
names() { awk -F'|' '$1 != "" {print $1}' <<<"$environments"; }

# inside ENVIRONMENT runs the tests. As root it is the first process of its
# namespaces.
inside() {
	local name=$1 package file code=0 began prefix=()
	trap 'exit 130' INT TERM
	mkdir "$work/$name" "$work/$name/home"
	export TMPDIR=$work/$name/t HOME=$work/$name/home
	mkdir "$TMPDIR"
	case $name in
	root) ;;
	user)
		prefix=(setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups)
		# Caches of the Go command that this user may write to; modules are only read.
		export GOCACHE=$work/$name/cache GOMODCACHE=$work/$name/modules GOPROXY=off
		mkdir "$GOCACHE" "$GOMODCACHE"
		mount --bind "$gomodcache" "$GOMODCACHE"
		chown nobody: "$work/$name" "$HOME" "$TMPDIR" "$GOCACHE"
		# A checkout in a home folder is out of reach, except through a mount.
		mkdir "$work/$name/tree"
		mount --bind "$PWD" "$work/$name/tree"
		cd "$work/$name/tree"
		export JUNCTOR_TEST_NODE=$work/$name/node
		mkdir "$JUNCTOR_TEST_NODE"
		mount --bind "$node" "$JUNCTOR_TEST_NODE"
		;;
	nohup) trap '' HUP INT QUIT ;;
	home)
		mount --bind "$HOME" "$HOME"
		mount -o remount,bind,ro "$HOME"
		;;
	proxy)
		local dead=http://127.0.0.1:9
		export HTTP_PROXY=$dead HTTPS_PROXY=$dead ALL_PROXY=$dead http_proxy=$dead https_proxy=$dead all_proxy=$dead
		unset NO_PROXY no_proxy
		;;
	ptrace) prefix=("$work/confine" -deny ptrace setpriv --bounding-set=-sys_ptrace) ;;
	container) prefix=("$work/confine" -deny ptrace setpriv --bounding-set="$container_capabilities") ;;
	tmpdir) mount -t tmpfs -o mode=1777 tmpfs "$TMPDIR" ;;
	ipv6)
		sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
		ip link set lo up
		;;
	ipv4-kernel)
		ip link set lo up
		prefix=("$work/confine" -deny inet6)
		;;
	ports)
		ip link set lo up
		prefix=("$work/confine" -listen 8717,8718,8719)
		;;
	esac
	for package in $(packages_of "$name"); do
		file=$(program "$package")
		began=$SECONDS
		code=0
		(
			cd "$package"
			"${prefix[@]}" "$file" -test.v=test2json -test.timeout="${TIMEOUT:-10m}" -test.run="${RUN:-.}" </dev/null
		) >"$work/$name/out" 2>&1 || code=$?
		# Not with test2json as its parent, which ignores SIGINT and SIGQUIT: so would the tests.
		"$work/test2json" -p "$module/$package" <"$work/$name/out" >>"$work/$name.json"
		# A program may fail after its tests, as for a leak.
		if [[ $code -ne 0 ]]; then printf '{"Action":"fail","Package":"%s"}\n' "$module/$package" >>"$work/$name.json"; fi
		survivors "$work/$name/left"
		if [[ -s $work/$name/left ]]; then
			printf '%s leaves processes behind:\n' "$package" >&2
			cat "$work/$name/left" >&2
			awk -v package="$module/$package" '{n = split($2, path, "/"); gsub(/[^A-Za-z0-9._-]/, "", path[n])
				printf "{\"Action\":\"fail\",\"Package\":\"%s\",\"Test\":\"(leaves the process %s behind)\"}\n", package, path[n]}' "$work/$name/left" >>"$work/$name.json"
		fi
		printf '   %s %s: exit %d, %ds\n' "$name" "$package" "$code" $((SECONDS - began)) >&2
	done
}

# survivors writes the processes of this namespace that are not this script's to a
# file. It is not called in a subshell, which would be such a process.
survivors() {
	: >"$1"
	[[ $EUID -eq 0 ]] || return 0
	# A process that was killed a moment ago may need one to end.
	local i
	for i in 1 2 3 4 5; do
		ps -eo pid=,stat=,args= >"$1.all"
		awk -v self=$$ '$1 != self && $2 !~ /^Z/ && $3 != "ps" {$2 = ""; print}' "$1.all" >"$1"
		[[ -s $1 ]] || return 0
		sleep 0.2
	done
}

program() { printf '%s/bin/%s.test' "$work" "${1//\//-}"; }

# The body is one block, so that it is read as a whole: the file may change during a run.
{
if [[ ${1:-} == --inside ]]; then
	inside "$2"
	exit
fi

wanted=("$@")
if [[ ${#wanted[@]} -eq 0 ]]; then mapfile -t wanted < <(names); fi
for name in "${wanted[@]}"; do
	names | grep -qFx -- "$name" || { printf 'environments.sh: unknown environment %s; there are:\n%s\n' "$name" "$environments" >&2; exit 2; }
done

export PACKAGES="${PACKAGES:-}"
if [[ $PACKAGES == all ]]; then
	PACKAGES=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./internal/... ./test/... | sed "s|^$(go list -m)/||" | paste -sd' ')
fi
packages=$(for name in "${wanted[@]}"; do packages_of "$name"; done | tr ' ' '\n' | awk '!seen[$0]++' | paste -sd' ')

# Another user has to reach it.
work=$(mktemp -d /tmp/env.XXXXXX)
chmod 755 "$work"
child=
# Killing unshare ends the first process of the namespaces, and so all others.
stop() {
	if [[ -n $child ]]; then kill -KILL "$child" 2>/dev/null || true; wait "$child" 2>/dev/null || true; fi
	if [[ -n ${KEEP:-} ]]; then mkdir -p "$KEEP" && cp "$work"/*.json "$KEEP"/ 2>/dev/null || true; fi
	rm -rf --one-file-system "$work"
}
trap 'code=$?; set +e; stop; exit "$code"' EXIT
trap 'exit 130' INT TERM HUP

module=$(go list -m)
node=${JUNCTOR_TEST_NODE:-$PWD/.cache/node}
node=$(realpath -m "$node")
mkdir -p "$node" "$work/bin"
if [[ -n ${BUILT:-} ]]; then
	mkdir -p "$BUILT"
	rmdir "$work/bin"
	ln -s "$(realpath "$BUILT")" "$work/bin" # rm -r leaves what a link leads to
fi
gomodcache=$(go env GOMODCACHE)
# Long forms are parts of their own; here each test runs in its short form.
unset JUNCTOR_LONG JUNCTOR_PROVE
export GOCACHE=$(go env GOCACHE) GOMODCACHE=$gomodcache GOFLAGS="${GOFLAGS:-} -buildvcs=false -trimpath"
export JUNCTOR_TEST_NODE=$node JUNCTOR_TEST_BINARY=$work/bin/junctor
export work module node gomodcache RUN="${RUN:-}" TIMEOUT="${TIMEOUT:-}"

echo "building $(wc -w <<<"$packages") test programs" >&2
[[ -x $JUNCTOR_TEST_BINARY ]] || go build -ldflags=-w -o "$JUNCTOR_TEST_BINARY" ./cmd/junctor
go build -o "$work/test2json" cmd/test2json
(cd tools && go build -o "$work/" ./confine ./skips)
for package in $packages; do
	[[ -x $(program "$package") ]] || go test -c -vet=off -ldflags=-w -o "$(program "$package")" "./$package"
done

failed=0
results=()
for name in "${wanted[@]}"; do
	needs=$(field "$name" 2)
	if [[ $needs == *root* && $EUID -ne 0 ]]; then
		results+=("| $name: $(field "$name" 4) | - | - | - | not run: needs root |")
		continue
	fi
	echo "== $name" >&2
	command=("$self" --inside "$name")
	if [[ $EUID -eq 0 ]]; then
		spaces=(--mount --pid --fork --kill-child --mount-proc)
		if [[ $needs == *net* ]]; then spaces+=(--net); fi
		command=(unshare "${spaces[@]}" "${command[@]}")
	fi
	# A shell has its background commands ignore SIGINT and SIGQUIT, and the process that
	# started this script may have had it ignore others.
	env --default-signal "${command[@]}" &
	child=$!
	code=0
	wait "$child" || code=$?
	child=
	if [[ $code -ne 0 || ! -s $work/$name.json ]]; then
		echo "environments.sh: $name could not be set up, exit $code" >&2
		results+=("| $name: $(field "$name" 4) | - | - | - | could not be set up |")
		failed=1
		continue
	fi
	{ read -r passes failures skips && mapfile -t broken; } < <("$work/skips" -counts "$work/$name.json")
	results+=("| $name: $(field "$name" 4) | $(packages_of "$name" | wc -w) | $passes | $failures | $skips |")
	"$work/skips" "$work/$name.json" | sed -n "s/^  \(.*\)/\1\t$name/p" >>"$work/skipped"
	if [[ $failures -ne 0 ]]; then
		failed=1
		printf '%s\n' "${broken[@]}" | sed "s/^/$name: /" >>"$work/failures"
	fi
	# Mounts went with their namespace; what is left are files.
	rm -rf --one-file-system "${work:?}/$name"
done

printf '| environment | packages | passed | failed | skipped |\n|---|---|---|---|---|\n'
printf '%s\n' "${results[@]}"
if [[ -s $work/failures ]]; then printf '\nFailed:\n\n' && sed 's/^/- /' "$work/failures"; fi
if [[ -s $work/skipped ]]; then
	printf '\nSkipped, with the reason:\n\n'
	# One line for each reason and its tests, with the environments that have it.
	awk -F'\t' '!($1 in seen) {order[++n] = $1} {seen[$1] = seen[$1] (seen[$1] == "" ? "" : ", ") $2}
		END {for (i = 1; i <= n; i++) print "- " order[i] " (" seen[order[i]] ")"}' "$work/skipped"
fi
exit "$failed"
}
