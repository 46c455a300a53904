#!/usr/bin/env bash
# Makes the deb and the rpm: `tools/package.sh FOLDER [VERSION [ARCH]]`. The
# binary is built for that architecture, or is the one that BINARY names.
set -euo pipefail
cd "$(dirname "$0")/.."
to=${1:?a folder for the packages}
version=${2:-$(git -c safe.directory="$PWD" describe --tags --match 'v*' 2>/dev/null || echo v0.0.0)}
export VERSION=${version#v} ARCH=${3:-$(go env GOARCH)}
mkdir -p "$to"
if [[ -z ${BINARY:-} ]]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	BINARY=$work/junctor
	CGO_ENABLED=0 GOOS=linux GOARCH=$ARCH go build -trimpath -ldflags='-s -w' -o "$BINARY" ./cmd/junctor
fi
export BINARY
tools/install.sh nfpm
for kind in deb rpm; do
	.cache/bin/nfpm package --config deploy/package/nfpm.yaml --packager "$kind" --target "$to"
done
