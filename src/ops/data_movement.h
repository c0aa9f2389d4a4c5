// Code shared by operations that only move elements: copies between regularly spaced positions, and
// checks of shapes.
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
// loops may have any order. Every combination must lie inside both tensors, which have the same
// element size of 1, 2 or 4 bytes. No element may be both read and written.
void copyElements(KernelServices& services, const Tensor& from, size_t fromOffset, const Tensor& to,
                  size_t toOffset, std::vector<CopyLoop> loops);

// A kernel that copies input 0 to output 0 in the same order.
Status copyAll(OperationContext& context);

// Returns the number of elements between neighbours of each dimension.
std::vector<ptrdiff_t> rowMajorStrides(const Shape& shape);

// The positions of an image's dimensions.
struct ImageAxes {
  size_t batch;
  size_t height;
  size_t width;
  size_t channels;
};
inline ImageAxes imageAxes(bool nchw) {
  return nchw ? ImageAxes{0, 2, 3, 1} : ImageAxes{0, 1, 2, 3};
}

// Returns the values of TENSOR_INT32 input i, which must have this shape. Checks the shape first,
// and returns INCOMPLETE when the values are not known yet.
Status readIntsOfShape(const OperationContext& context, size_t i, const Shape& shape,
                       std::string_view name, std::span<const int32_t>* values);

// Sets shape[d] = size; OP_FAILED when that exceeds 32 bits.
Status setDimension(size_t d, uint64_t size, Shape* shape);

// For Signature::check: output 0 must have the quantisation of input 0, and the same rank if both
// are known.
Status checkOutputLikeInput(const OperationView& operation, FeatureLevel& level);
// For Signature::check: borders with a stored value other than 0 need level 3.
Status checkBorderOfZeros(const OperationView& operation, FeatureLevel& level);

// Returns the byte that represents real 0, for every type of the operations with borders.
inline uint8_t zeroByte(const Tensor& tensor) {
  return isQuant8Asymm(tensor.type) ? static_cast<uint8_t>(tensor.zeroPoint) : uint8_t{0};
}

}  // namespace halyard::ops
