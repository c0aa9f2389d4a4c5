#!/usr/bin/env bash
# Runs all checks that need no build, in about a minute: format, structure, layers, the English
# of comments and documents, and the project's vectors. The first failure ends it.
#   sources.sh [--fix]    --fix formats the files instead of checking their format
set -euo pipefail
cd "$(dirname "$0")/../.."
case "${1:-}" in
  "") format=(--dry-run --Werror) ;;
  --fix) format=(-i) ;;
  *)
    echo "sources.sh: '$1' is not an option; --fix is" >&2
    exit 2
    ;;
esac

step() { echo "-- $*"; }

step "format"
git ls-files '*.cc' '*.h' '*.c' | xargs -P "$(nproc)" -n 64 clang-format "${format[@]}"
step "structure, and the English of comments and documents"
python3 -m unittest discover -q -s tools/checks -p '*_test.py'
tools/checks/structure.py
tools/checks/layers.py
tools/checks/requirements.py
tools/checks/prose.py
step "the project's vectors are what NumPy computes"
/usr/bin/python3 tests/vectors/generate.py --check
