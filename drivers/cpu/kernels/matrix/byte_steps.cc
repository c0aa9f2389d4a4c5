// Some values at a time, in vectors.
#include "kernels/matrix/byte_steps.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/vectors/even_pieces.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kSearchedAtOnce = 16 * 1024;  // values: less is not worth another thread
constexpr int kLeastByte = -128;
constexpr int kGreatestByte = 127;

// The nearest whole number of a value that is at most 2^22: adding 1.5 * 2^23 leaves no bits for a
// fraction. A value between two of them goes to the even one; callers do not rely on this. Unlike
// std::round() it is two additions for several values at once.
HALYARD_ALWAYS_INLINE float nearestWhole(float value) {
  constexpr float kNoFraction = 12582912;
  return (value + kNoFraction) - kNoFraction;
}

// The bits of the greatest absolute value.
HALYARD_ALWAYS_INLINE void findGreatest(const float* values, size_t count, int32_t* greatest) {
  // Without their signs, floats have the order of their bits, and values that are not finite come
  // last.
  int32_t most = 0;
  for (size_t i = 0; i < count; ++i) {
    const int32_t bits = std::bit_cast<int32_t>(values[i]) & std::numeric_limits<int32_t>::max();
    most = bits > most ? bits : most;
  }
  *greatest = most;
}

// The number of values, which are finite, that are no multiples of `step` by factors that fit a
// byte, except for the effect of rounding.
HALYARD_ALWAYS_INLINE void countOthers(const float* values, size_t count, float step,
                                       int32_t* others) {
  constexpr float kSlack = 4e-5f;  // of a step
  int32_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    const float factor = values[i] / step;
    const float whole = nearestWhole(factor);
    const bool isOther =
        (std::abs(factor - whole) > kSlack) | (whole < kLeastByte) | (whole > kGreatestByte);
    found += isOther ? 1 : 0;
  }
  *others = found;
}

bool areMultiples(const float* values, size_t count, float step) {
  constexpr size_t kAtOnce = 1024;
  // Most steps that are tried are wrong, and the first values tell.
  for (size_t i = 0, some = std::min<size_t>(8, count); i < count;) {
    int32_t others = 0;
    ops::runBest<&countOthers>(values + i, some, step, &others);
    if (others > 0) return false;
    i += some;
    some = std::min(kAtOnce, count - i);
  }
  return true;
}

// The factors of `step` that the values are.
HALYARD_ALWAYS_INLINE void findFactors(const float* values, size_t count, float step, int8_t* to) {
  for (size_t i = 0; i < count; ++i) {
    to[i] = static_cast<int8_t>(static_cast<int32_t>(nearestWhole(values[i] / step)));
  }
}

// The step, such as `likely`, that all values are multiples of; 0 where no such step exists.
float byteStepOf(const float* values, size_t count, float likely) {
  int32_t bits = 0;
  ops::runBest<&findGreatest>(values, count, &bits);
  const auto greatest = std::bit_cast<float>(bits);
  if (!std::isfinite(greatest)) return 0;
  if (areMultiples(values, count, likely)) return likely;
  for (int most = -kLeastByte; most > 0; --most) {
    const float step = greatest / static_cast<float>(most);
    if (!std::isnormal(step)) return 0;
    if (areMultiples(values, count, step)) return step;
  }
  return 0;
}

}  // namespace

ByteColumns findBytes(const KernelSite& site, size_t columns, size_t depth,
                      const ColumnAt& columnAt) {
  // Many have one step for all columns. So the first one's is tried for the others. Which threads
  // look at them makes no difference.
  const float first = byteStepOf(columnAt(0), depth, 1);
  if (first == 0) return {};
  std::vector<float> steps(columns);
  site.divide(columns, divideUp(kSearchedAtOnce, depth), [&](size_t begin, size_t end) {
    for (size_t column = begin; column < end; ++column) {
      steps[column] = byteStepOf(columnAt(column), depth, first);
      if (steps[column] == 0) return;
    }
  });
  if (std::ranges::count(steps, 0) > 0) return {};
  ByteColumns found;
  found.steps = std::move(steps);
  found.write = [columnAt, depth, byColumn = found.steps](size_t column, int8_t* factors) {
    ops::runBest<&findFactors>(columnAt(column), depth, byColumn[column], factors);
  };
  return found;
}

ByteColumns storedBytes(const KernelSite& site, const std::vector<size_t>& inputs, size_t depth) {
  std::vector<const int8_t*> bytes;
  std::vector<float> steps;
  size_t columnsOfInput = 0;
  for (const size_t input : inputs) {
    const ops::Tensor* const stored = site.quantisedOf(input);
    if (stored == nullptr) return {};
    columnsOfInput = stored->elementCount() / depth;
    if (stored->channelQuant != nullptr) {
      const std::vector<float>& scales = stored->channelQuant->scales;
      if (scales.size() != columnsOfInput) return {};
      steps.insert(steps.end(), scales.begin(), scales.end());
    } else {
      steps.insert(steps.end(), columnsOfInput, stored->scale);
    }
  }
  if (!std::ranges::all_of(steps, [](float step) { return std::isnormal(step); })) return {};
  for (const size_t input : inputs) bytes.push_back(site.bytesOf(input));
  ByteColumns columns;
  columns.steps = std::move(steps);
  columns.write = [bytes = std::move(bytes), columnsOfInput, depth](size_t column,
                                                                    int8_t* factors) {
    const int8_t* const from = bytes[column / columnsOfInput];
    std::copy_n(from + column % columnsOfInput * depth, depth, factors);
  };
  return columns;
}

}  // namespace halyard::cpudriver
