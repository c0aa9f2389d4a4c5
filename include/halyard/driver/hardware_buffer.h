// Hardware buffers as drivers and the wire see them: what a buffer is, and where its pixels are.
// Thread safety: plain data and pure functions. Ownership: values.
#pragma once

#include <array>
#include <cstdint>

#include "halyard/driver/export.h"
#include "halyard/driver/status.h"

namespace halyard {

// The format of buffers that are plain memory (AHARDWAREBUFFER_FORMAT_BLOB).
inline constexpr uint32_t kBlobFormat = 0x21;

// As AHardwareBuffer_Desc.
struct HardwareBufferDescription {
  uint32_t width = 0;  // pixels; bytes of a BLOB
  uint32_t height = 0;
  uint32_t layers = 0;
  uint32_t format = 0;  // an AHardwareBuffer_Format
  uint64_t usage = 0;   // AHardwareBuffer_UsageFlags
  uint32_t stride = 0;  // pixels from one row to the next
  bool operator==(const HardwareBufferDescription&) const = default;
};

struct HardwareBufferPlane {
  uint64_t offset = 0;       // bytes from the buffer's begin to the plane's first pixel
  uint32_t pixelStride = 0;  // bytes
  uint32_t rowStride = 0;    // bytes
};

struct HardwareBufferLayout {
  uint32_t stride = 0;  // pixels; what a description must state
  unsigned planeCount = 0;
  std::array<HardwareBufferPlane, 4> planes;  // of the first layer
  uint64_t layerSize = 0;                     // bytes from a layer to the next
  uint64_t size = 0;                          // bytes of everything
};

// The layout of a buffer of the description; the description's own stride is ignored. BAD_DATA
// names the fault: sizes of 0 or beyond 65536 (except a BLOB's width), or more than 4096 layers.
// Also an unknown format, and usages that are unknown, unavailable or contradict the format.
HALYARD_EXPORT Result<HardwareBufferLayout> layoutOf(const HardwareBufferDescription& description);

}  // namespace halyard
