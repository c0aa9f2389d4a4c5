// Bilinear resizing of float images: between two lines first, then between the cells of the result.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/aligned_buffer.h"
#include "kernels/float_functions.h"
#include "kernels/makers.h"
#include "ops/conv_geometry.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kGrainElements = 1 << 14;

// Where an output coordinate lies: between two of the input's.
struct Source {
  size_t low;
  size_t high;
  float weight;  // of `high`
};

struct Mode {
  bool alignCorners = false;
  bool halfPixelCenters = false;
};

// As the reference kernel finds it.
Source sourceOf(const Mode& mode, size_t output, size_t inputSize, size_t outputSize) {
  const float ratio = mode.alignCorners && outputSize > 1
                          ? static_cast<float>(inputSize - 1) / static_cast<float>(outputSize - 1)
                          : static_cast<float>(inputSize) / static_cast<float>(outputSize);
  const float position = mode.halfPixelCenters ? (static_cast<float>(output) + 0.5f) * ratio - 0.5f
                                               : static_cast<float>(output) * ratio;
  const auto last = static_cast<float>(inputSize - 1);
  const float low = std::clamp(std::floor(position), 0.0f, last);
  const float high = std::clamp(std::ceil(position), low, last);
  Source source = {std::min(static_cast<size_t>(low), inputSize - 1),
                   std::min(static_cast<size_t>(high), inputSize - 1), position - low};
  if (source.low == source.high) source.weight = 0;
  return source;
}

class ResizeKernel final : public Kernel {
 public:
  ResizeKernel(const KernelSite& site, const Mode& mode)
      : functions_(floatFunctions(site.level)),
        batch_(site.inputs[0].dims[0]),
        channels_(site.inputs[0].dims[3]),
        inputHeight_(site.inputs[0].dims[1]),
        inputWidth_(site.inputs[0].dims[2]) {
    for (size_t i = 0; i < site.outputs[0].dims[1]; ++i) {
      lines_.push_back(sourceOf(mode, i, inputHeight_, site.outputs[0].dims[1]));
    }
    for (size_t j = 0; j < site.outputs[0].dims[2]; ++j) {
      columns_.push_back(sourceOf(mode, j, inputWidth_, site.outputs[0].dims[2]));
    }
  }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const images = operands.input<float>(0);
    auto* const output = operands.output<float>(0);
    const size_t inputLine = inputWidth_ * channels_;
    const size_t outputLine = columns_.size() * channels_;
    services.parallelFor(
        batch_ * lines_.size(), kGrainElements / outputLine + 1, [&](size_t begin, size_t end) {
          auto* const blended = reinterpret_cast<float*>(threadBuffer(inputLine * sizeof(float)));
          for (size_t i = begin; i < end; ++i) {
            const Source& line = lines_[i % lines_.size()];
            const float* const image = images + i / lines_.size() * inputHeight_ * inputLine;
            const float* from = image + line.low * inputLine;
            if (line.weight != 0) {
              functions_.blend(from, image + line.high * inputLine, line.weight, blended,
                               inputLine);
              from = blended;
            }
            resizeLine(from, output + i * outputLine);
          }
        });
    return okStatus();
  }

 private:
  void resizeLine(const float* from, float* to) const {
    for (const Source& column : columns_) {
      functions_.blend(from + column.low * channels_, from + column.high * channels_, column.weight,
                       to, channels_);
      to += channels_;
    }
  }

  const FloatFunctions& functions_;
  const size_t batch_;
  const size_t channels_;
  const size_t inputHeight_;
  const size_t inputWidth_;
  std::vector<Source> lines_;
  std::vector<Source> columns_;
};

}  // namespace

std::unique_ptr<Kernel> makeResizeBilinear(const KernelSite& site) {
  if (site.inputs[0].type != OperandType::TENSOR_FLOAT32) return nullptr;
  const ops::OperationContext context(site.inputs, {}, nullptr);
  bool nchw = false;
  Mode mode;
  if (!context.readOptional(3, &nchw).ok() || nchw ||
      !context.readOptional(4, &mode.alignCorners).ok() ||
      !context.readOptional(5, &mode.halfPixelCenters).ok()) {
    return nullptr;
  }
  // Where a small part of the input's columns is needed, blending all of them is a waste.
  if (site.outputs[0].dims[2] < site.inputs[0].dims[2] / 2) return nullptr;
  return std::make_unique<ResizeKernel>(site, mode);
}

}  // namespace halyard::cpudriver
