// Rounds rows of floats to the steps of a byte.
// Thread safety: values.
// Ownership: none.
#pragma once

#include <cstddef>

namespace halyard::ops {

// The steps of a row's values have numbers from `least` to `greatest`. A row's range counts as at
// least `smallestRange`.
struct RoundingSteps {
  float least = 0;
  float greatest = 0;
  float smallestRange = 0;
};

// The steps of dynamic-range quantisation in TensorFlow Lite. For a row of zeros the range is
// small, with a finite reciprocal.
inline constexpr RoundingSteps kDynamicRangeSteps = {-128, 127, 1e-30f};

// The rounding of one row's values: clamp(floor(x * perUnit + 0.5), least, greatest) * step.
struct RowSteps {
  float perUnit;
  float least;
  float greatest;
  float step;
};

// `low` and `high` are the minimum and the maximum of the row's values and 0. Every result of +, -,
// * and / is rounded to float32.
inline RowSteps stepsOfRow(const RoundingSteps& steps, float low, float high) {
  const float number = steps.greatest - steps.least;
  const float range = high - low > steps.smallestRange ? high - low : steps.smallestRange;
  const float perUnit = number / range;
  // The product must not be fused with the subtraction.
  float lowest = low * perUnit;
  asm("" : "+m"(lowest));
  const float zeroPoint = __builtin_floorf(steps.least + 0.5f - lowest);
  return {perUnit, steps.least - zeroPoint, steps.greatest - zeroPoint, range / number};
}

}  // namespace halyard::ops
