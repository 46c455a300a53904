#!/usr/bin/env bash
# Lists the tests that a run skipped, with their reasons: `tools/skips.sh FILE...`
# with the output of `go test -json` or of gotestsum --jsonfile. See tools/skips.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
files=()
for file in "$@"; do files+=("$(realpath "$file")"); done
cd "$here" # a module of its own
exec go run ./skips "${files[@]}"
