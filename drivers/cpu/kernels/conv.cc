// Convolution: the patches under the filter as rows of a matrix product.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/conv_site.h"
#include "kernels/makers.h"
#include "kernels/matrix_layer.h"
#include "kernels/small_copy.h"

namespace halyard::cpudriver {
namespace {

// Writes patches: for each output position the values under the filter, in the filter's order.
class PatchGatherer {
 public:
  PatchGatherer(const ConvSite& conv, size_t elementBytes, std::byte zero, size_t stride)
      : conv_(conv),
        cellBytes_(conv.input.channels * elementBytes),
        zero_(zero),
        stride_(stride),
        isContiguous_(conv.window.width.dilation == 1),
        depthBytes_(static_cast<size_t>(conv.window.height.filter * conv.window.width.filter) *
                    cellBytes_) {
    const ops::WindowAxis& width = conv.window.width;
    for (int64_t j = 0; j < width.output; ++j) {
      const int64_t left = width.origin(j);
      const ops::TapRange inside = ops::tapsInside(width, left);
      columns_.push_back(
          {inside.begin, inside.end, (left + inside.begin * width.dilation) * cellBytes()});
    }
  }

  void gather(const std::byte* image, size_t begin, size_t end, std::byte* to) const {
    const auto outputWidth = static_cast<int64_t>(conv_.output.width);
    const auto outputHeight = static_cast<int64_t>(conv_.output.height);
    const int64_t lineBytes = conv_.window.width.input * cellBytes();
    auto j = static_cast<int64_t>(begin) % outputWidth;
    int64_t line = static_cast<int64_t>(begin) / outputWidth;
    for (size_t row = begin; row < end;) {
      const int64_t top = conv_.window.height.origin(line % outputHeight);
      const std::byte* const first =
          image + line / outputHeight * conv_.window.height.input * lineBytes;
      for (; j < outputWidth && row < end; ++j, ++row, to += stride_) {
        gatherPatch(first, top, columns_[static_cast<size_t>(j)], lineBytes, to);
      }
      j = 0;
      ++line;
    }
  }

 private:
  // The taps of a line of the filter that lie inside of the image for one column of the output, and
  // where in an image's line the first of them reads.
  struct Columns {
    int64_t begin;
    int64_t end;
    int64_t offset;  // bytes
  };

  int64_t cellBytes() const { return static_cast<int64_t>(cellBytes_); }

  void pad(std::byte* to, int64_t cells) const {
    std::memset(to, std::to_integer<int>(zero_), static_cast<size_t>(cells) * cellBytes_);
  }

  void gatherPatch(const std::byte* image, int64_t top, const Columns& columns, int64_t lineBytes,
                   std::byte* to) const {
    const ops::WindowAxis& height = conv_.window.height;
    const int64_t cells = conv_.window.width.filter;
    for (int64_t u = 0; u < height.filter; ++u, to += cells * cellBytes()) {
      const int64_t y = top + u * height.dilation;
      if (y < 0 || y >= height.input || columns.begin == columns.end) {
        pad(to, cells);
      } else {
        gatherLine(image + y * lineBytes + columns.offset, columns, to);
      }
    }
    if (depthBytes_ != stride_) std::memset(to, 0, stride_ - depthBytes_);
  }

  // `from` is where the first tap inside reads.
  void gatherLine(const std::byte* from, const Columns& columns, std::byte* to) const {
    const ops::WindowAxis& width = conv_.window.width;
    if (columns.begin > 0) pad(to, columns.begin);
    if (isContiguous_) {
      copySmall(to + columns.begin * cellBytes(), from,
                static_cast<size_t>(columns.end - columns.begin) * cellBytes_);
    } else {
      for (int64_t v = columns.begin; v < columns.end; ++v) {
        copySmall(to + v * cellBytes(), from, cellBytes_);
        from += width.dilation * cellBytes();
      }
    }
    if (columns.end < width.filter) {
      pad(to + columns.end * cellBytes(), width.filter - columns.end);
    }
  }

  const ConvSite conv_;
  const size_t cellBytes_;
  const std::byte zero_;
  const size_t stride_;
  const bool isContiguous_;
  const size_t depthBytes_;
  std::vector<Columns> columns_;  // by column of the output
};

bool isPointwise(const ConvSite& conv) {
  const auto isTrivial = [](const ops::WindowAxis& axis) {
    return axis.filter == 1 && axis.stride == 1 && axis.padBefore == 0 && axis.output == axis.input;
  };
  return isTrivial(conv.window.height) && isTrivial(conv.window.width);
}

RowSource patchesOf(const ConvSite& conv, size_t elementBytes, const MatrixLayer& layer) {
  RowSource source;
  source.rows = conv.output.batch * conv.output.height * conv.output.width;
  source.stride = rowStride(layer);
  source.isDirect = isPointwise(conv) && source.stride == layer.depthBytes();
  if (source.isDirect) return source;
  source.gather = [gatherer = PatchGatherer(conv, elementBytes, layer.zero(), source.stride)](
                      const std::byte* input, size_t begin, size_t end, std::byte* to) {
    gatherer.gather(input, begin, end, to);
  };
  return source;
}

}  // namespace

std::unique_ptr<Kernel> makeConv(const KernelSite& site) {
  if (!hasConstantWeights(site)) return nullptr;
  const auto conv = readConvSite(site, /*isDepthwise=*/false);
  if (!conv) return nullptr;
  auto layer = makeMatrixLayer(site, conv->output.channels, conv->activation);
  if (layer == nullptr) return nullptr;
  RowSource patches = patchesOf(*conv, elementSize(site.inputs[0].type), *layer);
  return makeMatrixKernel(std::move(layer), std::move(patches));
}

}  // namespace halyard::cpudriver
