// SPDX-License-Identifier: Apache-2.0
//
// Buffers that devices, drivers and processes share, as a C99 header. Library: libandroid.so.
// Thread safety: every function may be called from any thread at any time; what a lock protects is
// told there.
// Ownership: buffers are counted by reference: AHardwareBuffer_acquire and _release.
//
// Layout in memory. A BLOB is `width` bytes. In every other format, a row takes a multiple of 64
// bytes (of 192 for R8G8B8_UNORM). So `stride`, the pixels from one row to the next, is a whole
// number. Pixels lie in a row without gaps, and rows from top to bottom. Layers follow one another,
// each `stride` * `height` pixels. Formats with several planes have the whole first plane, then the
// next. Rows of each are padded to 64 bytes, and chroma dimensions of odd images are rounded up.
// AHardwareBuffer_lockPlanes gives the addresses.
//
// Functions that fail return a negative errno value, and log the reason (HALYARD_LOG).
// AHardwareBuffer_toHardwareBuffer and the functions about parcels are left out: there is neither
// Java nor binder.

#ifndef HALYARD_ANDROID_HARDWARE_BUFFER_H_
#define HALYARD_ANDROID_HARDWARE_BUFFER_H_

#include <android/rect.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// A library built with -fvisibility=hidden exports these too.
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

// Other headers that declare this type may define the macro, as C99 allows a typedef only once.
#ifndef HALYARD_AHARDWAREBUFFER_DECLARED
#define HALYARD_AHARDWAREBUFFER_DECLARED
/** A buffer that devices can share. */
typedef struct AHardwareBuffer AHardwareBuffer;
#endif

/** The contents of a pixel. Letters stand for channels from the lowest bits or bytes on. */
enum AHardwareBuffer_Format {
  /** 4 bytes: red, green, blue, alpha. */
  AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM = 1,
  /** 4 bytes: red, green, blue, and one that means nothing. */
  AHARDWAREBUFFER_FORMAT_R8G8B8X8_UNORM = 2,
  /** 3 bytes: red, green, blue. */
  AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM = 3,
  /** 16 bits: blue in the lowest 5, green in 6, red in the highest 5. */
  AHARDWAREBUFFER_FORMAT_R5G6B5_UNORM = 4,
  /** Four 16-bit floating point numbers. */
  AHARDWAREBUFFER_FORMAT_R16G16B16A16_FLOAT = 0x16,
  /** No image: `width` bytes. height and layers are 1. */
  AHARDWAREBUFFER_FORMAT_BLOB = 0x21,
  /** Three planes: brightness, and two of a quarter of its pixels, blue and red difference. */
  AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420 = 0x23,
  /** 32 bits: red, green, blue with 10 each, alpha in the highest 2. */
  AHARDWAREBUFFER_FORMAT_R10G10B10A2_UNORM = 0x2b,
  /** Depth in 16 bits. */
  AHARDWAREBUFFER_FORMAT_D16_UNORM = 0x30,
  /** Depth in the lower 24 of 32 bits. */
  AHARDWAREBUFFER_FORMAT_D24_UNORM = 0x31,
  /** Depth in the lower 24 of 32 bits, stencil in the highest 8. */
  AHARDWAREBUFFER_FORMAT_D24_UNORM_S8_UINT = 0x32,
  /** Depth as a 32-bit floating point number. */
  AHARDWAREBUFFER_FORMAT_D32_FLOAT = 0x33,
  /** 8 bytes: depth as a 32-bit floating point number, stencil, 3 that mean nothing. */
  AHARDWAREBUFFER_FORMAT_D32_FLOAT_S8_UINT = 0x34,
  /** Stencil in 8 bits. */
  AHARDWAREBUFFER_FORMAT_S8_UINT = 0x35,
  /** Two planes of 16-bit numbers, with the value in the highest 10 bits. The first is brightness.
   * The second has blue and red difference in turn, for every second pixel of every second row. */
  AHARDWAREBUFFER_FORMAT_YCbCr_P010 = 0x36,
  /** One channel of 8 bits. */
  AHARDWAREBUFFER_FORMAT_R8_UNORM = 0x38,
  /** One channel of 16 bits, a whole number. */
  AHARDWAREBUFFER_FORMAT_R16_UINT = 0x39,
  /** Two channels of 16 bits, whole numbers. */
  AHARDWAREBUFFER_FORMAT_R16G16_UINT = 0x3a,
  /** 8 bytes: four channels in the highest 10 bits of 16 each. */
  AHARDWAREBUFFER_FORMAT_R10G10B10A10_UNORM = 0x3b,
  /** As YCbCr_P010, with chroma in every row. */
  AHARDWAREBUFFER_FORMAT_YCbCr_P210 = 0x3c,
};

/** The uses of a buffer; combined by or. */
enum AHardwareBuffer_UsageFlags {
  /** The CPU never locks the buffer for reading. */
  AHARDWAREBUFFER_USAGE_CPU_READ_NEVER = 0UL,
  /** The CPU reads now and then. */
  AHARDWAREBUFFER_USAGE_CPU_READ_RARELY = 2UL,
  /** The CPU reads often. */
  AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN = 3UL,
  /** The bits of the CPU_READ values. */
  AHARDWAREBUFFER_USAGE_CPU_READ_MASK = 0xFUL,
  /** The CPU never locks the buffer for writing. */
  AHARDWAREBUFFER_USAGE_CPU_WRITE_NEVER = 0UL << 4,
  /** The CPU writes now and then. */
  AHARDWAREBUFFER_USAGE_CPU_WRITE_RARELY = 2UL << 4,
  /** The CPU writes often. */
  AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN = 3UL << 4,
  /** The bits of the CPU_WRITE values. */
  AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK = 0xFUL << 4,
  /** A GPU reads it as a texture. */
  AHARDWAREBUFFER_USAGE_GPU_SAMPLED_IMAGE = 1UL << 8,
  /** A GPU draws to it. */
  AHARDWAREBUFFER_USAGE_GPU_FRAMEBUFFER = 1UL << 9,
  /** The same. */
  AHARDWAREBUFFER_USAGE_GPU_COLOR_OUTPUT = AHARDWAREBUFFER_USAGE_GPU_FRAMEBUFFER,
  /** A display shows it. */
  AHARDWAREBUFFER_USAGE_COMPOSER_OVERLAY = 1ULL << 11,
  /** Only trusted hardware may see the contents. Not available here. */
  AHARDWAREBUFFER_USAGE_PROTECTED_CONTENT = 1UL << 14,
  /** A video encoder reads it. */
  AHARDWAREBUFFER_USAGE_VIDEO_ENCODE = 1UL << 16,
  /** A sensor writes to it; format BLOB. */
  AHARDWAREBUFFER_USAGE_SENSOR_DIRECT_DATA = 1UL << 23,
  /** A GPU uses it as a buffer of bytes; format BLOB. */
  AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER = 1UL << 24,
  /** Each 6 layers are the sides of a cube. */
  AHARDWAREBUFFER_USAGE_GPU_CUBE_MAP = 1UL << 25,
  /** With smaller versions of itself down to one pixel. Not available here. */
  AHARDWAREBUFFER_USAGE_GPU_MIPMAP_COMPLETE = 1UL << 26,
  /** Shown while it is drawn to. */
  AHARDWAREBUFFER_USAGE_FRONT_BUFFER = 1ULL << 32,
  /** For makers of devices. */
  AHARDWAREBUFFER_USAGE_VENDOR_0 = 1ULL << 28,
  AHARDWAREBUFFER_USAGE_VENDOR_1 = 1ULL << 29,
  AHARDWAREBUFFER_USAGE_VENDOR_2 = 1ULL << 30,
  AHARDWAREBUFFER_USAGE_VENDOR_3 = 1ULL << 31,
  AHARDWAREBUFFER_USAGE_VENDOR_4 = 1ULL << 48,
  AHARDWAREBUFFER_USAGE_VENDOR_5 = 1ULL << 49,
  AHARDWAREBUFFER_USAGE_VENDOR_6 = 1ULL << 50,
  AHARDWAREBUFFER_USAGE_VENDOR_7 = 1ULL << 51,
  AHARDWAREBUFFER_USAGE_VENDOR_8 = 1ULL << 52,
  AHARDWAREBUFFER_USAGE_VENDOR_9 = 1ULL << 53,
  AHARDWAREBUFFER_USAGE_VENDOR_10 = 1ULL << 54,
  AHARDWAREBUFFER_USAGE_VENDOR_11 = 1ULL << 55,
  AHARDWAREBUFFER_USAGE_VENDOR_12 = 1ULL << 56,
  AHARDWAREBUFFER_USAGE_VENDOR_13 = 1ULL << 57,
  AHARDWAREBUFFER_USAGE_VENDOR_14 = 1ULL << 58,
  AHARDWAREBUFFER_USAGE_VENDOR_15 = 1ULL << 59,
  AHARDWAREBUFFER_USAGE_VENDOR_16 = 1ULL << 60,
  AHARDWAREBUFFER_USAGE_VENDOR_17 = 1ULL << 61,
  AHARDWAREBUFFER_USAGE_VENDOR_18 = 1ULL << 62,
  AHARDWAREBUFFER_USAGE_VENDOR_19 = 1ULL << 63,
};

/** The description of a buffer. */
typedef struct AHardwareBuffer_Desc {
  uint32_t width;  /**< Pixels; bytes of a BLOB. */
  uint32_t height; /**< Pixels. */
  uint32_t layers; /**< Images; 1 unless it is an array. */
  uint32_t format; /**< An AHardwareBuffer_Format. */
  uint64_t usage;  /**< AHardwareBuffer_UsageFlags. */
  uint32_t stride; /**< Pixels from one row to the next. Only told, never asked for. */
  uint32_t rfu0;   /**< 0. */
  uint64_t rfu1;   /**< 0. */
} AHardwareBuffer_Desc;

/** Where a plane of a locked buffer is. */
typedef struct AHardwareBuffer_Plane {
  void* data;           /**< Its first pixel. */
  uint32_t pixelStride; /**< Bytes from a pixel to its right neighbour. */
  uint32_t rowStride;   /**< Bytes from a pixel to the one below. */
} AHardwareBuffer_Plane;

/** The planes of a locked buffer. */
typedef struct AHardwareBuffer_Planes {
  uint32_t planeCount;             /**< 1 to 4. */
  AHardwareBuffer_Plane planes[4]; /**< `planeCount` of them count. */
} AHardwareBuffer_Planes;

/**
 * Makes a buffer, zeroed, with one reference, which the caller has.
 *
 * @param desc stride is not looked at; rfu0 and rfu1 are 0.
 * @return 0; -EINVAL for null pointers, a description that makes no sense, or one that
 *     AHardwareBuffer_isSupported denies; -ENOMEM. *outBuffer is NULL then.
 */
int AHardwareBuffer_allocate(const AHardwareBuffer_Desc* desc, AHardwareBuffer** outBuffer);

/** Adds a reference. NULL does nothing. */
void AHardwareBuffer_acquire(AHardwareBuffer* buffer);

/** Gives up a reference; with the last one the buffer goes, locked or not. NULL does nothing. */
void AHardwareBuffer_release(AHardwareBuffer* buffer);

/** Tells what the buffer is, with its stride. NULLs do nothing. */
void AHardwareBuffer_describe(const AHardwareBuffer* buffer, AHardwareBuffer_Desc* outDesc);

/**
 * Makes the contents accessible to the CPU until AHardwareBuffer_unlock.
 *
 * Any number of readers, or one writer, can hold a lock. No caller waits for another.
 *
 * @param usage CPU_READ and CPU_WRITE values, at least one; the buffer must have been allocated for
 *     that, too.
 * @param fence a descriptor that is waited for (as poll does for reading) before anything else; it
 *     then belongs to the function, which always closes it. -1: no waiting.
 * @param rect the accessed part, within the buffer; NULL for everything. The address is that of the
 *     buffer's first byte nevertheless.
 * @param outVirtualAddress the first layer's first row; of a format with several planes the first
 *     one's.
 * @return 0; -EINVAL; -EBUSY while a lock of another kind is held; -EIO when the fence failed;
 *     -ENOMEM when there is no address space left.
 */
int AHardwareBuffer_lock(AHardwareBuffer* buffer, uint64_t usage, int32_t fence, const ARect* rect,
                         void** outVirtualAddress);

/**
 * As AHardwareBuffer_lock; tells also the bytes from one pixel, and from one row, to the next: -1
 * each for formats with several planes.
 */
int AHardwareBuffer_lockAndGetInfo(AHardwareBuffer* buffer, uint64_t usage, int32_t fence,
                                   const ARect* rect, void** outVirtualAddress,
                                   int32_t* outBytesPerPixel, int32_t* outBytesPerStride);

/** As AHardwareBuffer_lock; tells where every plane is. Not for BLOB: -EINVAL. */
int AHardwareBuffer_lockPlanes(AHardwareBuffer* buffer, uint64_t usage, int32_t fence,
                               const ARect* rect, AHardwareBuffer_Planes* outPlanes);

/**
 * Ends one lock. Devices and other processes can see all written data then.
 *
 * @param fence receives -1: everything is done. NULL is allowed.
 * @return 0; -EINVAL if the buffer is not locked.
 */
int AHardwareBuffer_unlock(AHardwareBuffer* buffer, int32_t* fence);

/**
 * Sends the buffer through a connected Unix domain socket. The receiver has a reference of its own.
 *
 * @return 0; -EINVAL; or the negative errno of sendmsg (-EAGAIN if the socket does not block).
 */
int AHardwareBuffer_sendHandleToUnixSocket(const AHardwareBuffer* buffer, int socketFd);

/**
 * Receives a buffer that AHardwareBuffer_sendHandleToUnixSocket has sent. Nothing of what arrives
 * is believed: a description that does not fit its memory, and memory that its sender could take
 * away again, are refused.
 *
 * @param outBuffer a buffer with one reference, which the caller has; NULL on failure.
 * @return 0; -EINVAL for an invalid buffer; -ENODATA when the peer has closed its end; or the
 *     negative errno of recvmsg (-EAGAIN if the socket does not block).
 */
int AHardwareBuffer_recvHandleFromUnixSocket(int socketFd, AHardwareBuffer** outBuffer);

/** 1 if AHardwareBuffer_allocate takes the description, as far as memory allows; else 0. */
int AHardwareBuffer_isSupported(const AHardwareBuffer_Desc* desc);

/**
 * Tells a number that the buffer has in every process, and that no other buffer has that exists at
 * the same time. Returns 0, or -EINVAL for null pointers.
 */
int AHardwareBuffer_getId(const AHardwareBuffer* buffer, uint64_t* outId);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HALYARD_ANDROID_HARDWARE_BUFFER_H_
