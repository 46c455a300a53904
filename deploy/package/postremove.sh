#!/bin/sh
# The state directory stays, also when the package is purged: it holds the
# journal and the keys without which a database cannot be read.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
