// Finding the steps of float weights, packing, and the loops over panels and some rows at a time.
#include "kernels/matrix/byte_panels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/matrix/panel_fetch.h"
#include "kernels/vectors/even_pieces.h"
#include "ops/simd.h"
#include "ops/transpose_block.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kPackedAtOnce = 16 * 1024;  // values: less is not worth another thread
constexpr size_t kFetchedPanel = 4 * 1024;   // bytes, of the least that is fetched ahead
constexpr int kLeastByte = -128;
constexpr int kGreatestByte = 127;
// With more products a sum might not fit 32 bits.
constexpr size_t kMostDepth = std::numeric_limits<int32_t>::max() / (255 * 128);

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
float stepOf(const float* values, size_t count, float likely) {
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

std::optional<BytePanels> BytePanels::make(const KernelSite& site, size_t columns) {
  const Quant8Gemm* const gemm = quant8Gemm(site.level);
  if (gemm == nullptr || gemm->factors != Quant8Factors::OPPOSITE) return std::nullopt;
  const size_t depth = site.inputs[1].elementCount() / columns;
  if (depth > kMostDepth) return std::nullopt;
  std::vector<float> steps(columns);
  const auto* const filter = site.inputs[1].as<float>();
  // Many have one step for all columns. So the first one's is tried for the others. Which threads
  // look at them makes no difference.
  const float first = stepOf(filter, depth, 1);
  if (first == 0) return std::nullopt;
  site.divide(columns, divideUp(kPackedAtOnce, depth), [&](size_t begin, size_t end) {
    for (size_t column = begin; column < end; ++column) {
      steps[column] = stepOf(filter + column * depth, depth, first);
      if (steps[column] == 0) return;
    }
  });
  if (std::ranges::count(steps, 0) > 0) return std::nullopt;
  return BytePanels(site, *gemm, steps, columns);
}

BytePanels::BytePanels(const KernelSite& site, const Quant8Gemm& gemm,
                       const std::vector<float>& steps, size_t columns)
    : gemm_(&gemm),
      columns_(columns),
      depth_(site.inputs[1].elementCount() / columns),
      units_(divideUp(depth_, 4)),
      panels_(divideUp(columns, gemm.panelColumns)),
      zeros_(gemm.panelColumns) {
  const size_t width = gemm.panelColumns;
  const size_t rest = columns % width;
  hasHalfPanel_ = rest > 0 && rest <= width / 2;
  const size_t places = panels_ * width;
  const auto* const filter = site.inputs[1].as<float>();
  columnSteps_ = site.pack<float>(places, [&](float* to) { std::ranges::copy(steps, to); });
  packed_ = site.pack<uint8_t>(places * units_ * 4, [&](uint8_t* to) {
    site.divide(panels_, divideUp(kPackedAtOnce, width * depth_), [&](size_t begin, size_t end) {
      for (size_t panel = begin; panel < end; ++panel) packPanel(filter, panel, to);
    });
  });
  columnSums_ = site.pack<float>(places, [&](float* to) {
    for (size_t panel = 0; panel < panels_; ++panel) sumPanel(panel, to);
  });
  site.release(1);
  bias_ = AlignedBuffer<float>(places);
  std::copy_n(site.inputs[2].as<float>(), columns, bias_.data());
}

// `packed` is where all begin; it holds zeros.
void BytePanels::packPanel(const float* filter, size_t panel, uint8_t* packed) const {
  const size_t begin = panel * gemm_->panelColumns;
  const size_t count = std::min(gemm_->panelColumns, columns_ - begin);
  const size_t width = widthOf(panel);
  std::vector<uint32_t> factors(count * units_);  // zeros behind the depth
  for (size_t c = 0; c < count; ++c) {
    ops::runBest<&findFactors>(filter + (begin + c) * depth_, depth_, columnSteps_[begin + c],
                               reinterpret_cast<int8_t*>(factors.data() + c * units_));
  }
  ops::transposeBlock(factors.data(), units_, count, units_,
                      reinterpret_cast<uint32_t*>(packed + begin * units_ * 4), width);
}

void BytePanels::sumPanel(size_t panel, float* to) const {
  const size_t begin = panel * gemm_->panelColumns;
  const size_t width = widthOf(panel);
  const auto* factors = reinterpret_cast<const int8_t*>(packed_.data() + begin * units_ * 4);
  std::vector<int32_t> sums(width);
  for (size_t unit = 0; unit < units_; ++unit, factors += width * 4) {
    for (size_t c = 0; c < width; ++c) {
      for (size_t i = 0; i < 4; ++i) sums[c] += factors[4 * c + i];
    }
  }
  std::ranges::copy(sums, to + begin);
}

void BytePanels::multiply(const ByteRows& rows, const ops::ClampRange<float>& range,
                          size_t panelBegin, size_t panelEnd, float* out) const {
  const size_t width = gemm_->panelColumns;
  Quant8RealTile tile;
  tile.sums = {.left = nullptr,
               .leftStride = rows.stride,
               .packed = nullptr,
               .units = units_,
               .bias = zeros_.data(),
               .multiplier = nullptr,
               .rowTerms = nullptr,
               .result = {},
               .out = nullptr,
               .outStride = 0,
               .columns = 0};
  tile.low = range.min;
  tile.high = range.max;
  tile.outStride = columns_;
  for (size_t panel = panelBegin; panel < panelEnd; ++panel) {
    const size_t column = panel * width;
    tile.sums.packed = packed_.data() + column * units_ * 4;
    tile.columnStep = columnSteps_.data() + column;
    tile.columnSum = columnSums_.data() + column;
    tile.bias = bias_.data() + column;
    tile.columns = std::min(width, columns_ - column);
    const auto& micro = isHalf(panel) ? gemm_->real.half : gemm_->real.whole;
    const size_t most = isHalf(panel) ? gemm_->maxHalfRows : gemm_->maxRows;
    const size_t stepBytes = width * 4;
    const bool fetches = units_ * stepBytes >= kFetchedPanel;
    PanelFetch fetch(fetches ? tile.sums.packed + units_ * stepBytes : nullptr, units_, stepBytes,
                     divideUp(rows.count, most));
    tile.aheadStep = fetch.step();
    forEvenPieces(rows.count, most, [&](size_t begin, size_t count) {
      tile.ahead = fetch.take();
      tile.sums.left = rows.first + begin * rows.stride;
      tile.rowStep = rows.steps + begin;
      tile.rowZero = rows.zeros + begin;
      tile.out = out + begin * columns_ + column;
      tile.addend = rows.addend == nullptr ? nullptr : rows.addend + begin * columns_ + column;
      micro[count](tile);
    });
  }
}

}  // namespace halyard::cpudriver
