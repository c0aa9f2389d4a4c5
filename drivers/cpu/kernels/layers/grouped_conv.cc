// Grouped convolution: the channels of each group are brought together to an image of their own,
// which is convolved as any other.
#include <algorithm>

#include "kernels/layers/conv_site.h"
#include "kernels/layers/patch_rows.h"
#include "kernels/makers.h"
#include "kernels/matrix/product_parts.h"
#include "kernels/vectors/even_pieces.h"
#include "ops/small_copy.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kBytesForThread = 64 * 1024;

// `conv` is that of one group.
bool readGroupedSite(const KernelSite& site, ConvSite* conv, size_t* groups) {
  constexpr size_t kImplicitCount = 9;
  const ops::OperationContext context(site.inputs, {}, nullptr);
  ops::WindowOptions options;
  size_t next = 3;
  int32_t count = 0;
  bool nchw = false;
  ops::ImageDims filter;
  const bool isExplicit = ops::hasExplicitPadding(context, kImplicitCount);
  if (!ops::readPaddingAndStrides(context, isExplicit, &next, &options).ok() ||
      !context.read(next++, &count).ok() ||
      !ops::readFuseCode(context, next++, &conv->activation).ok() ||
      !ops::readLayoutAndDilations(context, next, /*dilated=*/false, &nchw, &options).ok() ||
      nchw || !ops::readImageDims("input", context.input(0).dims, false, &conv->input).ok() ||
      !ops::readImageDims("filter", context.input(1).dims, false, &filter).ok() ||
      !ops::resolveWindow(options, conv->input, static_cast<int64_t>(filter.height),
                          static_cast<int64_t>(filter.width), &conv->window)
           .ok()) {
    return false;
  }
  *groups = static_cast<size_t>(count);
  conv->input.channels /= *groups;
  conv->output = {conv->input.batch, static_cast<size_t>(conv->window.height.output),
                  static_cast<size_t>(conv->window.width.output), filter.batch / *groups};
  return true;
}

class GroupedConvKernel final : public Kernel {
 public:
  // `cellBytes`: of one group's channels in one cell of the image.
  GroupedConvKernel(ProductParts products, size_t groups, size_t cells, size_t cellBytes)
      : products_(std::move(products)), groups_(groups), cells_(cells), cellBytes_(cellBytes) {}

  bool readsConstants() const override { return false; }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* image = operands.input<std::byte>(0);
    if (groups_ > 1) image = divided(image, services);
    products_.run(image, operands.output<std::byte>(0), services);
    return okStatus();
  }

 private:
  // [groups][cells][channels of a group]
  const std::byte* divided(const std::byte* image, ops::KernelServices& services) const {
    auto* const to = static_cast<std::byte*>(services.scratch(groups_ * cells_ * cellBytes_));
    services.parallelFor(cells_, divideUp(kBytesForThread, groups_ * cellBytes_),
                         [&](size_t begin, size_t end) {
                           for (size_t group = 0; group < groups_; ++group) {
                             copyGroup(image, group, begin, end, to);
                           }
                         });
    return to;
  }
  void copyGroup(const std::byte* image, size_t group, size_t begin, size_t end,
                 std::byte* to) const {
    const std::byte* from = image + (begin * groups_ + group) * cellBytes_;
    to += (group * cells_ + begin) * cellBytes_;
    for (size_t cell = begin; cell < end; ++cell) {
      ops::copySmall(to, from, cellBytes_);
      from += groups_ * cellBytes_;
      to += cellBytes_;
    }
  }

  const ProductParts products_;
  const size_t groups_;
  const size_t cells_;
  const size_t cellBytes_;
};

}  // namespace

std::unique_ptr<Kernel> makeGroupedConv(const KernelSite& site) {
  ConvSite conv;
  size_t groups = 0;
  if (!hasConstantWeights(site) || !readGroupedSite(site, &conv, &groups)) return nullptr;
  const size_t element = elementSize(site.inputs[0].type);
  const size_t cellBytes = conv.input.channels * element;
  const size_t cells = conv.input.batch * conv.input.height * conv.input.width;
  const size_t columns = conv.output.channels;
  const size_t depth = site.inputs[1].elementCount() / columns / groups;
  const auto* const filter = site.inputs[1].as<std::byte>();
  std::vector<ProductPart> parts;
  for (size_t group = 0; group < groups; ++group) {
    const PartSite part(site, filter + group * columns * depth * element, group * columns, columns,
                        depth);
    auto layer = makeMatrixLayer(part.site(), columns, conv.activation);
    if (layer == nullptr) return nullptr;
    // All groups have the same rows, each of its own image.
    RowSource rows = parts.empty() ? patchRows(conv, element, *layer) : parts[0].rows;
    const size_t resultBytes = columns * element;
    const auto store = [=](const std::byte* from, size_t begin, size_t end, std::byte* to) {
      to += (begin * groups + group) * resultBytes;
      for (size_t row = begin; row < end; ++row) {
        ops::copySmall(to, from, resultBytes);
        from += resultBytes;
        to += groups * resultBytes;
      }
    };
    parts.push_back({std::move(layer), std::move(rows), group * cells * cellBytes, store});
  }
  site.release(1);
  return std::make_unique<GroupedConvKernel>(ProductParts(std::move(parts)), groups, cells,
                                             cellBytes);
}

}  // namespace halyard::cpudriver
