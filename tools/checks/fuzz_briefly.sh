#!/usr/bin/env bash
# Runs every fuzzer of a build for a while, from its corpus in the tree; stops at the first crash.
#   fuzz_briefly.sh BUILD_DIR SECONDS
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
seconds=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for fuzzer in "$build"/bin/*_fuzz; do
  name=$(basename "$fuzzer")
  source=$(git ls-files "*/$name.cc" | head -n 1)
  folders=("$work/$name")
  mkdir "$work/$name"
  corpus=$(dirname "$source")/fuzz_corpus
  [ -d "$corpus/$name" ] && corpus=$corpus/$name  # where several fuzzers share a folder
  [ -d "$corpus" ] && folders+=("$corpus")
  "$fuzzer" "${folders[@]}" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 2>&1 | tail -n 12
  echo "fuzz: $name ran $seconds s clean"
done
