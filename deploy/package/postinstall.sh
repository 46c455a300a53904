#!/bin/sh
# Makes the user, and tells systemd of the unit. A first installation starts
# nothing: the operator looks at the settings first. An upgrade starts the new
# binary where the old one ran.
set -e
# In a folder that is not a running system there is nobody to tell.
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers junctor.conf
elif ! getent passwd junctor >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/junctor --no-create-home --shell /usr/sbin/nologin junctor
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart junctor.service
fi
