#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The service units: systemd knows every word of them, nothing that they start is missing, and what
# they may do is little. Exit status 77 where there is no systemd to ask.
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
exposure=25		# tenths, of 100; systemd calls what is below 50 "OK"
command -v systemd-analyze >/dev/null || { echo 'skipped: no systemd-analyze here'; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "$*"; exit 1; }

for unit in etc/*.service; do
	program=$(sed -n 's/^ExecStart=\([a-z-]*\).*/\1/p' "$unit")
	[ -x "$build/$program" ] || fail "$unit starts $program, which is not built"
	copy=$dir/${unit#etc/}
	sed "s,^ExecStart=,&$(realpath "$build")/," "$unit" > "$copy"
	said=$(systemd-analyze verify --man=no "$copy" 2>&1) || fail "$unit: $said"
	[ -z "$said" ] || fail "$unit: $said"
	systemd-analyze security --offline=yes --threshold=$exposure "$copy" > "$dir/report" 2>&1 ||
		{ grep -v '^✓' "$dir/report"; fail "$unit may do more than it should"; }
	tail -n 1 "$dir/report"
done
# The daemon says when it is ready and that it lives (sd_notify); the service manager is to listen.
for word in Type=notify NotifyAccess=main WatchdogSec= Restart=on-failure; do
	grep -q "^$word" etc/weftd.service || fail "etc/weftd.service has no $word"
done
