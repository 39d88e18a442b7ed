#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The demonstration of `make demo`: a simulated fat tree of 128 hosts, brought up, shown, broken and
# mended. It starts itself again as the program that `weftsim run` runs. Everything lives in a
# folder of its own and ends with it: it can be run twice, also at once.
set -eu

say()
{
	printf '\n$ %s\n' "$*"
	"$@"
}

if [ "${1-}" != inside ]; then
	here=$(cd "$(dirname "$0")/.." && pwd)
	case ${BUILD:-build} in
	/*) build=$BUILD ;;
	*) build=$here/${BUILD:-build} ;;
	esac
	folder=$(mktemp -d /tmp/weft-demo-XXXXXX)
	trap 'rm -rf "$folder"' EXIT
	trap 'exit 130' INT TERM
	cd "$folder"
	PATH=$build:$PATH:/usr/sbin
	export PATH WEFT_SOCKET="$folder/weft.sock"
	echo '$ weftsim run ft3:8 -- sh'
	weftsim run ft3:8 -- sh "$here/tests/demo.sh" inside
	exit
fi

printf 'state: ./weft.db\ncontrol: {socket: ./weft.sock}\nlog: {to: stderr}\n' > weft.yaml
echo '$ weftd -c weft.yaml 2>weftd.log &'
weftd -c weft.yaml 2>weftd.log &
daemon=$!
trap 'kill $daemon 2>/dev/null || true; wait $daemon || true' EXIT
n=0
until [ -S weft.sock ]; do
	n=$((n + 1))
	[ $n -le 200 ] || { cat weftd.log; echo "weftd did not start" >&2; exit 1; }
	sleep 0.05
done
say weft wait --timeout 60
say weft status
say weft path H0_0_0 H7_3_3
say weft check
say weftsim ctl link-down L0_0/5
n=0
until [ "$(weft -o json status | sed -n 's/^ *"links": \([0-9]*\),.*/\1/p')" = 383 ]; do
	n=$((n + 1))
	[ $n -le 600 ] || { cat weftd.log; echo "the lost cable was not noticed" >&2; exit 1; }
	sleep 0.05
done
say weft wait --timeout 60
say weft show events --last 2
say weftsim exec -n H7_3_3 -- ibtracert 128 1
printf '\nThe daemon ends now, the fabric goes with it.\n'
