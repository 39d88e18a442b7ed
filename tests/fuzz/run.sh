#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# usage: run.sh FOLDER TARGET SECONDS    one libFuzzer run, seeded from the target's corpus
# New inputs stay in the build folder. What crashes is left there too: put it into
# tests/fuzz/corpus/X, where `make check` replays it for good.
set -eu
folder=$1 target=$2 seconds=$3
seeds=tests/fuzz/corpus/${target#fuzz_}
mkdir -p "$folder/corpus/$target" "$folder/findings"
[ -d "$seeds" ] || seeds=
echo "== $target: $seconds s"
# shellcheck disable=SC2086
"$folder/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
	-artifact_prefix="$folder/findings/$target-" "$folder/corpus/$target" $seeds \
	> "$folder/$target.log" 2>&1 || {
	tail -40 "$folder/$target.log"
	echo "$target: a finding, see $folder/findings" >&2
	exit 1
}
grep -E 'stat::number_of_executed_units|DONE' "$folder/$target.log"
