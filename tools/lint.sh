#!/usr/bin/env bash
# Formatting, then golangci-lint. `tools/lint.sh format` stops after the first.
set -euo pipefail
cd "$(dirname "$0")/.."

# Files that git knows or could add: nothing from .cache.
mapfile -t files < <(git -c safe.directory="$PWD" ls-files --cached --others --exclude-standard -- '*.go')
bad=$(.cache/bin/gofumpt -l "${files[@]}")
if [[ -n $bad ]]; then
	echo "not formatted; run .cache/bin/gofumpt -w on:" >&2
	echo "$bad" >&2
	exit 1
fi
[[ ${1:-} == format ]] && exit
.cache/bin/golangci-lint run ./...
