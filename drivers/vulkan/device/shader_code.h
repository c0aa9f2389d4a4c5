// The shaders, compiled at build time.
// Thread safety: pure functions. Ownership: static storage.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::vulkandriver {

// The work items of a subgroup on a software device.
inline constexpr uint32_t kSoftwareLanes = 8;

// The work items of one group of every shader.
inline constexpr uint32_t kGroupSize = 64;

// A cooperative matrix of sums is `rows` x `columns`; its products have `depth` terms. It belongs
// to one of the `subgroups` of a work group.
struct MatrixSize {
  uint32_t rows = 0;
  uint32_t columns = 0;
  uint32_t depth = 0;
  uint32_t subgroups = 0;

  bool isThere() const { return rows != 0; }
};

// The arithmetic that the shaders of a device may use.
struct ShaderForms {
  uint32_t lanes = kSoftwareLanes;  // work items that compute the same channels of a product
  bool dots = false;                // integer dot products
  bool halves = false;              // float16 arithmetic
  MatrixSize matrices = {};         // of float16, with sums of float32
  MatrixSize byteMatrices = {};     // of signed bytes, with sums of 32 bits
};

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
  PRODUCT_OF_DOTS,    // of bytes, with integer dot products; for GPUs
  PRODUCT_OF_HALVES,  // with float16 arithmetic; for GPUs
  MATRICES,           // products of cooperative matrices of float16; for GPUs
  BYTE_MATRICES,      // the same of bytes
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
