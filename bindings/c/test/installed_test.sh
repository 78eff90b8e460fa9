#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# installed_test.sh CMAKE BUILD SOURCE CC: an outside C program is built against the installed library, with nothing
# but a C compiler and pkg-config, from a place that the library was moved to.
set -eu
cmake=$1 build=$2 source=$3 cc=$4
folder=$(mktemp -d -t weir-test-XXXXXX)
trap 'rm -rf "$folder"' EXIT
"$cmake" --install "$build" --component c --prefix "$folder/first" >"$folder/log" || { cat "$folder/log" >&2; exit 1; }
mv "$folder/first" "$folder/moved"

pc=$(dirname "$(find "$folder/moved" -name weir.pc)")
flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs weir)
$cc -std=c99 -Wall -Wextra -Wpedantic -Werror "$source" $flags -o "$folder/sum_one"  # split on purpose: flags

library=$(PKG_CONFIG_PATH=$pc pkg-config --variable=libdir weir)
check() {
    printed=$(LD_LIBRARY_PATH=$library "$folder/sum_one" "$1" 123456789)
    if [ "$printed" != "$2" ]; then echo "$1: '$printed' instead of $2" >&2; exit 1; fi
}
check crc32c e3069283
check md5 25f9e794323b453885f5181f1b624d0b
if LD_LIBRARY_PATH=$library "$folder/sum_one" crc33 x 2>"$folder/printed"; then echo 'an unknown name was taken' >&2; exit 1; fi
grep -q 'no algorithm of this name' "$folder/printed"
if grep -q "$build" "$library"/libweir.so; then echo 'the installed library names the folder it was built in' >&2; exit 1; fi
echo "built and ran against the installed library: $flags"
