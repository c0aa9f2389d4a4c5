#!/usr/bin/env bash
# qemu_aarch64.sh PROGRAM ARGUMENTS...: a program of build/aarch64 on this machine. It cannot start
# further programs of that kind, unless the kernel has been told how (binfmt_misc).
# QEMU_CPU=cortex-a53 in the environment makes it a processor without dot products of bytes.
set -euo pipefail
packages=$(cd "$(dirname "$0")/../.." && pwd)/build/aarch64-packages
exec qemu-aarch64 -L /usr/aarch64-linux-gnu \
  -E "LD_LIBRARY_PATH=$packages/usr/lib/aarch64-linux-gnu:$packages/lib/aarch64-linux-gnu" "$@"
