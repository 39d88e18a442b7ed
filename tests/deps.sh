#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Install the Debian packages that are missing; say nothing and do nothing when all are there.
set -eu

# Build; tests and comparison; lint and fuzzing.
packages="gcc libc6-dev make pkg-config
	libibumad-dev libibmad-dev libyaml-dev libevent-dev libpcre2-dev
	libjansson-dev libedit-dev libsqlite3-dev libsystemd-dev libssl-dev libcrypt-dev
	libcurl4-openssl-dev libseccomp-dev
	libcmocka-dev g++ ibsim-utils infiniband-diags ibutils opensm libopensm-dev tshark python3
	curl openssl etcd-server etcd-client
	clang libclang-rt-14-dev mandoc"

missing=
for p in $packages; do
	status=$(dpkg-query -W -f '${Status}' "$p" 2>/dev/null) || status=
	[ "$status" = "install ok installed" ] || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

echo "These Debian packages are missing:$missing"
if [ "$(id -u)" != 0 ]; then
	echo "Become root, or: sudo apt-get install$missing" >&2
	exit 1
fi

# The packages opensm and etcd-server bring services. This machine may sit on a live fabric, and a
# second subnet manager there is the last thing that its administrator wants: forbid the start, then
# disable.
policy=/usr/sbin/policy-rc.d
ours=
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' > "$policy"
	chmod 755 "$policy"
	ours=$policy
fi
trap '[ -z "$ours" ] || rm -f "$ours"' EXIT
trap 'exit 130' INT TERM

export DEBIAN_FRONTEND=noninteractive
apt-get -q update
# shellcheck disable=SC2086
apt-get -q -y install --no-install-recommends $missing

case $missing in
*" opensm"*)
	update-rc.d opensm disable >/dev/null 2>&1 || true
	deb-systemd-helper disable opensm.service >/dev/null 2>&1 || true
	;;
esac
case $missing in
*" etcd-server"*)
	update-rc.d etcd disable >/dev/null 2>&1 || true
	deb-systemd-helper disable etcd.service >/dev/null 2>&1 || true
	;;
esac
