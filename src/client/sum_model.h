// The smallest model for checks and tests: out = a + b.
// Thread safety: pure functions. Ownership: the caller owns the model.
#pragma once

#include "client/nnapi.h"

namespace halyard::client {

// Adds the operands 0 a, 1 b, 2 activation (a constant) and 3 out, the operation ADD, and inputs 0
// and 1. All tensors have the same type. The model is not finished. Returns the first failure.
CallResult addSum(ANeuralNetworksModel* model, const Dims& a, const Dims& b, const Dims& out,
                  int32_t type = ANEURALNETWORKS_TENSOR_FLOAT32, float scale = 0);

}  // namespace halyard::client
