// The shaders, compiled at build time.
// Thread safety: pure functions. Ownership: static storage.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::vulkandriver {

// The work items of a subgroup on a software device.
inline constexpr uint32_t kSoftwareLanes = 8;

// A family of functions, one shader each.
enum class Shader : uint8_t {
  BINARY,
  UNARY,
  MOVE,
  LINES,
  WINDOW,
  RESIZE,
  RECURRENT,
  PRODUCT,
  CHANNELS,
  CHOICE,
  LONG_LINES,
  FIXED_LSTM,
  BOXES,
  WINOGRAD,
  ARITHMETIC  // for benchmarks
};

// SPIR-V. `software`: for devices that compute on the processor, with subgroups of kSoftwareLanes.
std::span<const uint32_t> shaderCode(Shader shader, bool software);

}  // namespace halyard::vulkandriver
