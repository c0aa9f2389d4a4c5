#!/usr/bin/env bash
# Installs a build into a fresh folder, moves it, and uses it from there. A user builds the example
# through pkg-config alone, builds a CMake project through find_package, and runs the command line.
# An author of a driver uses the headers alone, the skeleton, and pkg-config.
#   install_test.sh SOURCE_DIR BINARY_DIR
set -euo pipefail
source=$1
binary=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$binary" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/prefix"  # no file may contain the first path
prefix=$work/prefix
pkgconfig=$(dirname "$(find "$prefix" -name halyard.pc)")
export PKG_CONFIG_PATH=$pkgconfig
libdir=$(dirname "$pkgconfig")

fail() { echo "FAILED: $*" >&2; exit 1; }

# Each file belongs to one of Debian's packages. Libraries, units and completions for zsh have other
# folders there.
mapfile -t packaged < <(sed -E 's| .*||; s|^usr/||' "$source"/debian/*.install)
is_packaged() {
  local pattern
  for pattern in "${packaged[@]}"; do
    # shellcheck disable=SC2053
    [[ $1 == $pattern || $1 == $pattern/* ]] && return
  done
  return 1
}
while read -r file; do
  is_packaged "$file" || fail "no file of debian/*.install names $file"
done < <(cd "$prefix" && find bin include libexec share -type f -not -path 'share/man/*' \
  -not -path 'share/zsh/*' -not -name LICENSE)

# shellcheck disable=SC2046
cc -std=c99 -Wall -Wextra -Werror "$source/examples/two_operations.c" \
  $(pkg-config --cflags --libs halyard) -o "$work/two_operations"
result=$(LD_LIBRARY_PATH=$libdir HALYARD_LOG=quiet "$work/two_operations")
[ "$result" = "1.1 2.2 0 4.4" ] || fail "two_operations printed '$result', expected '1.1 2.2 0 4.4'"

cat >"$work/buffer.c" <<'C'
#include <android/hardware_buffer.h>
#include <android/sharedmem.h>
#include <halyard/hardware_buffer.h>
#include <stdio.h>
int main(void) {
  const AHardwareBuffer_Desc desc = {100, 1, 1, AHARDWAREBUFFER_FORMAT_BLOB,
                                     AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN, 0, 0, 0};
  AHardwareBuffer* buffer = NULL;
  if (AHardwareBuffer_allocate(&desc, &buffer) != 0) return 1;
  printf("%d %zu\n", halyard_hardwareBufferStorage(buffer)[0] != 0,
         ASharedMemory_getSize(ASharedMemory_create("test", 5)));
  AHardwareBuffer_release(buffer);
  return 0;
}
C
# shellcheck disable=SC2046
cc -std=c99 -Wall -Wextra -Werror "$work/buffer.c" $(pkg-config --cflags --libs halyard) \
  -o "$work/buffer"
[ "$(LD_LIBRARY_PATH=$libdir "$work/buffer")" = "1 5" ] || fail "hardware buffers do not work"

cat >"$work/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(halyard 0.3 REQUIRED)
add_executable(consumer ${EXAMPLE})
target_link_libraries(consumer halyard::neuralnetworks halyard::halyard)
add_executable(buffer buffer.c)
target_link_libraries(buffer halyard::android)
CMAKE
cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DEXAMPLE="$source/examples/two_operations.c" >/dev/null
cmake --build "$work/build" >/dev/null
[ "$("$work/build/consumer")" = "1.1 2.2 0 4.4" ] || fail "the CMake consumer printed something else"

[ "$("$work/build/buffer")" = "1 5" ] || fail "the CMake consumer has no hardware buffers"

"$prefix/bin/halyard" devices --json >"$work/devices.json"
grep -q '"halyard-reference"' "$work/devices.json" ||
  fail "the installed driver was not found: $(cat "$work/devices.json")"
grep -q "$prefix/share/halyard/drivers.d" "$work/devices.json" ||
  fail "the driver was found outside the prefix: $(cat "$work/devices.json")"

# Manual pages and completion, where the build makes them (cmake/help_pages.cmake).
if [ -d "$binary/help" ]; then
  for file in man/man1/halyard.1 man/man1/halyard-run.1 bash-completion/completions/halyard \
    zsh/site-functions/_halyard fish/vendor_completions.d/halyard.fish; do
    [ -s "$prefix/share/$file" ] || fail "share/$file is not installed"
  done
fi

# Each header for drivers compiles with the installed files alone.
flags=$(pkg-config --cflags halyard-driver)
for header in "$prefix"/include/halyard/driver/*.h; do
  name=halyard/driver/$(basename "$header")
  # shellcheck disable=SC2086
  echo "#include <$name>" | c++ -std=c++20 -Wall -Wextra -Werror $flags -fsyntax-only -x c++ - ||
    fail "<$name> does not compile by itself"
done

# The library exports Halyard's own symbols, and not those of its dependencies.
library=$libdir/libhalyard_driver.so
foreign=$(nm -D --defined-only "$library" | awk '{print $3}' | grep -Ev '^(_ZNK?7halyard|_ZT[VIS]N7halyard|HALYARD_DRIVER)' || true)
[ -z "$foreign" ] || fail "libhalyard_driver.so exports $foreign"
readelf -d "$library" | grep -q 'SONAME.*libhalyard_driver.so.0.3' || fail "the SONAME is another"

# The skeleton, copied out of the installation: through CMake, and by hand.
cp -r "$(dirname "$(find "$prefix" -path '*drivers/null/CMakeLists.txt')")" "$work/null"
cmake -S "$work/null" -B "$work/null/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work/null/build" >/dev/null
HALYARD_ADD_DRIVER_FILES=$work/null/build/acme-null.json "$prefix/bin/halyard" devices >"$work/devices"
grep -q '^acme-null' "$work/devices" || fail "the skeleton does not run: $(cat "$work/devices")"
cmake --install "$work/null/build" --prefix "$work/vendor" >/dev/null
XDG_DATA_HOME=$work/vendor/share "$prefix/bin/halyard" devices >"$work/devices"
grep -q '^acme-null' "$work/devices" ||
  fail "the skeleton does not run where it is installed: $(cat "$work/devices")"
# shellcheck disable=SC2046
c++ -std=c++20 "$work"/null/*.cc $(pkg-config --cflags --libs halyard-driver) -o "$work/by_hand"
status=0
LD_LIBRARY_PATH=$libdir "$work/by_hand" 2>"$work/usage" || status=$?
[ "$status" = 2 ] && grep -q "This is a Halyard driver" "$work/usage" ||
  fail "the skeleton built by hand printed '$(cat "$work/usage")', status $status"

# The driver with a vendor extension, and the application that uses it.
cp -r "$(dirname "$(find "$prefix" -path '*examples/extension_driver/CMakeLists.txt')")" "$work/fused"
cmake -S "$work/fused" -B "$work/fused/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work/fused/build" >/dev/null
ctest --test-dir "$work/fused/build" --output-on-failure >"$work/fused.log" ||
  fail "the example of an extension: $(cat "$work/fused.log")"

# The samples of limited drivers.
HALYARD_ADD_DRIVER_FILES=$prefix/share/halyard/samples/minimal.json \
  "$prefix/bin/halyard" devices >"$work/devices"
grep -q '^sample-minimal' "$work/devices" || fail "no sample-minimal: $(cat "$work/devices")"
echo "install_test: passed"
