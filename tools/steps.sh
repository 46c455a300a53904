# A driver for the steps of a long run; to be sourced. `step NAME COMMAND...`
# runs a command, says how many seconds it took and ends the run at the first
# one that fails; whatever the end, a summary is printed.
step_names=()
step_seconds=()
steps_failed=()
steps_begin=$SECONDS
step_now=""

step() {
	local begin=$SECONDS
	step_now=$1
	shift
	printf '\n== %s\n' "$step_now"
	# KEEP_GOING=1 runs the other steps after one that failed, to see all that is wrong.
	if [[ -n ${KEEP_GOING:-} ]]; then "$@" || steps_failed+=("$step_now"); else "$@"; fi
	step_names+=("$step_now")
	step_seconds+=($((SECONDS - begin)))
	printf -- '-- %s: %ds\n' "$step_now" $((SECONDS - begin))
	step_now=""
}

steps_summary() {
	local code=$? i
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
