// Finding the steps of float weights, packing, and the loops over panels and some rows at a time.
#include "kernels/byte_panels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/even_pieces.h"

namespace halyard::cpudriver {
namespace {

constexpr int kLeastByte = -128;
constexpr int kGreatestByte = 127;
// With more products a sum might not fit 32 bits.
constexpr size_t kMostDepth = std::numeric_limits<int32_t>::max() / (255 * 128);

// What all values are multiples of, by factors that fit a byte, but for what rounding has changed;
// 0 where there is no such step.
float stepOf(const float* values, size_t count) {
  constexpr float kSlack = 4e-5f;  // of a step
  float greatest = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) return 0;
    greatest = std::max(greatest, std::abs(values[i]));
  }
  if (greatest == 0) return 1;
  for (int most = -kLeastByte; most > 0; --most) {
    const float step = greatest / static_cast<float>(most);
    if (!std::isnormal(step)) return 0;
    const auto isMultiple = [&](float value) {
      const float factor = value / step;
      const float whole = std::round(factor);
      return std::abs(factor - whole) <= kSlack && whole >= kLeastByte && whole <= kGreatestByte;
    };
    if (std::all_of(values, values + count, isMultiple)) return step;
  }
  return 0;
}

}  // namespace

std::optional<BytePanels> BytePanels::make(const KernelSite& site, size_t columns) {
  const Quant8Gemm* const gemm = quant8Gemm(site.level);
  if (gemm == nullptr || gemm->factors != Quant8Factors::OPPOSITE) return std::nullopt;
  const size_t depth = site.inputs[1].elementCount() / columns;
  if (depth > kMostDepth) return std::nullopt;
  const bool haveSteps = site.decide<bool>([&] {
    const auto* const filter = site.inputs[1].as<float>();
    for (size_t column = 0; column < columns; ++column) {
      if (stepOf(filter + column * depth, depth) == 0) return false;
    }
    return true;
  });
  if (!haveSteps) return std::nullopt;
  return BytePanels(site, *gemm, columns);
}

BytePanels::BytePanels(const KernelSite& site, const Quant8Gemm& gemm, size_t columns)
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
  columnSteps_ = site.pack<float>(places, [&](float* to) {
    for (size_t column = 0; column < columns; ++column) {
      to[column] = stepOf(filter + column * depth_, depth_);
    }
  });
  packed_ = site.pack<uint8_t>(places * units_ * 4, [&](uint8_t* to) {
    for (size_t column = 0; column < columns; ++column) {
      packColumn(filter + column * depth_, columnSteps_[column], column, to);
    }
  });
  columnSums_ = site.pack<int32_t>(places, [&](int32_t* to) {
    for (size_t column = 0; column < columns; ++column) {
      for (size_t k = 0; k < depth_; ++k) {
        to[column] +=
            static_cast<int32_t>(std::round(filter[column * depth_ + k] / columnSteps_[column]));
      }
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
    const auto factor = static_cast<int8_t>(std::round(values[k] / step));
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
    forEvenPieces(rows.count, gemm_->maxRows, [&](size_t begin, size_t count) {
      tile.sums.left = rows.first + begin * rows.stride;
      tile.rowStep = rows.steps + begin;
      tile.rowZero = rows.zeros + begin;
      tile.out = out + begin * columns_ + column;
      micro[count](tile);
    });
  }
}

}  // namespace halyard::cpudriver
