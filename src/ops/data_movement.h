// What operations share that only move elements: copies between regularly spaced positions, and
// checks of the shapes around them.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "halyard/driver/status.h"
#include "ops/operation.h"
#include "ops/strided_copy.h"

namespace halyard::ops {

// Copies the elements at all combinations of loop positions, starting at the given offsets. The
// loops may come in any order; every combination has to lie inside both tensors, which have the
// same element size of 1, 2 or 4 bytes, and no element is both read and written.
void copyElements(KernelServices& services, const Tensor& from, size_t fromOffset, const Tensor& to,
                  size_t toOffset, std::vector<CopyLoop> loops);

// Input 0 to output 0 in the same order: a kernel.
Status copyAll(OperationContext& context);

// Elements between neighbours of each dimension.
std::vector<ptrdiff_t> rowMajorStrides(const Shape& shape);

// Where the dimensions of an image stand.
struct ImageAxes {
  size_t batch;
  size_t height;
  size_t width;
  size_t channels;
};
inline ImageAxes imageAxes(bool nchw) {
  return nchw ? ImageAxes{0, 2, 3, 1} : ImageAxes{0, 1, 2, 3};
}

// Values of the TENSOR_INT32 input i, which must have this shape. INCOMPLETE when they are not
// known yet; the shape is checked before.
Status readIntsOfShape(const OperationContext& context, size_t i, const Shape& shape,
                       std::string_view name, std::span<const int32_t>* values);

// shape[d] = size; OP_FAILED when that has more than 32 bits.
Status setDimension(size_t d, uint64_t size, Shape* shape);

// For Signature::check: output 0 is quantised like input 0, and of the same rank where both are
// known.
Status checkOutputLikeInput(const OperationView& operation, FeatureLevel& level);
// For Signature::check: a border of another stored value than 0 came with level 3.
Status checkBorderOfZeros(const OperationView& operation, FeatureLevel& level);

// The one byte of which real 0 consists, in every type that the operations with borders take.
inline uint8_t zeroByte(const Tensor& tensor) {
  return isQuant8Asymm(tensor.type) ? static_cast<uint8_t>(tensor.zeroPoint) : uint8_t{0};
}

}  // namespace halyard::ops
