// Operations that move regular parts of a tensor, or repeat one value.
#include <algorithm>
#include <cstring>

#include "kernels/kernel_list.h"
#include "kernels/moves.h"
#include "ops/conv_geometry.h"
#include "ops/data_movement.h"

namespace halyard::vulkandriver {
namespace {

using ops::CopyLoop;
using Strides = std::vector<ptrdiff_t>;

Move fillOf(const Site& site, int32_t value) {
  Move fill = moveOf(site, 0, 0, {{site.output(0).elementCount(), 0, 1}});
  fill.kind = MoveKind::FILL;
  fill.value = value;
  return fill;
}

// The first element of a slice with a stride; the last argument: the mask ignores `begin`.
int64_t firstOf(int64_t begin, int64_t size, int64_t stride, bool isFromEdge) {
  if (isFromEdge) return stride > 0 ? 0 : size - 1;
  begin = std::clamp(begin, -size, stride > 0 ? size : size - 1);
  return begin < 0 ? begin + size : begin;
}

// One of the three parts of an axis with mirrored borders, of which the middle is the input.
struct MirrorPart {
  ptrdiff_t count;
  ptrdiff_t first;  // coordinate in the input
  ptrdiff_t step;   // 1 or -1
  ptrdiff_t target;
};

std::vector<MirrorPart> mirrorParts(ptrdiff_t size, ptrdiff_t before, ptrdiff_t after,
                                    ptrdiff_t leftOut) {
  std::vector<MirrorPart> parts = {{size, 0, 1, before}};
  if (before > 0) parts.push_back({before, before - 1 + leftOut, -1, 0});
  if (after > 0) parts.push_back({after, size - 1 - leftOut, -1, before + size});
  return parts;
}

// One number of each pair.
Status addPart(const Site& site, size_t part, Recording& recording) {
  Move move = moveOf(site, 0, 0, {{site.output(0).elementCount(), 2, 1}});
  move.sourceFirst = part;
  return addMove(move, recording);
}

}  // namespace

Status recordStridedSlice(const Site& site, Recording& recording) {
  const Shape& dims = site.input(0).dims;
  std::span<const int32_t> begins;
  std::span<const int32_t> ends;
  std::span<const int32_t> steps;
  int32_t beginMask = 0;
  HALYARD_RETURN_IF_ERROR(site.context.readInts(1, &begins));
  HALYARD_RETURN_IF_ERROR(site.context.readInts(3, &steps));
  HALYARD_RETURN_IF_ERROR(site.context.read(4, &beginMask));
  int32_t shrinkMask = 0;
  HALYARD_RETURN_IF_ERROR(site.context.read(6, &shrinkMask));
  const Strides from = ops::rowMajorStrides(dims);
  const Strides to = ops::rowMajorStrides(site.output(0).dims);
  Move move = moveOf(site, 0, 0, {});
  size_t kept = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool isFromEdge = (beginMask >> d & 1) != 0;
    const int64_t first = firstOf(begins[d], dims[d], steps[d], isFromEdge);
    move.sourceFirst += static_cast<size_t>(first * from[d]);
    // A dimension that disappears has one element.
    if ((shrinkMask >> d & 1) != 0) continue;
    move.loops.push_back({site.output(0).dims[kept], steps[d] * from[d], to[kept]});
    ++kept;
  }
  return addMove(move, recording);
}

Status recordSpaceToBatch(const Site& site, Recording& recording) {
  std::span<const int32_t> sizes;
  std::span<const int32_t> paddings;
  HALYARD_RETURN_IF_ERROR(site.context.readInts(1, &sizes));
  HALYARD_RETURN_IF_ERROR(site.context.readInts(2, &paddings));
  bool nchw = false;
  HALYARD_RETURN_IF_ERROR(site.context.readOptional(3, &nchw));
  const auto [batch, height, width, channels] = ops::imageAxes(nchw);
  const Shape& dims = site.input(0).dims;
  const Shape& outer = site.output(0).dims;
  const Strides from = ops::rowMajorStrides(dims);
  const Strides to = ops::rowMajorStrides(outer);
  HALYARD_RETURN_IF_ERROR(addMove(fillOf(site, ops::zeroByte(site.output(0))), recording));
  const ops::WindowAxis rows{.input = dims[height], .filter = outer[height], .dilation = sizes[0]};
  const ops::WindowAxis columns{.input = dims[width], .filter = outer[width], .dilation = sizes[1]};
  // One move for each position in a block: its pixels are one block apart.
  for (int64_t place = 0; place < int64_t{sizes[0]} * sizes[1]; ++place) {
    const int64_t firstRow = place / sizes[1] - paddings[0];
    const int64_t firstColumn = place % sizes[1] - paddings[2];
    const ops::TapRange y = ops::tapsInside(rows, firstRow);
    const ops::TapRange x = ops::tapsInside(columns, firstColumn);
    if (y.begin == y.end || x.begin == x.end) continue;
    Move move = moveOf(site, 0, 0,
                       {{dims[batch], from[batch], to[batch]},
                        {static_cast<size_t>(y.end - y.begin), sizes[0] * from[height], to[height]},
                        {static_cast<size_t>(x.end - x.begin), sizes[1] * from[width], to[width]},
                        {dims[channels], from[channels], to[channels]}});
    move.sourceFirst = static_cast<size_t>((firstRow + y.begin * sizes[0]) * from[height] +
                                           (firstColumn + x.begin * sizes[1]) * from[width]);
    move.targetFirst = static_cast<size_t>(place * dims[batch] * to[batch] + y.begin * to[height] +
                                           x.begin * to[width]);
    HALYARD_RETURN_IF_ERROR(addMove(move, recording));
  }
  return okStatus();
}

Status recordMirrorPad(const Site& site, Recording& recording) {
  constexpr size_t kMostRank = 4;  // one move for each of the 3^rank parts
  const Shape& dims = site.input(0).dims;
  if (dims.size() > kMostRank) return badData("rank {}, at most {}", dims.size(), kMostRank);
  std::span<const int32_t> paddings;
  HALYARD_RETURN_IF_ERROR(site.context.readInts(1, &paddings));
  int32_t mode = 0;
  HALYARD_RETURN_IF_ERROR(site.context.read(2, &mode));
  const Strides from = ops::rowMajorStrides(dims);
  const Strides to = ops::rowMajorStrides(site.output(0).dims);
  std::vector<Move> moves = {moveOf(site, 0, 0, {})};
  for (size_t d = 0; d < dims.size(); ++d) {
    std::vector<Move> divided;
    for (const MirrorPart& part :
         mirrorParts(dims[d], paddings[2 * d], paddings[2 * d + 1], mode == 0 ? 1 : 0)) {
      for (Move move : moves) {
        move.sourceFirst += static_cast<size_t>(part.first * from[d]);
        move.targetFirst += static_cast<size_t>(part.target * to[d]);
        move.loops.push_back({static_cast<size_t>(part.count), part.step * from[d], to[d]});
        divided.push_back(std::move(move));
      }
    }
    moves = std::move(divided);
  }
  for (const Move& move : moves) HALYARD_RETURN_IF_ERROR(addMove(move, recording));
  return okStatus();
}

Status recordFill(const Site& site, Recording& recording) {
  return addMove(moveOf(site, 1, 0, {{site.output(0).elementCount(), 0, 1}}), recording);
}

Status recordShape(const Site& site, Recording& recording) {
  const Shape& dims = site.input(0).dims;
  std::vector<uint8_t> bytes(dims.size() * sizeof(uint32_t));
  std::memcpy(bytes.data(), dims.data(), bytes.size());
  Move move = moveOf(site, 0, 0, {{dims.size(), 1, 1}});
  move.source = recording.constant(std::move(bytes));
  return addMove(move, recording);
}

// Each step of the input lies between elements of the result that have the fill value.
Status recordDilate(const Site& site, Recording& recording) {
  std::span<const int32_t> steps;
  HALYARD_RETURN_IF_ERROR(site.context.readInts(1, &steps));
  const Shape& dims = site.input(0).dims;
  const Strides from = ops::rowMajorStrides(dims);
  const Strides to = ops::rowMajorStrides(site.output(0).dims);
  HALYARD_RETURN_IF_ERROR(
      addMove(moveOf(site, 2, 0, {{site.output(0).elementCount(), 0, 1}}), recording));
  std::vector<CopyLoop> loops;
  for (size_t d = 0; d < dims.size(); ++d) loops.push_back({dims[d], from[d], steps[d] * to[d]});
  return addMove(moveOf(site, 0, 0, std::move(loops)), recording);
}

Status recordUpdateSlice(const Site& site, Recording& recording) {
  if (site.input(2).data == nullptr) return badData("the starts are no constant");
  std::span<const int32_t> starts;
  HALYARD_RETURN_IF_ERROR(site.context.readInts(2, &starts));
  const Shape& whole = site.output(0).dims;
  const Shape& part = site.input(1).dims;
  const Strides from = ops::rowMajorStrides(part);
  const Strides to = ops::rowMajorStrides(whole);
  HALYARD_RETURN_IF_ERROR(
      addMove(moveOf(site, 0, 0, {{site.output(0).elementCount(), 1, 1}}), recording));
  Move move = moveOf(site, 1, 0, {});
  for (size_t d = 0; d < part.size(); ++d) {
    const int64_t most = int64_t{whole[d]} - part[d];
    const int64_t start = std::clamp<int64_t>(starts[d], 0, most);
    move.targetFirst += static_cast<size_t>(start * to[d]);
    move.loops.push_back({part[d], from[d], to[d]});
  }
  return addMove(move, recording);
}

Status recordRealPart(const Site& site, Recording& recording) {
  return addPart(site, 0, recording);
}

Status recordImaginaryPart(const Site& site, Recording& recording) {
  return addPart(site, 1, recording);
}

Status recordRank(const Site& site, Recording& recording) {
  return addMove(fillOf(site, static_cast<int32_t>(site.input(0).dims.size())), recording);
}

}  // namespace halyard::vulkandriver
