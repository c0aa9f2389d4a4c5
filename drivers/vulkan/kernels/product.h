// Convolutions, full connections and products of matrices (shaders/product.comp).
// Thread safety: pure functions. Ownership: none.
#pragma once

#include "kernels/recording.h"
#include "kernels/window_plan.h"

namespace halyard::vulkandriver {

// Adds the dispatches for a filter [channels][taps][depth]. False: the shader does not take the
// operation, and nothing is added.
Result<bool> addProduct(const Site& site, const WindowPlan& plan, Recording& recording);

// Input 0 is [batch][rows][depth], input 1 is [batch][depth][columns], or [batch][columns][depth].
struct MatrixProduct {
  size_t batch;
  size_t rows;
  size_t columns;
  size_t depth;
  bool isRightTransposed;
};
// As addProduct.
Result<bool> addMatrixProduct(const Site& site, const MatrixProduct& product, Recording& recording);

// The multiplier of the sum of each channel of 8-bit products; `channels` entries, the last of
// which may be behind the filter's, and are 0.
Place addMultipliers(const Site& site, size_t channels, Recording& recording);

}  // namespace halyard::vulkandriver
