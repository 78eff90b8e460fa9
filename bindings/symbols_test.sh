#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# symbols_test.sh NM LIBRARY LIST: the library shows exactly the symbols of the list, one a line, sorted.
set -eu
shown=$("$1" --dynamic --defined-only --format=posix "$2" | sed -e 's/ .*//' -e 's/@.*//' | grep -vE '^WEIR_(CLIENT_)?0$' | LC_ALL=C sort -u)
if printf '%s\n' "$shown" | diff -u "$3" - >&2; then
    echo "$(printf '%s\n' "$shown" | wc -l) symbols"
else
    echo "the symbols of $2 are not those of $3 (above: - missing, + new)" >&2
    exit 1
fi
