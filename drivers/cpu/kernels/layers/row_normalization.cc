// Does the work of ten operations row by row.
#include "kernels/layers/row_normalization.h"

#include "kernels/vectors/float_functions.h"
#include "ops/elementwise.h"

namespace halyard::cpudriver {
namespace {

class RowNormalizationKernel final : public Kernel {
 public:
  RowNormalizationKernel(size_t rows, size_t extent, float epsilon)
      : rows_(rows),
        extent_(extent),
        epsilon_(epsilon),
        normalizeRow_(floatFunctions(ops::simdLevel()).normalizeRow) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const from = operands.input<float>(0);
    auto* const to = operands.output<float>(0);
    const RowNormalizer normalizer = {operands.input<float>(1), operands.input<float>(2), epsilon_};
    services.parallelFor(rows_, ops::kElementGrain / extent_ + 1, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        normalizeRow_(from + row * extent_, to + row * extent_, extent_, normalizer);
      }
    });
    return okStatus();
  }

 private:
  const size_t rows_;
  const size_t extent_;
  const float epsilon_;
  void (*const normalizeRow_)(const float*, float*, size_t, const RowNormalizer&);
};

}  // namespace

std::unique_ptr<Kernel> makeRowNormalization(size_t rows, size_t extent, float epsilon) {
  return std::make_unique<RowNormalizationKernel>(rows, extent, epsilon);
}

}  // namespace halyard::cpudriver
