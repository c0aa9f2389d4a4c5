// Functions of float vectors, for each instruction set. Results differ from those of the C library
// by some units in the last place; NaN stays NaN.
// Thread safety: pure functions.
// Ownership: borrows everything.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/activation.h"
#include "ops/rounding_steps.h"
#include "ops/simd.h"

namespace halyard::cpudriver {

// The least and the greatest of some values and 0; `high` is infinite where one of them is infinite
// or NaN.
struct FloatRange {
  float low;
  float high;
};

struct RowsOfFloats {
  const float* first;
  size_t stride;  // elements
  size_t count;
  size_t extent;  // elements of a row
};

// Byte b of row r stands for steps[r] * (b - zeros[r]). Where a value of a row is not finite, the
// row's step is NaN.
struct RowBytes {
  uint8_t* first;
  size_t stride;
  float* steps;
  float* zeros;  // whole, 0 to 255
};

// Of each element of a row. `epsilon` is added to the variance.
struct RowNormalizer {
  const float* factors;
  const float* summands;
  float epsilon;
};

struct FloatFunctions {
  // to[i] = f(from[i]); both may be the same.
  void (*sigmoid)(const float* from, float* to, size_t count);
  void (*tanh)(const float* from, float* to, size_t count);
  void (*hardSwish)(const float* from, float* to, size_t count);
  // x times the normal distribution function of x; and its approximation by tanh.
  void (*gelu)(const float* from, float* to, size_t count);
  void (*approximateGelu)(const float* from, float* to, size_t count);
  void (*floor)(const float* from, float* to, size_t count);
  void (*clamp)(const float* from, float* to, size_t count, ops::ClampRange<float> range);
  // to[i] = exp(factor * (from[i] - offset)), for arguments not above 0, and their sum.
  float (*exponentials)(const float* from, float* to, size_t count, float factor, float offset);
  // The largest of at least one value. Values that are NaN may be left out.
  float (*findLargest)(const float* from, size_t count);
  // to[i] *= factor
  void (*scale)(float* to, size_t count, float factor);
  // to[i] = to[i] * factor + summands[i]
  void (*scaleAndAdd)(float* to, const float* summands, size_t count, float factor);
  // to[i] = a[i] + weight * (b[i] - a[i]), in the form that gives a or b exactly at the ends.
  void (*blend)(const float* a, const float* b, float weight, float* to, size_t count);
  // As RoundingSteps has it, one row.
  void (*roundRow)(const float* from, float* to, size_t count, const ops::RoundingSteps& steps);
  // to[i] = (from[i] - mean) / sqrt(variance + epsilon) * factors[i] + summands[i]; one row.
  void (*normalizeRow)(const float* from, float* to, size_t count, const RowNormalizer& normalizer);
  FloatRange (*findRange)(const float* from, size_t count);
  // to[i] = clamp(floor(from[i] * perUnit + 0.5), least, greatest) - least, where that is an
  // integer from 0 to 255; any byte for NaN.
  void (*toBytes)(const float* from, uint8_t* to, size_t count, const ops::RowSteps& steps);
  // The bytes of rows that have a range each, and the numbers that the bytes represent.
  void (*roundRows)(const RowsOfFloats& rows, const ops::RoundingSteps& steps, const RowBytes& to);
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
