// Tiles of rows, whose results go through a buffer that stays in the cache.
#include "kernels/matrix/product_parts.h"

#include <algorithm>

#include "kernels/vectors/aligned_buffer.h"
#include "kernels/vectors/even_pieces.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kTileBytes = 128 * 1024;  // of rows and of results, each
constexpr size_t kLeastRows = 12;          // that a micro kernel makes the most of
constexpr size_t kWantedItems = 16;        // for the threads to share
constexpr size_t kProductsForThread = 1'000'000;

size_t tileRows(const ProductPart& part, size_t parts) {
  const size_t rowBytes = std::max(part.rows.stride, part.layer->outputRowBytes());
  const size_t fitting = std::clamp(kTileBytes / rowBytes / kLeastRows * kLeastRows, kLeastRows,
                                    size_t{MatrixLayer::kMostRows});
  return std::clamp(part.rows.rows * parts / kWantedItems, kLeastRows, fitting);
}

}  // namespace

ProductParts::ProductParts(std::vector<ProductPart> parts) : parts_(std::move(parts)) {
  size_t products = 0;
  for (size_t p = 0; p < parts_.size(); ++p) {
    const ProductPart& part = parts_[p];
    const size_t tile = tileRows(part, parts_.size());
    products += part.rows.rows * part.layer->productsOfRow();
    for (size_t row = 0; row < part.rows.rows; row += tile) {
      items_.push_back({p, row, std::min(row + tile, part.rows.rows)});
    }
  }
  const size_t productsOfItem = std::max<size_t>(products / items_.size(), 1);
  grain_ = divideUp(kProductsForThread, productsOfItem);
}

void ProductParts::run(const std::byte* input, std::byte* output,
                       ops::KernelServices& services) const {
  services.parallelFor(items_.size(), grain_, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) runItem(items_[i], input, output);
  });
}

void ProductParts::runItem(const Item& item, const std::byte* input, std::byte* output) const {
  const ProductPart& part = parts_[item.part];
  const size_t rows = item.end - item.begin;
  const size_t rowBytes = part.rows.isDirect ? 0 : divideUp(rows * part.rows.stride, 64) * 64;
  std::byte* const buffer = threadBuffer(rowBytes + rows * part.layer->outputRowBytes());
  std::byte* const results = buffer + rowBytes;
  input += part.inputOffset;
  const std::byte* left = input + item.begin * part.rows.stride;
  if (!part.rows.isDirect) {
    part.rows.gather(input, item.begin, item.end, buffer);
    left = buffer;
  }
  part.layer->multiply(left, part.rows.stride, rows, 0, part.layer->panels(), results);
  part.store(results, item.begin, item.end, output);
}

PartSite::PartSite(const KernelSite& site, const void* filter, size_t firstColumn, size_t columns,
                   size_t depth)
    : inputs_(site.inputs.begin(), site.inputs.begin() + 3), site_(site) {
  ops::Tensor& weights = inputs_[1];
  ops::Tensor& bias = inputs_[2];
  weights.dims = {static_cast<uint32_t>(columns), static_cast<uint32_t>(depth)};
  // Layers do not write to their site's constants.
  weights.data = const_cast<void*>(filter);
  if (weights.channelQuant != nullptr) {
    const auto first = weights.channelQuant->scales.begin() + static_cast<ptrdiff_t>(firstColumn);
    scales_.scales.assign(first, first + static_cast<ptrdiff_t>(columns));
    weights.channelQuant = &scales_;
  }
  bias.data = bias.as<std::byte>() + firstColumn * elementSize(bias.type);
  bias.dims = {static_cast<uint32_t>(columns)};
  site_.inputs = inputs_;
}

}  // namespace halyard::cpudriver
