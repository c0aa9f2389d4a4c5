// An image of one channel is convolved with the filter's channels as an ordinary convolution would
// do it. Of one with more, each channel is repeated, which makes the multiplier 1.
#include "kernels/layers/depthwise_multiplier.h"

#include <algorithm>
#include <vector>

#include "kernels/layers/patch_rows.h"
#include "kernels/makers.h"
#include "kernels/matrix/matrix_layer.h"
#include "kernels/matrix/product_parts.h"
#include "kernels/vectors/even_pieces.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kValuesForThread = 32 * 1024;

// The filter is [taps][channels], a layer's [channels][taps].
template <typename T>
std::vector<T> transposedFilter(const KernelSite& site, size_t taps, size_t channels) {
  std::vector<T> filter(taps * channels);
  const T* const from = site.inputs[1].as<T>();
  for (size_t tap = 0; tap < taps; ++tap) {
    for (size_t c = 0; c < channels; ++c) filter[c * taps + tap] = from[tap * channels + c];
  }
  return filter;
}

template <typename T>
std::unique_ptr<Kernel> makeOfOneChannel(const KernelSite& site, const ConvSite& conv) {
  const size_t channels = conv.output.channels;
  const size_t taps = site.inputs[1].elementCount() / channels;
  const std::vector<T> filter = transposedFilter<T>(site, taps, channels);
  const PartSite part(site, filter.data(), 0, channels, taps);
  auto layer = makeMatrixLayer(part.site(), channels, conv.activation);
  if (layer == nullptr) return nullptr;
  RowSource rows = patchRows(conv, sizeof(T), *layer);
  site.release(1);
  return makeMatrixKernel(std::move(layer), std::move(rows));
}

template <typename T, size_t kTimes>
HALYARD_ALWAYS_INLINE void repeatTimes(const T* from, size_t count, T* to) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t q = 0; q < kTimes; ++q) to[i * kTimes + q] = from[i];
  }
}
template <typename T>
void repeat(const T* from, size_t count, size_t times, T* to) {
  switch (times) {
    case 2:
      return ops::runBest<&repeatTimes<T, 2>>(from, count, to);
    case 4:
      return ops::runBest<&repeatTimes<T, 4>>(from, count, to);
    case 8:
      return ops::runBest<&repeatTimes<T, 8>>(from, count, to);
    default:
      for (size_t i = 0; i < count; ++i) to = std::fill_n(to, times, from[i]);
  }
}

template <typename T>
class RepeatingKernel final : public Kernel {
 public:
  RepeatingKernel(std::unique_ptr<Kernel> kernel, size_t values, size_t times, size_t operands)
      : kernel_(std::move(kernel)), values_(values), times_(times) {
    for (uint32_t i = 0; i < operands; ++i) indexes_.push_back(i);
  }

  bool readsConstants() const override { return kernel_->readsConstants(); }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const T* const image = operands.input<T>(0);
    auto* const repeated = static_cast<T*>(services.scratch(values_ * times_ * sizeof(T)));
    services.parallelFor(values_, divideUp(kValuesForThread, times_),
                         [&](size_t begin, size_t end) {
                           repeat(image + begin, end - begin, times_, repeated + begin * times_);
                         });
    // The same operands, except for the image.
    const size_t count = operands.inputs.size();
    auto* const data = static_cast<void**>(services.scratch((count + 1) * sizeof(void*)));
    data[0] = repeated;
    for (size_t i = 1; i < count; ++i) data[i] = operands.data[operands.inputs[i]];
    data[count] = operands.data[operands.outputs[0]];
    const std::span<const uint32_t> all = indexes_;
    return kernel_->run({data, all.first(count), all.subspan(count, 1)}, services);
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
  const size_t values_;  // of the image
  const size_t times_;
  std::vector<uint32_t> indexes_;
};

template <typename T>
std::unique_ptr<Kernel> makeRepeating(const KernelSite& site, const ConvSite& conv) {
  std::vector<ops::Tensor> inputs(site.inputs.begin(), site.inputs.end());
  inputs[0].dims[3] *= static_cast<uint32_t>(conv.multiplier);
  KernelSite repeated = site;
  repeated.inputs = inputs;
  ConvSite plain = conv;
  plain.multiplier = 1;
  plain.input.channels = conv.output.channels;
  auto kernel = makePlainDepthwise(repeated, plain);
  if (kernel == nullptr) return nullptr;
  return std::make_unique<RepeatingKernel<T>>(std::move(kernel), site.inputs[0].elementCount(),
                                              conv.multiplier, inputs.size() + 1);
}

}  // namespace

std::unique_ptr<Kernel> makeMultipliedDepthwise(const KernelSite& site, const ConvSite& conv) {
  const bool isFloat = site.inputs[0].type == OperandType::TENSOR_FLOAT32;
  if (conv.input.channels == 1) {
    return isFloat ? makeOfOneChannel<float>(site, conv) : makeOfOneChannel<uint8_t>(site, conv);
  }
  return isFloat ? makeRepeating<float>(site, conv) : makeRepeating<uint8_t>(site, conv);
}

}  // namespace halyard::cpudriver
