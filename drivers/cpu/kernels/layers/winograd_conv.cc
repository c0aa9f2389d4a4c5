// Tiles are transformed, multiplied with the weights, and transformed back. Each element of the
// transformed tiles has a matrix product. Some tiles are done at a time, so that intermediate
// values stay in the cache.
#include "kernels/layers/winograd_conv.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/layers/winograd_tiles.h"
#include "kernels/matrix/matrix_layer.h"
#include "kernels/matrix/packed_floats.h"
#include "kernels/processor_cache.h"
#include "kernels/vectors/aligned_buffer.h"
#include "kernels/vectors/even_pieces.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kLanes = 16;          // of the widest vectors
constexpr size_t kLeastChannels = 32;  // on both sides
constexpr size_t kLeastTiles = 24;     // about two rows of micro kernels
// Of transformed weights. More are read from memory faster than few tiles are multiplied with them.
constexpr size_t kMostWeights = size_t{6} << 20;
constexpr size_t kFiltersAtOnce = 16;  // that are worth another thread to transform

size_t tilesOf(const ops::ImageDims& output) {
  return output.batch * divideUp(output.height, 2) * divideUp(output.width, 2);
}

class WinogradKernel final : public Kernel {
 public:
  WinogradKernel(const KernelSite& site, const ConvSite& conv)
      : conv_(conv),
        functions_(winogradFunctions(site.level)),
        range_(ops::activationRange(conv.activation)),
        addsInput_(site.fused.addsInput),
        depth_(conv.input.channels),
        channels_(conv.output.channels),
        tilesAcross_(divideUp(conv.output.width, 2)),
        tilesDown_(divideUp(conv.output.height, 2)),
        tiles_(tilesOf(conv.output)),
        zeros_(depth_ + kLanes),
        bias_(channels_ + kLanes) {
    std::copy_n(site.inputs[2].as<float>(), channels_, bias_.data());
    pack(site);
    const size_t bytesOfTile = kWinogradCells * (depth_ + channels_) * sizeof(float);
    const size_t most = std::clamp<size_t>(2 * cachedTileBytes() / bytesOfTile, kLeastTiles / 2,
                                           MatrixLayer::kMostRows);
    // Halves of the tiles should be whole blocks.
    blocks_ = tiles_ < kLeastTiles ? 1 : divideUp(divideUp(tiles_, most), 2) * 2;
  }

  bool readsConstants() const override { return false; }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const images = operands.input<float>(0);
    const auto* const addend = addsInput_ ? operands.lastInput<float>() : nullptr;
    auto* const output = operands.output<float>(0);
    const auto range = [&](size_t begin, size_t end) {
      for (size_t block = begin; block < end; ++block) {
        runTiles(images, addend, tiles_ * block / blocks_, tiles_ * (block + 1) / blocks_, output);
      }
    };
    const size_t products = tiles_ * kWinogradCells * depth_ * channels_;
    services.parallelFor(blocks_,
                         grainOf(blocks_, products / blocks_, MatrixLayer::kRangeProducts,
                                 MatrixLayer::kThreadProducts),
                         std::cref(range));
    return okStatus();
  }

 private:
  struct Place {
    size_t image;
    size_t line;  // of the tile's first result
    size_t column;
  };

  void pack(const KernelSite& site) {
    const size_t elements = channels_ * depth_;
    const auto* const filter = site.inputs[1].as<float>();
    std::vector<float> transformed(kWinogradCells * elements);
    site.divide(channels_, kFiltersAtOnce, [&](size_t begin, size_t end) {
      for (size_t channel = begin; channel < end; ++channel) {
        functions_.transformFilter({filter + channel * 9 * depth_, depth_,
                                    transformed.data() + channel * depth_, elements});
      }
    });
    for (size_t i = 0; i < kWinogradCells; ++i) {
      weights_[i] = PackedFloats(
          site, channels_, depth_,
          [&](size_t channel) { return transformed.data() + i * elements + channel * depth_; },
          nullptr, tiles_, /*mayBeBytes=*/false);
    }
    site.release(1);
  }

  Place placeOf(size_t tile) const {
    const size_t line = tile / tilesAcross_;
    return {line / tilesDown_, line % tilesDown_ * 2, tile % tilesAcross_ * 2};
  }

  void runTiles(const float* images, const float* addend, size_t begin, size_t end,
                float* output) const {
    auto& buffer = threadOwned<AlignedBuffer<float>, struct TileBuffer>();
    const size_t count = end - begin;
    // Not so that the elements of a tile come to lie in the same few places of the cache.
    const size_t tilesApart = divideUp(count * depth_, kLanes) * kLanes + kLanes;
    const size_t productsApart = divideUp(count * channels_, kLanes) * kLanes + kLanes;
    const size_t needed = kWinogradCells * (tilesApart + productsApart);
    if (buffer.size() < needed) buffer = AlignedBuffer<float>(needed);
    float* const tiles = buffer.data();
    float* const products = tiles + kWinogradCells * tilesApart;
    for (size_t i = 0; i < count; ++i) {
      transformTile(images, placeOf(begin + i), tiles + i * depth_, tilesApart);
    }
    const ptrdiff_t whole = 0;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (size_t i = 0; i < kWinogradCells; ++i) {
      const auto* const rows = reinterpret_cast<const std::byte*>(tiles + i * tilesApart);
      weights_[i].multiply({rows, depth_ * sizeof(float), count, {&whole, 1}, nullptr},
                           {-kInfinity, kInfinity}, 0, weights_[i].panels(),
                           products + i * productsApart, channels_);
    }
    for (size_t i = 0; i < count; ++i) {
      transformProducts(products + i * channels_, productsApart, placeOf(begin + i), addend,
                        output);
    }
  }

  void transformTile(const float* images, const Place& place, float* to, size_t apart) const {
    const ops::ImageDims& from = conv_.input;
    const int64_t top = conv_.window.height.origin(static_cast<int64_t>(place.line));
    const int64_t left = conv_.window.width.origin(static_cast<int64_t>(place.column));
    const float* const image = images + place.image * from.height * from.width * depth_;
    WinogradTile tile{{}, depth_, to, apart};
    for (size_t i = 0; i < kWinogradCells; ++i) {
      // Below 0 is beyond the image, too.
      const auto line = static_cast<size_t>(top + static_cast<int64_t>(i / 4));
      const auto column = static_cast<size_t>(left + static_cast<int64_t>(i % 4));
      const bool isInside = line < from.height && column < from.width;
      tile.cells[i] = isInside ? image + (line * from.width + column) * depth_ : zeros_.data();
    }
    functions_.transformTile(tile);
  }

  void transformProducts(const float* products, size_t apart, const Place& place,
                         const float* addend, float* output) const {
    const ops::ImageDims& to = conv_.output;
    WinogradProducts made{products, apart, channels_, bias_.data(), range_.min, range_.max, {}, {}};
    for (size_t i = 0; i < kWinogradResults; ++i) {
      const size_t line = place.line + i / 2;
      const size_t column = place.column + i % 2;
      if (line >= to.height || column >= to.width) continue;
      const size_t at = ((place.image * to.height + line) * to.width + column) * channels_;
      made.out[i] = output + at;
      made.addend[i] = addend == nullptr ? nullptr : addend + at;
    }
    functions_.transformProducts(made);
  }

  const ConvSite conv_;
  const WinogradFunctions functions_;
  const ops::ClampRange<float> range_;
  const bool addsInput_;
  const size_t depth_;
  const size_t channels_;
  const size_t tilesAcross_;
  const size_t tilesDown_;
  const size_t tiles_;
  const AlignedBuffer<float> zeros_;
  AlignedBuffer<float> bias_;
  std::array<PackedFloats, kWinogradCells> weights_;
  size_t blocks_ = 1;
};

}  // namespace

bool takesWinograd(const ConvSite& conv, const KernelSite& site) {
  const auto suits = [](const ops::WindowAxis& axis) {
    return axis.filter == 3 && axis.stride == 1 && axis.dilation == 1;
  };
  return site.inputs[0].type == OperandType::TENSOR_FLOAT32 && suits(conv.window.height) &&
         suits(conv.window.width);
}

bool suitsWinograd(const ConvSite& conv) {
  const size_t weights =
      kWinogradCells * conv.input.channels * conv.output.channels * sizeof(float);
  const size_t tiles = tilesOf(conv.output);
  const size_t results = conv.output.batch * conv.output.height * conv.output.width;
  // Tiles at the edges may have results that are none.
  return std::min(conv.input.channels, conv.output.channels) >= kLeastChannels &&
         tiles >= kLeastTiles && weights <= kMostWeights && 3 * tiles <= results;
}

std::unique_ptr<Kernel> makeWinogradConv(const KernelSite& site, const ConvSite& conv) {
  return std::make_unique<WinogradKernel>(site, conv);
}

}  // namespace halyard::cpudriver
