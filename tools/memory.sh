# Sourced by tests: gives them a temporary folder in memory, if there is room for it.
#
# Much of what tests compute is the file system's work: PostgreSQL creates hundreds of files
# for each database. In memory that takes a quarter of the time. Who sets TMPDIR keeps it;
# tools/flaky.sh and tools/prove.sh use a real disk.
memory_dir="" # that use_memory made

# use_memory sets TMPDIR to a folder in /dev/shm, if the machine has the room: 4 GB there
# and 8 GB of memory. What the go command builds stays on the disk.
use_memory() {
	local free available limit
	[[ -z ${TMPDIR:-} && $(stat -f -c %T /dev/shm 2>/dev/null) == tmpfs ]] || return 0
	free=$(df -Pk /dev/shm | awk 'NR == 2 {print $4}')
	available=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
	limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || true) # of a container, in bytes
	if [[ $limit =~ ^[0-9]+$ ]] && ((limit >> 10 < available)); then available=$((limit >> 10)); fi
	((free >= 4 << 20 && available >= 8 << 20)) || return 0
	memory_dir=$(mktemp -d /dev/shm/junctor-test.XXXXXX)
	chmod 755 "$memory_dir" # PostgreSQL is another user's
	# Programs may be forbidden there (noexec), and tests build some.
	printf '#!/bin/sh\n' >"$memory_dir/try"
	chmod 755 "$memory_dir/try"
	if ! "$memory_dir/try" 2>/dev/null; then
		drop_memory
		return 0
	fi
	rm "$memory_dir/try"
	export GOTMPDIR=${GOTMPDIR:-/tmp} TMPDIR=$memory_dir
}

# drop_memory removes what use_memory made.
drop_memory() {
	[[ -z $memory_dir ]] || rm -rf --one-file-system "$memory_dir"
	memory_dir=""
}
