// SPDX-License-Identifier: Apache-2.0
//
// Checks the binary interface of hardware_buffer.h, rect.h and sharedmem.h, compiled as C99. It
// checks the value of each enumerator, the layout of each structure and the prototype of each
// function. The literals come from the description of the interface, not from the headers. Never
// change one of them to make this test pass. The test needs no library.

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "android/NeuralNetworks.h"
#include "android/hardware_buffer.h"
#include "android/sharedmem.h"
#include "halyard/hardware_buffer.h"

// ---- Prototypes: a second declaration with other types is a compile error. ----
// NOLINTBEGIN(readability-redundant-declaration)
int AHardwareBuffer_allocate(const AHardwareBuffer_Desc* desc, AHardwareBuffer** outBuffer);
void AHardwareBuffer_acquire(AHardwareBuffer* buffer);
void AHardwareBuffer_release(AHardwareBuffer* buffer);
void AHardwareBuffer_describe(const AHardwareBuffer* buffer, AHardwareBuffer_Desc* outDesc);
int AHardwareBuffer_lock(AHardwareBuffer* buffer, uint64_t usage, int32_t fence, const ARect* rect,
                         void** outVirtualAddress);
int AHardwareBuffer_lockAndGetInfo(AHardwareBuffer* buffer, uint64_t usage, int32_t fence,
                                   const ARect* rect, void** outVirtualAddress,
                                   int32_t* outBytesPerPixel, int32_t* outBytesPerStride);
int AHardwareBuffer_lockPlanes(AHardwareBuffer* buffer, uint64_t usage, int32_t fence,
                               const ARect* rect, AHardwareBuffer_Planes* outPlanes);
int AHardwareBuffer_unlock(AHardwareBuffer* buffer, int32_t* fence);
int AHardwareBuffer_sendHandleToUnixSocket(const AHardwareBuffer* buffer, int socketFd);
int AHardwareBuffer_recvHandleFromUnixSocket(int socketFd, AHardwareBuffer** outBuffer);
int AHardwareBuffer_isSupported(const AHardwareBuffer_Desc* desc);
int AHardwareBuffer_getId(const AHardwareBuffer* buffer, uint64_t* outId);
int ASharedMemory_create(const char* name, size_t size);
size_t ASharedMemory_getSize(int fd);
int ASharedMemory_setProt(int fd, int prot);
const char* halyard_hardwareBufferStorage(const AHardwareBuffer* buffer);
int halyard_hardwareBufferFd(const AHardwareBuffer* buffer);
// NOLINTEND(readability-redundant-declaration)

static int failures = 0;

static void check(const char* what, uint64_t actual, uint64_t expected) {
  if (actual == expected) return;
  fprintf(stderr, "%s is %#llx, expected %#llx\n", what, (unsigned long long)actual,
          (unsigned long long)expected);
  ++failures;
}

#define FORMAT(name, value) check(#name, AHARDWAREBUFFER_FORMAT_##name, value)
#define USAGE(name, value) check(#name, AHARDWAREBUFFER_USAGE_##name, value)
#define SIZE(type, size) check("sizeof " #type, sizeof(type), size)
#define MEMBER(type, name, offset) check(#type "::" #name, offsetof(type, name), offset)

static void checkFormats(void) {
  FORMAT(R8G8B8A8_UNORM, 1);
  FORMAT(R8G8B8X8_UNORM, 2);
  FORMAT(R8G8B8_UNORM, 3);
  FORMAT(R5G6B5_UNORM, 4);
  FORMAT(R16G16B16A16_FLOAT, 22);
  FORMAT(BLOB, 33);
  FORMAT(Y8Cb8Cr8_420, 35);
  FORMAT(R10G10B10A2_UNORM, 43);
  FORMAT(D16_UNORM, 48);
  FORMAT(D24_UNORM, 49);
  FORMAT(D24_UNORM_S8_UINT, 50);
  FORMAT(D32_FLOAT, 51);
  FORMAT(D32_FLOAT_S8_UINT, 52);
  FORMAT(S8_UINT, 53);
  FORMAT(YCbCr_P010, 54);
  FORMAT(R8_UNORM, 56);
  FORMAT(R16_UINT, 57);
  FORMAT(R16G16_UINT, 58);
  FORMAT(R10G10B10A10_UNORM, 59);
  FORMAT(YCbCr_P210, 60);
}

static void checkUsages(void) {
  USAGE(CPU_READ_NEVER, 0);
  USAGE(CPU_READ_RARELY, 2);
  USAGE(CPU_READ_OFTEN, 3);
  USAGE(CPU_READ_MASK, 0xf);
  USAGE(CPU_WRITE_NEVER, 0);
  USAGE(CPU_WRITE_RARELY, 0x20);
  USAGE(CPU_WRITE_OFTEN, 0x30);
  USAGE(CPU_WRITE_MASK, 0xf0);
  USAGE(GPU_SAMPLED_IMAGE, 0x100);
  USAGE(GPU_FRAMEBUFFER, 0x200);
  USAGE(GPU_COLOR_OUTPUT, 0x200);
  USAGE(COMPOSER_OVERLAY, 0x800);
  USAGE(PROTECTED_CONTENT, 0x4000);
  USAGE(VIDEO_ENCODE, 0x10000);
  USAGE(SENSOR_DIRECT_DATA, 0x800000);
  USAGE(GPU_DATA_BUFFER, 0x1000000);
  USAGE(GPU_CUBE_MAP, 0x2000000);
  USAGE(GPU_MIPMAP_COMPLETE, 0x4000000);
  USAGE(FRONT_BUFFER, 0x100000000);
  USAGE(VENDOR_0, 0x10000000);
  USAGE(VENDOR_3, 0x80000000);
  USAGE(VENDOR_4, 0x1000000000000);
  USAGE(VENDOR_12, 0x100000000000000);
  USAGE(VENDOR_19, 0x8000000000000000);
}

static void checkLayouts(void) {
  SIZE(ARect, 16);
  MEMBER(ARect, left, 0);
  MEMBER(ARect, top, 4);
  MEMBER(ARect, right, 8);
  MEMBER(ARect, bottom, 12);
  SIZE(AHardwareBuffer_Desc, 40);
  MEMBER(AHardwareBuffer_Desc, width, 0);
  MEMBER(AHardwareBuffer_Desc, height, 4);
  MEMBER(AHardwareBuffer_Desc, layers, 8);
  MEMBER(AHardwareBuffer_Desc, format, 12);
  MEMBER(AHardwareBuffer_Desc, usage, 16);
  MEMBER(AHardwareBuffer_Desc, stride, 24);
  MEMBER(AHardwareBuffer_Desc, rfu0, 28);
  MEMBER(AHardwareBuffer_Desc, rfu1, 32);
  SIZE(AHardwareBuffer_Plane, 16);
  MEMBER(AHardwareBuffer_Plane, data, 0);
  MEMBER(AHardwareBuffer_Plane, pixelStride, 8);
  MEMBER(AHardwareBuffer_Plane, rowStride, 12);
  SIZE(AHardwareBuffer_Planes, 72);
  MEMBER(AHardwareBuffer_Planes, planeCount, 0);
  MEMBER(AHardwareBuffer_Planes, planes, 8);
}

int main(void) {
  checkFormats();
  checkUsages();
  checkLayouts();
  if (failures == 0) printf("layout_test: passed\n");
  return failures == 0 ? 0 : 1;
}
