// Operations that move elements.
#include <cstring>

#include "kernels/kernel_list.h"
#include "kernels/moves.h"
#include "ops/axis.h"
#include "ops/data_movement.h"
#include "ops/requantize.h"

namespace halyard::vulkandriver {
namespace {

using ops::CopyLoop;
using Strides = std::vector<ptrdiff_t>;

Status readInts(const Site& site, size_t i, std::span<const int32_t>* values) {
  return site.context.readInts(i, values);
}

}  // namespace

Status recordSameOrder(const Site& site, Recording& recording) {
  const size_t count = site.output(0).elementCount();
  return addMove(moveOf(site, 0, 0, {{count, 1, 1}}), recording);
}

Status recordTranspose(const Site& site, Recording& recording) {
  const Shape& dims = site.input(0).dims;
  std::span<const int32_t> order;
  if (site.context.hasInput(1)) HALYARD_RETURN_IF_ERROR(readInts(site, 1, &order));
  const Strides from = ops::rowMajorStrides(dims);
  const Strides to = ops::rowMajorStrides(site.output(0).dims);
  std::vector<CopyLoop> loops;
  for (size_t d = 0; d < dims.size(); ++d) {
    const size_t source = order.empty() ? dims.size() - 1 - d : static_cast<size_t>(order[d]);
    loops.push_back({dims[source], from[source], to[d]});
  }
  return addMove(moveOf(site, 0, 0, std::move(loops)), recording);
}

Status recordSlice(const Site& site, Recording& recording) {
  std::span<const int32_t> begins;
  HALYARD_RETURN_IF_ERROR(readInts(site, 1, &begins));
  const Strides from = ops::rowMajorStrides(site.input(0).dims);
  const Strides to = ops::rowMajorStrides(site.output(0).dims);
  Move move = moveOf(site, 0, 0, {});
  for (size_t d = 0; d < begins.size(); ++d) {
    move.sourceFirst += static_cast<size_t>(begins[d]) * static_cast<size_t>(from[d]);
    move.loops.push_back({site.output(0).dims[d], from[d], to[d]});
  }
  return addMove(move, recording);
}

Status recordPad(const Site& site, Recording& recording) {
  const ops::Tensor& output = site.output(0);
  std::span<const int32_t> paddings;
  HALYARD_RETURN_IF_ERROR(readInts(site, 1, &paddings));
  int32_t border = ops::zeroByte(output);
  if (site.type == OperationType::PAD_V2) {
    if (output.type == OperandType::TENSOR_FLOAT16 || output.type == OperandType::TENSOR_FLOAT32) {
      // The bits as the model stores them.
      if (site.input(2).data == nullptr) return badData("the pad value is no constant");
      border = 0;
      std::memcpy(&border, site.input(2).data, elementSize(output.type));
    } else {
      HALYARD_RETURN_IF_ERROR(site.context.read(2, &border));
    }
  }
  Move fill = moveOf(site, 0, 0, {{output.elementCount(), 0, 1}});
  fill.kind = MoveKind::FILL;
  fill.value = border;
  HALYARD_RETURN_IF_ERROR(addMove(fill, recording));
  const Strides from = ops::rowMajorStrides(site.input(0).dims);
  const Strides to = ops::rowMajorStrides(output.dims);
  Move move = moveOf(site, 0, 0, {});
  for (size_t d = 0; d < from.size(); ++d) {
    move.targetFirst += static_cast<size_t>(paddings[2 * d]) * static_cast<size_t>(to[d]);
    move.loops.push_back({site.input(0).dims[d], from[d], to[d]});
  }
  return addMove(move, recording);
}

Status recordConcatenation(const Site& site, Recording& recording) {
  const ops::Tensor& output = site.output(0);
  const size_t tensors = site.inputs.size() - 1;
  int32_t axis = 0;
  HALYARD_RETURN_IF_ERROR(site.context.read(tensors, &axis));
  const auto whole = ops::axisView(output.dims, static_cast<size_t>(axis));
  size_t first = 0;
  for (size_t i = 0; i < tensors; ++i) {
    const ops::Tensor& input = site.input(i);
    const size_t block = input.dims[static_cast<size_t>(axis)] * whole.inner;
    Move move = moveOf(site, i, 0,
                       {{whole.outer, static_cast<ptrdiff_t>(block),
                         static_cast<ptrdiff_t>(whole.extent * whole.inner)},
                        {block, 1, 1}});
    move.targetFirst = first;
    first += block;
    if (isQuant8Asymm(output.type) &&
        (input.scale != output.scale || input.zeroPoint != output.zeroPoint)) {
      const bool isSigned = output.type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED;
      std::vector<uint8_t> table(256);
      for (int32_t byte = 0; byte < 256; ++byte) {
        const int32_t q = isSigned ? static_cast<int8_t>(byte) : byte;
        table[static_cast<size_t>(byte)] = static_cast<uint8_t>(ops::requantize(q, input, output));
      }
      move.kind = MoveKind::TABLE;
      move.value = recording.constant(std::move(table));
    }
    HALYARD_RETURN_IF_ERROR(addMove(move, recording));
  }
  return okStatus();
}

Status recordSplit(const Site& site, Recording& recording) {
  int32_t axis = 0;
  HALYARD_RETURN_IF_ERROR(site.context.read(1, &axis));
  size_t resolved = 0;
  HALYARD_RETURN_IF_ERROR(ops::resolveAxis(axis, site.input(0).rank(), &resolved));
  const auto view = ops::axisView(site.input(0).dims, resolved);
  const size_t whole = view.extent * view.inner;
  const size_t part = whole / site.outputs.size();
  for (size_t i = 0; i < site.outputs.size(); ++i) {
    Move move = moveOf(
        site, 0, i,
        {{view.outer, static_cast<ptrdiff_t>(whole), static_cast<ptrdiff_t>(part)}, {part, 1, 1}});
    move.sourceFirst = i * part;
    HALYARD_RETURN_IF_ERROR(addMove(move, recording));
  }
  return okStatus();
}

Status recordDepthSpace(const Site& site, Recording& recording) {
  const bool toSpace = site.type == OperationType::DEPTH_TO_SPACE;
  int32_t size = 0;
  HALYARD_RETURN_IF_ERROR(site.context.read(1, &size));
  bool nchw = false;
  HALYARD_RETURN_IF_ERROR(site.context.readOptional(2, &nchw));
  const auto [batch, height, width, channels] = ops::imageAxes(nchw);
  const Shape& deep = toSpace ? site.input(0).dims : site.output(0).dims;
  const Shape& wide = toSpace ? site.output(0).dims : site.input(0).dims;
  const Strides d = ops::rowMajorStrides(deep);
  const Strides w = ops::rowMajorStrides(wide);
  const auto side = static_cast<size_t>(size);
  const ptrdiff_t depth = wide[channels];
  std::vector<CopyLoop> loops = {{deep[batch], d[batch], w[batch]},
                                 {deep[height], d[height], size * w[height]},
                                 {side, size * depth * d[channels], w[height]},
                                 {deep[width], d[width], size * w[width]},
                                 {side, depth * d[channels], w[width]},
                                 {wide[channels], d[channels], w[channels]}};
  if (!toSpace) {
    for (CopyLoop& loop : loops) std::swap(loop.from, loop.to);
  }
  return addMove(moveOf(site, 0, 0, std::move(loops)), recording);
}

Status recordBatchToSpace(const Site& site, Recording& recording) {
  std::span<const int32_t> sizes;
  HALYARD_RETURN_IF_ERROR(readInts(site, 1, &sizes));
  bool nchw = false;
  HALYARD_RETURN_IF_ERROR(site.context.readOptional(2, &nchw));
  const auto [batch, height, width, channels] = ops::imageAxes(nchw);
  const Shape& dims = site.input(0).dims;
  const Strides from = ops::rowMajorStrides(dims);
  const Strides to = ops::rowMajorStrides(site.output(0).dims);
  const uint32_t images = site.output(0).dims[batch];
  const ptrdiff_t place = images * from[batch];
  return addMove(moveOf(site, 0, 0,
                        {{images, from[batch], to[batch]},
                         {dims[height], from[height], sizes[0] * to[height]},
                         {static_cast<size_t>(sizes[0]), sizes[1] * place, to[height]},
                         {dims[width], from[width], sizes[1] * to[width]},
                         {static_cast<size_t>(sizes[1]), place, to[width]},
                         {dims[channels], from[channels], to[channels]}}),
                 recording);
}

Status recordChannelShuffle(const Site& site, Recording& recording) {
  int32_t groups = 0;
  int32_t axis = 0;
  HALYARD_RETURN_IF_ERROR(site.context.read(1, &groups));
  HALYARD_RETURN_IF_ERROR(site.context.read(2, &axis));
  size_t resolved = 0;
  HALYARD_RETURN_IF_ERROR(ops::resolveAxis(axis, site.input(0).rank(), &resolved));
  const auto view = ops::axisView(site.input(0).dims, resolved);
  const auto count = static_cast<size_t>(groups);
  const size_t each = view.extent / count;
  const auto inner = static_cast<ptrdiff_t>(view.inner);
  const auto block = static_cast<ptrdiff_t>(view.extent) * inner;
  return addMove(moveOf(site, 0, 0,
                        {{view.outer, block, block},
                         {each, inner, groups * inner},
                         {count, static_cast<ptrdiff_t>(each) * inner, inner},
                         {view.inner, 1, 1}}),
                 recording);
}

Status recordReverse(const Site& site, Recording& recording) {
  std::span<const int32_t> axes;
  HALYARD_RETURN_IF_ERROR(readInts(site, 1, &axes));
  const auto view = ops::axisView(site.input(0).dims, static_cast<size_t>(axes[0]));
  const auto inner = static_cast<ptrdiff_t>(view.inner);
  const auto whole = static_cast<ptrdiff_t>(view.extent) * inner;
  Move move = moveOf(
      site, 0, 0, {{view.outer, whole, whole}, {view.extent, -inner, inner}, {view.inner, 1, 1}});
  move.sourceFirst = (view.extent - 1) * view.inner;
  return addMove(move, recording);
}

Status recordPack(const Site& site, Recording& recording) {
  int32_t axis = 0;
  HALYARD_RETURN_IF_ERROR(site.context.read(0, &axis));
  const ops::Tensor& output = site.output(0);
  const auto view = ops::axisView(output.dims, static_cast<size_t>(axis));
  for (size_t i = 1; i < site.inputs.size(); ++i) {
    Move move = moveOf(site, i, 0,
                       {{view.outer, static_cast<ptrdiff_t>(view.inner),
                         static_cast<ptrdiff_t>(view.extent * view.inner)},
                        {view.inner, 1, 1}});
    move.targetFirst = (i - 1) * view.inner;
    HALYARD_RETURN_IF_ERROR(addMove(move, recording));
  }
  return okStatus();
}

Status recordTile(const Site& site, Recording& recording) {
  std::span<const int32_t> multiples;
  HALYARD_RETURN_IF_ERROR(readInts(site, 1, &multiples));
  const Shape& dims = site.input(0).dims;
  const Strides from = ops::rowMajorStrides(dims);
  const Strides to = ops::rowMajorStrides(site.output(0).dims);
  std::vector<CopyLoop> loops;
  for (size_t d = 0; d < dims.size(); ++d) {
    loops.push_back({static_cast<size_t>(multiples[d]), 0, dims[d] * to[d]});
    loops.push_back({dims[d], from[d], to[d]});
  }
  return addMove(moveOf(site, 0, 0, std::move(loops)), recording);
}

}  // namespace halyard::vulkandriver
