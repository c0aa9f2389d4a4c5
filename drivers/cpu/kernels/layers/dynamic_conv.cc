// The patches under the filter are gathered first, and are the left side of a product whose right
// side is the filter.
#include "kernels/layers/dynamic_conv.h"

#include <optional>

#include "kernels/layers/patch_gatherer.h"
#include "kernels/layers/patch_rows.h"
#include "kernels/matrix/matmul.h"
#include "kernels/vectors/even_pieces.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kGatherBytes = 32 * 1024;  // that are worth a range
constexpr size_t kMostPatchBytes = size_t{32} << 20;

class DynamicConvKernel final : public Kernel {
 public:
  // `product` multiplies rows of `rowBytes` with the filter; without a gatherer they lie in the
  // image as they are.
  DynamicConvKernel(std::unique_ptr<Kernel> product, std::optional<PatchGatherer> gatherer,
                    size_t rows, size_t rowBytes)
      : product_(std::move(product)),
        gatherer_(std::move(gatherer)),
        rows_(rows),
        rowBytes_(rowBytes) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    if (!gatherer_) return product_->run(operands, services);
    auto* const patches = static_cast<std::byte*>(services.scratch(rows_ * rowBytes_));
    const auto* const images = operands.input<std::byte>(0);
    services.parallelFor(rows_, divideUp(kGatherBytes, rowBytes_), [&](size_t begin, size_t end) {
      gatherer_->gather(images, begin, end, patches + begin * rowBytes_);
    });
    void* const data[] = {patches, operands.data[operands.inputs[1]],
                          operands.data[operands.outputs[0]]};
    constexpr uint32_t kInputs[] = {0, 1};
    constexpr uint32_t kOutputs[] = {2};
    return product_->run({data, kInputs, kOutputs}, services);
  }

 private:
  const std::unique_ptr<Kernel> product_;
  const std::optional<PatchGatherer> gatherer_;
  const size_t rows_;
  const size_t rowBytes_;
};

}  // namespace

std::unique_ptr<Kernel> makeDynamicConv(const KernelSite& site, const ConvSite& conv) {
  if (!site.isConstant(2) || site.fused.addsInput || site.fused.rounding) return nullptr;
  const ops::Tensor& image = site.inputs[0];
  const size_t elementBytes = elementSize(image.type);
  MatmulSizes sizes;
  sizes.rows = conv.output.batch * conv.output.height * conv.output.width;
  sizes.columns = conv.output.channels;
  sizes.depth = site.inputs[1].elementCount() / sizes.columns;
  sizes.isRightTransposed = true;
  const size_t rowBytes = sizes.depth * elementBytes;
  const bool isDirect = isPointwise(conv);
  if (!isDirect && sizes.rows > kMostPatchBytes / rowBytes) return nullptr;
  auto product = makeMatmul(site, sizes, 2, conv.activation);
  if (product == nullptr) return nullptr;
  std::optional<PatchGatherer> gatherer;
  if (!isDirect) {
    const auto zero = static_cast<std::byte>(elementBytes == 1 ? image.zeroPoint : 0);
    gatherer.emplace(conv, elementBytes, zero, rowBytes);
  }
  return std::make_unique<DynamicConvKernel>(std::move(product), std::move(gatherer), sizes.rows,
                                             rowBytes);
}

}  // namespace halyard::cpudriver
