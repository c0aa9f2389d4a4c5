// What nineteen operations do one after the other, row by row.
#include "kernels/row_rounding.h"

#include "kernels/float_functions.h"
#include "ops/elementwise.h"

namespace halyard::cpudriver {
namespace {

class RowRoundingKernel final : public Kernel {
 public:
  RowRoundingKernel(const RoundingSteps& steps, size_t rows, size_t extent)
      : steps_(steps),
        rows_(rows),
        extent_(extent),
        roundRow_(floatFunctions(ops::simdLevel()).roundRow) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const from = operands.input<float>(0);
    auto* const to = operands.output<float>(0);
    services.parallelFor(rows_, ops::kElementGrain / extent_ + 1, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        roundRow_(from + row * extent_, to + row * extent_, extent_, steps_);
      }
    });
    return okStatus();
  }

 private:
  const RoundingSteps steps_;
  const size_t rows_;
  const size_t extent_;
  void (*const roundRow_)(const float*, float*, size_t, const RoundingSteps&);
};

}  // namespace

std::unique_ptr<Kernel> makeRowRounding(const RoundingSteps& steps, size_t rows, size_t extent) {
  return std::make_unique<RowRoundingKernel>(steps, rows, extent);
}

}  // namespace halyard::cpudriver
