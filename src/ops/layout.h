// Converts images between [N,C,H,W], which may be stored, and [N,H,W,C], which kernels use. The
// conversions are transpositions of matrices.
// Thread safety: as OperationContext.
// Ownership: the copies live in the context's scratch memory.
#pragma once

#include "ops/operation.h"

namespace halyard::ops {

// Returns `input` itself, or with `nchw` a copy in channels-last order. The element type has 1, 2
// or 4 bytes; the rank is 4.
Tensor asNhwc(OperationContext& context, const Tensor& input, bool nchw);

// Returns a copy of [batch][rows][columns] as [batch][columns][rows]. The element type has 1, 2 or
// 4 bytes.
void* transposedMatrices(OperationContext& context, const Tensor& input, size_t batch, size_t rows,
                         size_t columns);

// The memory for a kernel's [N,H,W,C] result. It is the output itself or, with `nchw`, scratch
// memory that finish() copies to the output in channels-first order.
class NhwcOutput {
 public:
  NhwcOutput(OperationContext& context, size_t index, bool nchw);
  Tensor& tensor() { return tensor_; }
  void finish();

 private:
  OperationContext& context_;
  size_t index_;
  bool nchw_;
  Tensor tensor_;
};

}  // namespace halyard::ops
