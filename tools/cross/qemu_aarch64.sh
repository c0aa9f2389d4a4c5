#!/usr/bin/env bash
# qemu_aarch64.sh PROGRAM ARGUMENTS...: runs a program of build/aarch64 on this machine. The program
# can start other aarch64 programs only if the kernel is configured for them (binfmt_misc).
# QEMU_CPU=cortex-a53 in the environment selects a processor without dot products of bytes.
set -euo pipefail
packages=$(cd "$(dirname "$0")/../.." && pwd)/build/aarch64-packages
exec qemu-aarch64 -L /usr/aarch64-linux-gnu \
  -E "LD_LIBRARY_PATH=$packages/usr/lib/aarch64-linux-gnu:$packages/lib/aarch64-linux-gnu" "$@"
