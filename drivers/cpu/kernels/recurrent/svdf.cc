// SVDF: the products of the features of all filters, then each filter's memory in one pass that
// weighs its values and moves them on.
#include <algorithm>
#include <cstring>

#include "kernels/makers.h"
#include "kernels/recurrent/recurrent_steps.h"

namespace halyard::cpudriver {
namespace {

enum Input : size_t { kX, kFeature, kTime, kBias, kStateIn, kRank, kActivation };

constexpr size_t kValuesForThread = 32 * 1024;

struct FilterRun {
  const float* before;  // [filters][memory]
  const float* weights;
  const float* newest;  // by filter
  size_t memory;
  size_t filters;
  float* after;
  float* sums;  // by filter
};

// The newest value takes the last place of a filter's memory, and all values are weighted. Then all
// move down by one to leave the last place empty.
HALYARD_ALWAYS_INLINE void runFilters(const FilterRun* run) {
  constexpr size_t kParts = 8;
  const size_t rest = run->memory - 1;
  const float* before = run->before;
  const float* weights = run->weights;
  float* after = run->after;
  for (size_t f = 0; f < run->filters; ++f) {
    float parts[kParts] = {};
    size_t m = 0;
    for (; m + kParts <= rest; m += kParts) {
      for (size_t p = 0; p < kParts; ++p) parts[p] += before[m + p] * weights[m + p];
    }
    float sum = run->newest[f] * weights[rest];
    for (; m < rest; ++m) sum += before[m] * weights[m];
    for (const float part : parts) sum += part;
    run->sums[f] = sum;
    if (rest > 0) {
      std::memcpy(after, before + 1, (rest - 1) * sizeof(float));
      after[rest - 1] = run->newest[f];
    }
    after[rest] = 0;
    before += run->memory;
    weights += run->memory;
    after += run->memory;
  }
}

class SvdfKernel final : public Kernel {
 public:
  SvdfKernel(const KernelSite& site, size_t rank, ops::RecurrentActivation activation)
      : batch_(site.inputs[kX].dims[0]),
        filters_(site.inputs[kFeature].dims[0]),
        memory_(site.inputs[kTime].dims[1]),
        rank_(rank),
        feature_(
            site, filters_, site.inputs[kFeature].dims[1],
            [&](size_t column) {
              return site.inputs[kFeature].as<float>() + column * site.inputs[kFeature].dims[1];
            },
            nullptr),
        time_(filters_ * memory_),
        bias_(filters_ / rank),
        activation_(activation),
        functions_(floatFunctions(site.level)) {
    site.release(kFeature);
    std::copy_n(site.inputs[kTime].as<float>(), time_.size(), time_.data());
    if (site.hasInput(kBias)) {
      std::copy_n(site.inputs[kBias].as<float>(), bias_.size(), bias_.data());
    }
  }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const size_t bytes = batch_ * filters_ * sizeof(float);
    auto* const newest = static_cast<float*>(services.scratch(bytes));
    auto* const sums = static_cast<float*>(services.scratch(bytes));
    multiplyRows(feature_, {operands.input<float>(kX), feature_.depth(), batch_}, nullptr, newest,
                 filters_, services);
    const size_t units = filters_ / rank_;
    services.parallelFor(batch_ * units, kValuesForThread / (rank_ * memory_) + 1,
                         [&](size_t begin, size_t end) {
                           for (size_t i = begin; i < end;) {
                             const size_t b = i / units;
                             const size_t count = std::min(end, (b + 1) * units) - i;
                             runUnits(operands, newest, sums, b, i - b * units, count);
                             i += count;
                           }
                         });
    return okStatus();
  }

 private:
  // `count` units of sequence `b`, from unit `first` on.
  void runUnits(const KernelOperands& operands, const float* newest, float* sums, size_t b,
                size_t first, size_t count) const {
    const size_t filter = first * rank_;
    const size_t row = b * filters_ + filter;
    const FilterRun run = {operands.input<float>(kStateIn) + row * memory_,
                           time_.data() + filter * memory_,
                           newest + row,
                           memory_,
                           count * rank_,
                           operands.output<float>(0) + row * memory_,
                           sums + row};
    ops::runBest<&runFilters>(&run);
    // A unit's sum takes the place of one of its filters' or of an earlier one's.
    float* const totals = sums + row;
    for (size_t unit = 0; unit < count; ++unit) {
      float total = bias_[first + unit];
      for (size_t r = 0; r < rank_; ++r) total += totals[unit * rank_ + r];
      totals[unit] = total;
    }
    applyActivation(functions_, activation_, totals,
                    operands.output<float>(1) + b * (filters_ / rank_) + first, count);
  }

  const size_t batch_;
  const size_t filters_;
  const size_t memory_;
  const size_t rank_;
  const PackedFloats feature_;
  AlignedBuffer<float> time_;
  AlignedBuffer<float> bias_;  // zeros without a bias
  const ops::RecurrentActivation activation_;
  const FloatFunctions& functions_;
};

}  // namespace

std::unique_ptr<Kernel> makeSvdf(const KernelSite& site) {
  const ops::OperationContext context(site.inputs, {}, nullptr);
  int32_t rank = 0;
  ops::RecurrentActivation activation = ops::RecurrentActivation::NONE;
  if (site.inputs[kX].type != OperandType::TENSOR_FLOAT32 || !site.isConstant(kFeature) ||
      !site.isConstant(kTime) || (site.hasInput(kBias) && !site.isConstant(kBias)) ||
      !context.read(kRank, &rank).ok() ||
      !ops::readRecurrentActivation(context, kActivation, &activation).ok()) {
    return nullptr;
  }
  return std::make_unique<SvdfKernel>(site, static_cast<size_t>(rank), activation);
}

}  // namespace halyard::cpudriver
