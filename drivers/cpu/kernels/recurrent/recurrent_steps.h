// Code that cells along a sequence share: the products of all steps' inputs at once, and the walk
// from step to step.
// Thread safety: pure functions.
// Ownership: borrows everything.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "kernels/matrix/packed_floats.h"
#include "kernels/vectors/float_functions.h"
#include "ops/recurrent_activation.h"
#include "ops/sequence.h"

namespace halyard::cpudriver {

// Rows of floats, `stride` elements apart.
struct FloatRows {
  const float* first;
  size_t stride;
  size_t count;
};

// out = clamp(rows * matrix + bias + addend), spread over the threads where this is worth it. Rows
// of `out` and of `addend`, which may be null or `out`, are `outStride` elements apart.
void multiplyRows(const PackedFloats& matrix, const FloatRows& rows, const float* addend,
                  const ops::ClampRange<float>& range, float* out, size_t outStride,
                  ops::KernelServices& services);
// Without a clamp.
void multiplyRows(const PackedFloats& matrix, const FloatRows& rows, const float* addend,
                  float* out, size_t outStride, ops::KernelServices& services);

// One sequence that enters a cell, in the order of `SequenceOrder`.
struct StepInput {
  const float* values;
  const PackedFloats* matrix;
};

// The sums of all inputs for one step: a row for each sequence of the batch, `stride` elements
// apart. They may be overwritten.
struct StepSums {
  float* first;
  size_t stride;
};

// sums += state * matrix. A matrix that is larger than the second-level cache would leave it before
// the next step needs it again. So every other step goes through the matrix from its end, and finds
// the columns there that the step before has left in the cache.
void addState(const PackedFloats& matrix, const FloatRows& state, size_t step, const StepSums& sums,
              ops::KernelServices& services);

// Calls f(step, sums) for each step in order. There is at least one input, and all matrices have
// the same columns.
void forEachStep(const ops::SequenceOrder& order, std::span<const StepInput> inputs,
                 ops::KernelServices& services,
                 const std::function<void(size_t step, const StepSums& sums)>& f);

// Whether the sums of all steps, which some orders need at once, take a reasonable amount of
// memory.
bool fitsSums(const ops::SequenceOrder& order, size_t columns);

// to[i] = activation(from[i]); both may be the same.
void applyActivation(const FloatFunctions& functions, ops::RecurrentActivation activation,
                     const float* from, float* to, size_t count);

// A copy of `count` values in scratch memory.
float* scratchCopy(const float* values, size_t count, ops::KernelServices& services);

}  // namespace halyard::cpudriver
