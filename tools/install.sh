#!/usr/bin/env bash
# Builds the tools named on the command line into .cache/bin, at the versions
# that tools/go.mod pins (nfpm: tools/deploy/go.mod), fetches Node and its packages into .cache/node for the
# name `node`, and installs Debian's packages of servers and engines that tests
# use for the name `debian`, and those of the A2A test kit for `a2a-kit`. What is there and up to date stays.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
mkdir -p .cache/bin .cache/node

# stamp FILE... is a digest of the files, to see whether an installation is old.
stamp() { cat "$@" | sha256sum | cut -d' ' -f1; }

build() { # build NAME PACKAGE [FOLDER]: of the module in that folder, or of tools
	local want have dir=${3:-tools}
	want=$(stamp "$dir"/go.mod "$dir"/go.sum)-$(go env GOVERSION)
	have=$(cat ".cache/bin/.$1" 2>/dev/null || true)
	[[ -x .cache/bin/$1 && $want == "$have" ]] && return
	echo "building $1"
	(cd "$dir" && go build -o "$root/.cache/bin/$1" "$2")
	echo "$want" >".cache/bin/.$1"
}

apt() { # apt PACKAGE...
	command -v apt-get >/dev/null || { echo "missing: $*; install them with your package manager" >&2; exit 1; }
	echo "installing $*"
	apt-get update -qq
	# In runlevel 1 no package starts what it brings: tests start servers of their own.
	RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

debian() {
	local missing=()
	command -v tesseract >/dev/null || missing+=(tesseract-ocr tesseract-ocr-eng)
	if ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
		# Tests start servers of their own: Debian's need not run.
		mkdir -p /etc/postgresql-common
		[[ -e /etc/postgresql-common/createcluster.conf ]] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
		missing+=(postgresql)
	fi
	command -v redis-server >/dev/null || missing+=(redis-server)
	command -v ip >/dev/null || missing+=(iproute2)
	command -v rpm >/dev/null || missing+=(rpm)
	command -v haproxy >/dev/null || missing+=(haproxy)
	command -v systemd-analyze >/dev/null || missing+=(systemd)
	[[ ${#missing[@]} -eq 0 ]] || apt "${missing[@]}"
	# The headless shell starts faster than the whole browser. If it cannot be installed,
	# the tests use chromium. The subshell keeps apt from ending this script.
	command -v chromium-headless-shell >/dev/null || (apt chromium-headless-shell) ||
		command -v chromium >/dev/null || apt chromium
}

node() {
	local want have
	want=$(stamp test/node/package.json test/node/package-lock.json test/node/.npmrc)
	have=$(cat .cache/node/.stamp 2>/dev/null || true)
	[[ -d .cache/node/node_modules && $want == "$have" ]] && return
	command -v npm >/dev/null || apt nodejs npm
	echo "fetching Node and the npm packages of test/node"
	cp test/node/package.json test/node/package-lock.json test/node/.npmrc .cache/node/
	# Engine warnings are about the npm that installs; the packages run on the
	# Node that is among them.
	(cd .cache/node && npm ci --no-progress --loglevel=error)
	echo "$want" >.cache/node/.stamp
}

kit() { # what the A2A test kit runs on: Debian's own Python has it
	/usr/bin/python3 -c 'import pytest, httpx, jsonschema' 2>/dev/null || apt python3-pytest python3-httpx python3-jsonschema
}

for name in "$@"; do
	case $name in
	gofumpt) build gofumpt mvdan.cc/gofumpt ;;
	gotestsum) build gotestsum gotest.tools/gotestsum ;;
	golangci-lint) build golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint ;;
	nfpm) build nfpm github.com/goreleaser/nfpm/v2/cmd/nfpm tools/deploy ;;
	node) node ;;
	debian) debian ;;
	a2a-kit) kit ;;
	*) echo "install.sh: unknown tool $name" >&2; exit 2 ;;
	esac
done
