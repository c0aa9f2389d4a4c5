#!/usr/bin/env bash
# Checks that docs/operations.md equals the output of the program for the current signatures.
#   tools/checks/operations_page.sh PROGRAM PAGE [--write]
set -euo pipefail
program=$1
page=$2
if [ "${3:-}" = --write ]; then
  "$program" > "$page"
elif ! diff -u "$page" <("$program"); then
  echo "operations_page: $page is out of date; write it with: $0 $program $page --write" >&2
  exit 1
fi
