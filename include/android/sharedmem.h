// SPDX-License-Identifier: Apache-2.0
//
// Shared memory by file descriptor, as a C99 header. Library: libandroid.so.
// Thread safety: every function may be called from any thread at any time.
// Ownership: descriptors belong to the caller, who closes them.
//
// Such memory is a memfd that can neither shrink nor grow, so that a receiver of its descriptor may
// map it safely. ASharedMemory_dupFromJava is left out: there is no Java.

#ifndef HALYARD_ANDROID_SHAREDMEM_H_
#define HALYARD_ANDROID_SHAREDMEM_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// A library built with -fvisibility=hidden exports these too.
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/**
 * Makes memory of `size` zeroed bytes, which may be mapped for reading and writing.
 *
 * @param name what /proc shows for it, at most 249 bytes of it; NULL for none.
 * @param size in bytes, exactly as ASharedMemory_getSize gives it back.
 * @return a close-on-exec descriptor; -EINVAL if size is 0; else -1 with errno.
 */
int ASharedMemory_create(const char* name, size_t size);

/**
 * The size in bytes of memory from ASharedMemory_create, of this process or another. 0 if fd is
 * anything else.
 */
size_t ASharedMemory_getSize(int fd);

/**
 * Takes rights away permanently, for every descriptor of the memory in every process. Existing
 * mappings do not change.
 *
 * Writing is the right that can be taken: PROT_READ leaves the memory readable only. Rights cannot
 * be given back. Linux cannot withhold reading from a holder of the descriptor, so `prot` must have
 * PROT_READ; PROT_EXEC is accepted and has no effect.
 *
 * @param prot PROT_READ, or PROT_READ | PROT_WRITE.
 * @return 0; -EINVAL if fd is not of shared memory, or prot has unknown bits; else -1 with errno:
 *     EINVAL if writing has been taken away before, ENOTSUP without PROT_READ.
 */
int ASharedMemory_setProt(int fd, int prot);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HALYARD_ANDROID_SHAREDMEM_H_
