// Convolutions, full connections and products of matrices (shaders/product.comp).
// Thread safety: pure functions. Ownership: none.
#pragma once

#include "kernels/recording.h"
#include "kernels/window_plan.h"

namespace halyard::vulkandriver {

// Adds the dispatches of a sum or a transposed sum. False: the shader does not take the operation,
// and nothing is added.
Result<bool> addProduct(const Site& site, const WindowPlan& plan, Recording& recording);

// Whether addProduct() computes the operation with cooperative matrices.
Result<bool> takesMatrices(const Site& site, const WindowPlan& plan, const Recording& recording);

// The memory of a product.
struct ProductPlaces {
  Place image;
  Place filter;   // packed
  Place addends;  // for all packed channels
  Place result;
};
// Adds a grouped 1 x 1 convolution of float32, without an activation. The image may have more
// channels than the groups take.
void addGroups(const WindowPlan& plan, const ProductPlaces& places, Recording& recording);

// Channels of positions in memory.
struct Rows {
  Place place;
  ElementKind kind;
  size_t positions;
  size_t channels;
};
// The rows of a tensor, or a copy with channels that are a multiple of `run`: 4 or 16.
Place widened(const Rows& rows, const ops::Tensor& tensor, size_t run, Recording& recording);

// The multiplier of the sum of each channel of 8-bit products; `channels` entries, the last of
// which may be behind the filter's, and are 0. BAD_DATA for a filter without its scales.
Result<Place> addMultipliers(const Site& site, size_t channels, Recording& recording);

}  // namespace halyard::vulkandriver
