#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The manual pages have no errors and no warnings in mandoc's eyes.
set -eu
cd "$(dirname "$0")/../.."
for page in docs/*.[1-9]; do
	[ -e "$page" ] || continue
	mandoc -T lint -W warning "$page"
done
echo "manual pages: clean"
