// The shrinker: finds the smallest case that still fails.
// Thread safety: one thread.
// Ownership: results own their data.
#pragma once

#include <functional>

#include "conformance/vectors.h"

namespace halyard::random_graphs {

struct ShrinkLimits {
  size_t trials = 600;  // calls of `fails`
};

// Makes a failing case smaller, step by step, as long as `fails` returns true. First it tries each
// operation alone, then fewer operations, whose inputs are the results of the others. Then it tries
// smaller dimensions. All cases that `fails` gets are valid, and have the results of the reference
// kernels.
conformance::VectorCase shrink(
    conformance::VectorCase failing,
    const std::function<bool(const conformance::VectorCase& candidate)>& fails,
    const ShrinkLimits& limits = {});

}  // namespace halyard::random_graphs
