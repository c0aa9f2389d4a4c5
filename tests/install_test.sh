#!/usr/bin/env bash
# Installs a build into a fresh folder, moves it, and uses it from there as a stranger would: the
# example through pkg-config alone, a CMake project through find_package, the command line.
#   install_test.sh SOURCE_DIR BINARY_DIR
set -euo pipefail
source=$1
binary=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$binary" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/prefix"  # nothing may remember where it was installed
prefix=$work/prefix
pkgconfig=$(dirname "$(find "$prefix" -name halyard.pc)")
export PKG_CONFIG_PATH=$pkgconfig
libdir=$(dirname "$pkgconfig")

fail() { echo "FAILED: $*" >&2; exit 1; }

# shellcheck disable=SC2046
cc -std=c99 -Wall -Wextra -Werror "$source/examples/two_operations.c" \
  $(pkg-config --cflags --libs halyard) -o "$work/two_operations"
result=$(LD_LIBRARY_PATH=$libdir HALYARD_LOG=quiet "$work/two_operations")
[ "$result" = "1.1 2.2 0 4.4" ] || fail "two_operations printed '$result', expected '1.1 2.2 0 4.4'"

cat >"$work/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(halyard 0.1 REQUIRED)
add_executable(consumer ${EXAMPLE})
target_link_libraries(consumer halyard::neuralnetworks halyard::halyard)
CMAKE
cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DEXAMPLE="$source/examples/two_operations.c" >/dev/null
cmake --build "$work/build" >/dev/null
[ "$("$work/build/consumer")" = "1.1 2.2 0 4.4" ] || fail "the CMake consumer printed something else"

"$prefix/bin/halyard" devices --json >"$work/devices.json"
grep -q '"halyard-reference"' "$work/devices.json" ||
  fail "the installed driver was not found: $(cat "$work/devices.json")"
grep -q "$prefix/share/halyard/drivers.d" "$work/devices.json" ||
  fail "the driver was found outside the prefix: $(cat "$work/devices.json")"
echo "install_test: passed"
