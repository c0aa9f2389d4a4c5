#!/usr/bin/env bash
# Runs clang-tidy over the project's sources, or over the given ones. It needs a built folder for
# its compile commands and generated headers. A file takes about ten seconds.
#   lint.sh BUILD_DIR [FILE...]
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
shift
if [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(git ls-files 'src/*.cc' 'drivers/*.cc' 'tools/*.cc' ':!*_test.cc' ':!*_fuzz.cc')
fi
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
tools/checks/compile_commands.py "$build" >"$commands/compile_commands.json"
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p "$commands" 2>/dev/null
echo "lint: ${#files[@]} files are clean"
