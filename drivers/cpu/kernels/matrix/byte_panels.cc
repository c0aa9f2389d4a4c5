// Finding the steps of float weights, packing, and the loops over panels and some rows at a time.
#include "kernels/matrix/byte_panels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/vectors/even_pieces.h"

namespace halyard::cpudriver {
namespace {

constexpr int kLeastByte = -128;
constexpr int kGreatestByte = 127;
// With more products a sum might not fit 32 bits.
constexpr size_t kMostDepth = std::numeric_limits<int32_t>::max() / (255 * 128);

// The nearest whole number of a value that is at most 2^22: adding 1.5 * 2^23 leaves no bits for a
// fraction. A value between two of them goes to the even one; callers do not rely on this. Unlike
// std::round() it is two additions for several values at once.
float nearestWhole(float value) {
  constexpr float kNoFraction = 12582912;
  return (value + kNoFraction) - kNoFraction;
}

// The greatest absolute value; infinity if one is not finite.
float greatestOf(const float* values, size_t count) {
  // Without their signs, floats have the order of their bits, and values that are not finite come
  // last.
  int32_t greatest = 0;
  for (size_t i = 0; i < count; ++i) {
    const int32_t bits = std::bit_cast<int32_t>(values[i]) & std::numeric_limits<int32_t>::max();
    greatest = bits > greatest ? bits : greatest;
  }
  const auto value = std::bit_cast<float>(greatest);
  return std::isfinite(value) ? value : std::numeric_limits<float>::infinity();
}

// Whether all values, which are finite, are multiples of `step` by factors that fit a byte, except
// for the effect of rounding.
bool areMultiples(const float* values, size_t count, float step) {
  constexpr float kSlack = 4e-5f;  // of a step
  constexpr size_t kFirst = 8;
  constexpr size_t kAtOnce = 32;
  const auto isNone = [step](float value) {
    const float factor = value / step;
    const float whole = nearestWhole(factor);
    return (std::abs(factor - whole) > kSlack) | (whole < kLeastByte) | (whole > kGreatestByte);
  };
  // Most steps that are tried are wrong, and the first values tell.
  size_t i = std::min(kFirst, count);
  if (std::any_of(values, values + i, isNone)) return false;
  for (; i + kAtOnce <= count; i += kAtOnce) {
    int32_t others = 0;
    for (size_t k = 0; k < kAtOnce; ++k) others += isNone(values[i + k]) ? 1 : 0;
    if (others > 0) return false;
  }
  return std::none_of(values + i, values + count, isNone);
}

// The step, such as `likely`, that all values are multiples of; 0 where no such step exists.
float stepOf(const float* values, size_t count, float likely) {
  const float greatest = greatestOf(values, count);
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
  std::vector<float> steps;
  const auto* const filter = site.inputs[1].as<float>();
  float step = 1;
  for (size_t column = 0; column < columns; ++column) {
    // Many have one step for all columns.
    step = stepOf(filter + column * depth, depth, step);
    if (step == 0) return std::nullopt;
    steps.push_back(step);
  }
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
    for (size_t column = 0; column < columns; ++column) {
      packColumn(filter + column * depth_, columnSteps_[column], column, to);
    }
  });
  columnSums_ = site.pack<int32_t>(places, [&](int32_t* to) {
    for (size_t column = 0; column < columns; ++column) {
      const float step = columnSteps_[column];
      int32_t sum = 0;
      for (size_t k = 0; k < depth_; ++k) {
        sum += static_cast<int32_t>(nearestWhole(filter[column * depth_ + k] / step));
      }
      to[column] = sum;
    }
  });
  site.release(1);
  bias_ = AlignedBuffer<float>(places);
  std::copy_n(site.inputs[2].as<float>(), columns, bias_.data());
}

void BytePanels::packColumn(const float* values, float step, size_t column, uint8_t* to) const {
  const size_t panel = column / gemm_->panelColumns;
  const size_t begin = panel * gemm_->panelColumns;
  const size_t width = isHalf(panel) ? gemm_->panelColumns / 2 : gemm_->panelColumns;
  to += (begin * units_ + column - begin) * 4;
  for (size_t k = 0; k < depth_; ++k) {
    const auto factor = static_cast<int8_t>(nearestWhole(values[k] / step));
    to[k / 4 * width * 4 + k % 4] = static_cast<uint8_t>(factor);
  }
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
    forEvenPieces(rows.count, most, [&](size_t begin, size_t count) {
      tile.sums.left = rows.first + begin * rows.stride;
      tile.rowStep = rows.steps + begin;
      tile.rowZero = rows.zeros + begin;
      tile.out = out + begin * columns_ + column;
      micro[count](tile);
    });
  }
}

}  // namespace halyard::cpudriver
