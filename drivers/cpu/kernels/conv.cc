// Convolution: the patches under the filter as rows of a matrix product.
#include <algorithm>
#include <cstring>

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
                    cellBytes_) {}

  void gather(const std::byte* image, size_t begin, size_t end, std::byte* to) const {
    const ops::WindowAxis& height = conv_.window.height;
    const ops::WindowAxis& width = conv_.window.width;
    for (size_t row = begin; row < end; ++row, to += stride_) {
      const auto j = static_cast<int64_t>(row % conv_.output.width);
      const size_t line = row / conv_.output.width;
      const auto i = static_cast<int64_t>(line % conv_.output.height);
      const auto n = static_cast<int64_t>(line / conv_.output.height);
      const int64_t left = width.origin(j);
      const ops::TapRange columns = ops::tapsInside(width, left);
      std::byte* part = to;
      for (int64_t u = 0; u < height.filter; ++u, part += width.filter * cellBytes()) {
        const int64_t y = height.origin(i) + u * height.dilation;
        if (y < 0 || y >= height.input || columns.begin == columns.end) {
          pad(part, width.filter);
          continue;
        }
        gatherLine(image + (n * height.input + y) * width.input * cellBytes(), left, columns, part);
      }
      if (depthBytes_ != stride_) std::memset(to + depthBytes_, 0, stride_ - depthBytes_);
    }
  }

 private:
  int64_t cellBytes() const { return static_cast<int64_t>(cellBytes_); }

  void pad(std::byte* to, int64_t cells) const {
    std::memset(to, std::to_integer<int>(zero_), static_cast<size_t>(cells) * cellBytes_);
  }

  void gatherLine(const std::byte* line, int64_t left, const ops::TapRange& columns,
                  std::byte* to) const {
    const ops::WindowAxis& width = conv_.window.width;
    if (columns.begin > 0) pad(to, columns.begin);
    if (isContiguous_) {
      copySmall(to + columns.begin * cellBytes(), line + (left + columns.begin) * cellBytes(),
                static_cast<size_t>(columns.end - columns.begin) * cellBytes_);
    } else {
      for (int64_t v = columns.begin; v < columns.end; ++v) {
        copySmall(to + v * cellBytes(), line + (left + v * width.dilation) * cellBytes(),
                  cellBytes_);
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
};

bool isPointwise(const ConvSite& conv) {
  const auto isTrivial = [](const ops::WindowAxis& axis) {
    return axis.filter == 1 && axis.stride == 1 && axis.padBefore == 0 && axis.output == axis.input;
  };
  return isTrivial(conv.window.height) && isTrivial(conv.window.width);
}

class ConvKernel final : public Kernel {
 public:
  ConvKernel(const ConvSite& conv, size_t elementBytes, std::unique_ptr<MatrixLayer> layer)
      : layer_(std::move(layer)) {
    source_.rows = conv.output.batch * conv.output.height * conv.output.width;
    source_.stride = rowStride(*layer_);
    source_.isDirect = isPointwise(conv) && source_.stride == layer_->depthBytes();
    if (source_.isDirect) return;
    source_.gather = [gatherer = PatchGatherer(conv, elementBytes, layer_->zero(), source_.stride)](
                         const std::byte* input, size_t begin, size_t end, std::byte* to) {
      gatherer.gather(input, begin, end, to);
    };
  }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    runMatrixLayer(*layer_, source_, operands.input<std::byte>(0), operands.output<std::byte>(0),
                   services);
    return okStatus();
  }

 private:
  const std::unique_ptr<MatrixLayer> layer_;
  RowSource source_;
};

}  // namespace

std::unique_ptr<Kernel> makeConv(const KernelSite& site) {
  if (!hasConstantWeights(site)) return nullptr;
  const auto conv = readConvSite(site, /*isDepthwise=*/false);
  if (!conv) return nullptr;
  auto layer = makeMatrixLayer(site, conv->output.channels, conv->activation);
  if (layer == nullptr) return nullptr;
  return std::make_unique<ConvKernel>(*conv, elementSize(site.inputs[0].type), std::move(layer));
}

}  // namespace halyard::cpudriver
