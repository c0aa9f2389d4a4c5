// The shrinker: the smallest case that still fails.
// Thread safety: none. Ownership: results own their data.
#pragma once

#include <functional>

#include "conformance/vectors.h"

namespace halyard::random_graphs {

struct ShrinkLimits {
  size_t trials = 600;  // calls of `fails`
};

// Makes a failing case smaller, step by step, as long as `fails` says that it still does: one
// operation alone, if one is to blame; otherwise fewer operations, whose inputs are what others had
// computed; then smaller dimensions. All cases that `fails` is asked about are valid, and have the
// results of the reference kernels.
conformance::VectorCase shrink(
    conformance::VectorCase failing,
    const std::function<bool(const conformance::VectorCase& candidate)>& fails,
    const ShrinkLimits& limits = {});

}  // namespace halyard::random_graphs
