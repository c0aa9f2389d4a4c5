// Functions of float vectors, for each instruction set. Results differ from those of the C library
// by some units in the last place; NaN stays NaN.
// Thread safety: pure functions. Ownership: borrows everything.
#pragma once

#include <cstddef>

#include "kernels/row_rounding.h"
#include "ops/activation.h"
#include "ops/simd.h"

namespace halyard::cpudriver {

struct FloatFunctions {
  // to[i] = f(from[i]); both may be the same.
  void (*sigmoid)(const float* from, float* to, size_t count);
  void (*tanh)(const float* from, float* to, size_t count);
  void (*hardSwish)(const float* from, float* to, size_t count);
  void (*floor)(const float* from, float* to, size_t count);
  void (*clamp)(const float* from, float* to, size_t count, ops::ClampRange<float> range);
  // to[i] = exp(factor * (from[i] - offset)), for arguments not above 0, and their sum.
  float (*exponentials)(const float* from, float* to, size_t count, float factor, float offset);
  // to[i] *= factor
  void (*scale)(float* to, size_t count, float factor);
  // to[i] = a[i] + weight * (b[i] - a[i]), in the form that gives a or b exactly at the ends.
  void (*blend)(const float* a, const float* b, float weight, float* to, size_t count);
  // As RoundingSteps has it, one row.
  void (*roundRow)(const float* from, float* to, size_t count, const RoundingSteps& steps);
  // One step of an LSTM: see lstm.cc. All of the gates are sums that lack the activation.
  void (*lstmCells)(const struct LstmCells& cells);
};

struct LstmCells {
  const float* inputGate;  // null: 1 less the forget gate
  const float* forgetGate;
  const float* cellGate;
  const float* outputGate;
  float* state;     // [count], read and written
  float* hidden;    // [count]
  float stateClip;  // infinite: none
  size_t count;
};

const FloatFunctions& floatFunctions(ops::SimdLevel level);

}  // namespace halyard::cpudriver
