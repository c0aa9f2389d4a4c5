#!/usr/bin/env bash
# Runs the whole kit against the project's drivers. Both are built with AddressSanitizer and
# UndefinedBehaviorSanitizer, and each driver runs in a process of its own and as a library. A
# second pass uses ThreadSanitizer, in the drivers' own processes. Takes half an hour on two
# processors.
#   validate_sanitized.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
drivers=(reference cpu)

# Checks of growth count memory, so the sanitizer must return freed memory soon.
export ASAN_OPTIONS=allocator_may_return_null=1:quarantine_size_mb=1:thread_local_quarantine_size_kb=64
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS="halt_on_error=1 allocator_may_return_null=1 suppressions=$PWD/tests/tsan.supp"

build() {  # PRESET TARGET...
  cmake --preset "$1" >/dev/null
  cmake --build --preset "$1" --target halyard-kit "${drivers[@]/#/halyard-driver-}" "${@:2}"
}
failed=0
validate() {  # PRESET MANIFEST
  echo "== $1: $2 ($(date +%T))"
  # Everything takes several times as long.
  "build/$1/bin/halyard-kit" validate "build/$1/$2" --timeout 300 || failed=1
}

libraries=("${drivers[@]/#/halyard-driver-}")
build asan "${libraries[@]/%/-library}"
for driver in "${drivers[@]}"; do
  validate asan "share/halyard/drivers.d/$driver.json"
  validate asan "testing/$driver-library.json"
done
build tsan
for driver in "${drivers[@]}"; do
  validate tsan "share/halyard/drivers.d/$driver.json"
done
exit "$failed"
