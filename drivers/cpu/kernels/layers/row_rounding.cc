// Does the work of nineteen operations row by row.
#include "kernels/layers/row_rounding.h"

#include "kernels/vectors/float_functions.h"
#include "ops/elementwise.h"

namespace halyard::cpudriver {
namespace {

class RowRoundingKernel final : public Kernel {
 public:
  RowRoundingKernel(const RoundedRows& rounding, size_t rows)
      : rounding_(rounding), rows_(rows), roundRow_(floatFunctions(ops::simdLevel()).roundRow) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const from = operands.input<float>(0);
    auto* const to = operands.output<float>(0);
    const size_t extent = rounding_.extent;
    services.parallelFor(rows_, ops::kElementGrain / extent + 1, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        roundRow_(from + row * extent, to + row * extent, extent, rounding_.steps);
      }
    });
    return okStatus();
  }

 private:
  const RoundedRows rounding_;
  const size_t rows_;
  void (*const roundRow_)(const float*, float*, size_t, const ops::RoundingSteps&);
};

}  // namespace

std::unique_ptr<Kernel> makeRowRounding(const RoundedRows& rounding, size_t rows) {
  return std::make_unique<RowRoundingKernel>(rounding, rows);
}

}  // namespace halyard::cpudriver
