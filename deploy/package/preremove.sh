#!/bin/sh
# Stops the service where the package goes for good: Debian says remove, rpm that
# none is left. An upgrade is left to postinstall.
set -e
if [ "$1" = remove ] || [ "$1" = 0 ]; then
	if [ -d /run/systemd/system ]; then
		systemctl disable --now junctor.service
	fi
fi
