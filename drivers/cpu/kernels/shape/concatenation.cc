// Tensors side by side: copies of blocks, or of what a table makes of them.
#include <cstring>
#include <optional>
#include <vector>

#include "kernels/elementwise/byte_table.h"
#include "kernels/makers.h"
#include "ops/axis.h"
#include "ops/small_copy.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kGrainBytes = 1 << 16;

class ConcatenationKernel final : public Kernel {
 public:
  ConcatenationKernel(const KernelSite& site, size_t axis) {
    const ops::Tensor& output = site.outputs[0];
    const ops::AxisView view = ops::axisView(output.dims, axis);
    const size_t unit = view.inner * elementSize(output.type);
    outer_ = view.outer;
    step_ = view.extent * unit;
    size_t offset = 0;
    for (const ops::Tensor& input : site.inputs.first(site.inputs.size() - 1)) {
      Part part = {offset, input.dims[axis] * unit, std::nullopt};
      const bool isSame = input.scale == output.scale && input.zeroPoint == output.zeroPoint;
      if (isQuant8Asymm(output.type) && !isSame) part.table = ops::requantizeTable(input, output);
      offset += part.bytes;
      parts_.push_back(part);
    }
  }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    auto* const to = operands.output<std::byte>(0);
    // With one block for each input, the threads share the inputs.
    if (outer_ == 1) {
      services.parallelFor(parts_.size(), kGrainBytes * parts_.size() / step_ + 1,
                           [&](size_t begin, size_t end) {
                             for (size_t i = begin; i < end; ++i) copyBlocks(operands, i, 0, 1, to);
                           });
      return okStatus();
    }
    services.parallelFor(outer_, kGrainBytes / step_ + 1, [&](size_t begin, size_t end) {
      for (size_t i = 0; i < parts_.size(); ++i) copyBlocks(operands, i, begin, end, to);
    });
    return okStatus();
  }

 private:
  struct Part {
    size_t offset;
    size_t bytes;
    std::optional<ops::ByteTable> table;
  };

  void copyBlocks(const KernelOperands& operands, size_t index, size_t begin, size_t end,
                  std::byte* to) const {
    const Part& part = parts_[index];
    const std::byte* const from = operands.input<std::byte>(index);
    for (size_t o = begin; o < end; ++o) {
      const std::byte* const block = from + o * part.bytes;
      std::byte* const place = to + o * step_ + part.offset;
      if (part.table) {
        lookUpBytes(*part.table, reinterpret_cast<const uint8_t*>(block),
                    reinterpret_cast<uint8_t*>(place), part.bytes);
      } else {
        ops::copySmall(place, block, part.bytes);
      }
    }
  }

  std::vector<Part> parts_;
  size_t outer_ = 0;
  size_t step_ = 0;  // bytes of a block of the output
};

}  // namespace

std::unique_ptr<Kernel> makeConcatenation(const KernelSite& site) {
  const ops::OperationContext context(site.inputs, {}, nullptr);
  int32_t axis = 0;
  if (!context.read(site.inputs.size() - 1, &axis).ok()) return nullptr;
  return std::make_unique<ConcatenationKernel>(site, static_cast<size_t>(axis));
}

}  // namespace halyard::cpudriver
