// Instance normalisation: some channels of an image at a time, in the order in which they lie in
// memory.
#include <algorithm>
#include <cmath>

#include "kernels/makers.h"
#include "kernels/vectors/even_pieces.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kStrip = 16;  // channels: a line of the cache
constexpr size_t kValuesForThread = 16 * 1024;

struct Parameters {
  float gamma = 0;
  float beta = 0;
  float epsilon = 0;
};

// Values are [count][lanes], rows `step` elements apart. Each lane is a channel of its own; or they
// all are parts of one, which has `count * lanes` values.
struct Lanes {
  const float* from;
  float* to;
  size_t count;
  size_t lanes;  // at most kStrip
  size_t step;
  bool areOne;
  Parameters parameters;
};

// Makes the sums of lanes those of their channels.
HALYARD_ALWAYS_INLINE void joinLanes(const Lanes& lanes, double* sums) {
  if (!lanes.areOne) return;
  double total = 0;
  for (size_t lane = 0; lane < kStrip; ++lane) total += sums[lane];
  for (size_t lane = 0; lane < kStrip; ++lane) sums[lane] = total;
}

// kLanes: how many lanes there are; 0 stands for lanes.lanes.
template <size_t kLanes>
HALYARD_ALWAYS_INLINE void normalizeAll(const Lanes& lanes) {
  const size_t width = kLanes == 0 ? lanes.lanes : kLanes;
  const double count = static_cast<double>(lanes.count * (lanes.areOne ? width : 1));
  double means[kStrip] = {};
  double squares[kStrip] = {};
  for (size_t i = 0; i < lanes.count; ++i) {
    const float* const x = lanes.from + i * lanes.step;
    for (size_t lane = 0; lane < width; ++lane) means[lane] += static_cast<double>(x[lane]);
  }
  joinLanes(lanes, means);
  for (size_t lane = 0; lane < kStrip; ++lane) means[lane] /= count;
  for (size_t i = 0; i < lanes.count; ++i) {
    const float* const x = lanes.from + i * lanes.step;
    for (size_t lane = 0; lane < width; ++lane) {
      const double distance = static_cast<double>(x[lane]) - means[lane];
      squares[lane] += distance * distance;
    }
  }
  joinLanes(lanes, squares);
  const double beta = static_cast<double>(lanes.parameters.beta);
  double factors[kStrip];
  for (size_t lane = 0; lane < kStrip; ++lane) {
    factors[lane] =
        static_cast<double>(lanes.parameters.gamma) /
        std::sqrt(squares[lane] / count + static_cast<double>(lanes.parameters.epsilon));
  }
  for (size_t i = 0; i < lanes.count; ++i) {
    const float* const x = lanes.from + i * lanes.step;
    float* const y = lanes.to + i * lanes.step;
    for (size_t lane = 0; lane < width; ++lane) {
      const double distance = static_cast<double>(x[lane]) - means[lane];
      y[lane] = static_cast<float>(distance * factors[lane] + beta);
    }
  }
}

HALYARD_ALWAYS_INLINE void normalizeLanes(const Lanes* lanes) {
  if (lanes->lanes == kStrip) return normalizeAll<kStrip>(*lanes);
  normalizeAll<0>(*lanes);
}

class InstanceNormalizationKernel final : public Kernel {
 public:
  // `dims`: of an image with channels last.
  InstanceNormalizationKernel(const Shape& dims, const Parameters& parameters)
      : images_(dims[0]),
        pixels_(size_t{dims[1]} * dims[2]),
        channels_(dims[3]),
        parameters_(parameters) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const size_t strips = divideUp(channels_, kStrip);
    const auto* const from = operands.input<float>(0);
    auto* const to = operands.output<float>(0);
    services.parallelFor(
        images_ * strips, kValuesForThread / (pixels_ * kStrip) + 1, [&](size_t begin, size_t end) {
          for (size_t i = begin; i < end; ++i) {
            const size_t channel = i % strips * kStrip;
            const size_t at = i / strips * pixels_ * channels_ + channel;
            const Lanes lanes = {
                from + at, to + at, pixels_,    std::min(kStrip, channels_ - channel),
                channels_, false,   parameters_};
            ops::runBest<&normalizeLanes>(&lanes);
          }
        });
    return okStatus();
  }

 private:
  const size_t images_;
  const size_t pixels_;
  const size_t channels_;
  const Parameters parameters_;
};

// Channels first: the pixels of each channel are one line, of which every kStrip-th value is in the
// same lane.
class PlaneNormalizationKernel final : public Kernel {
 public:
  PlaneNormalizationKernel(size_t planes, size_t pixels, const Parameters& parameters)
      : planes_(planes), pixels_(pixels), parameters_(parameters) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const from = operands.input<float>(0);
    auto* const to = operands.output<float>(0);
    services.parallelFor(planes_, kValuesForThread / pixels_ + 1, [&](size_t begin, size_t end) {
      for (size_t plane = begin; plane < end; ++plane) {
        const size_t at = plane * pixels_;
        const Lanes lanes = {from + at, to + at, pixels_ / kStrip, kStrip,
                             kStrip,    true,    parameters_};
        ops::runBest<&normalizeLanes>(&lanes);
      }
    });
    return okStatus();
  }

 private:
  const size_t planes_;
  const size_t pixels_;
  const Parameters parameters_;
};

}  // namespace

std::unique_ptr<Kernel> makeInstanceNormalization(const KernelSite& site) {
  const ops::OperationContext context(site.inputs, {}, nullptr);
  Parameters parameters;
  bool nchw = false;
  if (site.inputs[0].type != OperandType::TENSOR_FLOAT32 ||
      !context.read(1, &parameters.gamma).ok() || !context.read(2, &parameters.beta).ok() ||
      !context.read(3, &parameters.epsilon).ok() || !context.read(4, &nchw).ok()) {
    return nullptr;
  }
  const Shape& dims = site.inputs[0].dims;
  if (!nchw) return std::make_unique<InstanceNormalizationKernel>(dims, parameters);
  const size_t pixels = size_t{dims[2]} * dims[3];
  if (pixels % kStrip != 0) return nullptr;
  return std::make_unique<PlaneNormalizationKernel>(size_t{dims[0]} * dims[1], pixels, parameters);
}

}  // namespace halyard::cpudriver
