# A driver for the steps of a long run; to be sourced. `step NAME COMMAND...`
# runs a command, says how many seconds it took and ends the run at the first
# one that fails; whatever the end, a summary is printed.
#
# `begin NAME COMMAND...` runs a command beside the steps that follow, at the lowest
# priority: it gets the time in which they wait. Its output and its result come at the
# end of the step during which it ended. `finish` waits for all that still run.
step_names=()
step_seconds=()
steps_failed=()
steps_begin=$SECONDS
step_now=""
declare -A begun=() # process ids by step name
begun_dir=""

# end_step NAME SECONDS
end_step() {
	step_names+=("$1")
	step_seconds+=("$2")
	printf -- '-- %s: %ds\n' "$1" "$2"
}

step() {
	local since=$SECONDS
	step_now=$1
	shift
	printf '\n== %s\n' "$step_now"
	# KEEP_GOING=1 runs the other steps after one that failed, to see all that is wrong.
	if [[ -n ${KEEP_GOING:-} ]]; then "$@" || steps_failed+=("$step_now"); else "$@"; fi
	end_step "$step_now" $((SECONDS - since))
	step_now=""
	report_ended
}

begin() {
	local name=$1
	shift
	[[ -n $begun_dir ]] || begun_dir=$(mktemp -d)
	# A process group of its own, so that steps_summary can end all its processes.
	set -m
	(
		renice -n 19 "$BASHPID" >/dev/null
		trap - EXIT INT TERM
		SECONDS=0
		set +e
		(set -e && "$@") >"$begun_dir/$name.out" 2>&1
		echo "$SECONDS $?" >"$begun_dir/$name.new"
		mv "$begun_dir/$name.new" "$begun_dir/$name.end"
	) </dev/null &
	begun[$name]=$!
	set +m
}

# report_ended reports the begun steps that have ended.
report_ended() {
	local name seconds code
	for name in "${!begun[@]}"; do
		[[ -e $begun_dir/$name.end ]] || continue
		read -r seconds code <"$begun_dir/$name.end"
		unset "begun[$name]"
		step_now=$name
		printf '\n== %s (beside the steps above)\n' "$name"
		cat "$begun_dir/$name.out"
		end_step "$name" "$seconds"
		if [[ $code -ne 0 && -n ${KEEP_GOING:-} ]]; then
			steps_failed+=("$name")
		elif [[ $code -ne 0 ]]; then
			exit "$code"
		fi
		step_now=""
	done
}

finish() {
	local name
	for name in "${!begun[@]}"; do
		wait "${begun[$name]}" || true
		[[ -e $begun_dir/$name.end ]] || echo "0 1" >"$begun_dir/$name.end" # it was killed
	done
	report_ended
}

steps_summary() {
	local code=$? i name
	for name in "${!begun[@]}"; do kill -- "-${begun[$name]}" 2>/dev/null || true; done
	[[ -z $begun_dir ]] || rm -rf "$begun_dir"
	printf '\n%-22s %8s\n' step seconds
	for i in "${!step_names[@]}"; do
		printf '%-22s %8d\n' "${step_names[$i]}" "${step_seconds[$i]}"
	done
	printf '%-22s %8d\n' total $((SECONDS - steps_begin))
	if [[ ${#steps_failed[@]} -gt 0 ]]; then
		printf 'FAILED: %s\n' "${steps_failed[*]}"
		code=1
	elif [[ $code -ne 0 ]]; then
		printf 'FAILED at: %s\n' "${step_now:-start}"
	else
		printf 'PASSED: %d steps\n' "${#step_names[@]}"
	fi
	exit "$code"
}
trap steps_summary EXIT
