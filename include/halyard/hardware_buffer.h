// SPDX-License-Identifier: Apache-2.0
//
// Halyard's own additions to <android/hardware_buffer.h>, as a C99 header. Library: libandroid.so.
// Thread safety: every function may be called from any thread at any time. Ownership: results
// belong to the buffer or to the library.

#ifndef HALYARD_HARDWARE_BUFFER_H_
#define HALYARD_HARDWARE_BUFFER_H_

#include <android/hardware_buffer.h>

#ifdef __cplusplus
extern "C" {
#endif

// A library built with -fvisibility=hidden exports these too.
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/**
 * The source of the buffer's memory, which depends on the machine:
 *
 *   "dma_heap"  a dma-buf of the system heap, /dev/dma_heap/system
 *   "udmabuf"   a dma-buf over a sealed memfd, made by /dev/udmabuf
 *   "memfd"     a sealed memfd, which devices cannot use without a copy
 *   "dma_buf"   a dma-buf received from another process
 *
 * A constant of the library; "" for NULL.
 */
const char* halyard_hardwareBufferStorage(const AHardwareBuffer* buffer);

/**
 * The descriptor of the buffer's memory, which is the buffer's own: duplicate it to keep it. The
 * memory begins at offset 0. -1 for NULL.
 *
 * A process that maps a dma-buf must begin and end each access with DMA_BUF_IOCTL_SYNC.
 */
int halyard_hardwareBufferFd(const AHardwareBuffer* buffer);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HALYARD_HARDWARE_BUFFER_H_
