// DEPTH_TO_SPACE and SPACE_TO_DEPTH: move blocks of pixels to channels of one pixel, and back.
#include <cstdint>

#include "ops/data_movement.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

struct Blocks {
  int64_t size = 1;
  ImageAxes axes = {};
};

Status readBlocks(const OperationContext& context, Blocks* blocks) {
  int32_t size = 0;
  HALYARD_RETURN_IF_ERROR(context.read(1, &size), "block size");
  if (size < 1) return opFailed("block size is {}, expected 1 or more", size);
  bool nchw = false;
  HALYARD_RETURN_IF_ERROR(context.readOptional(2, &nchw), "layout");
  *blocks = {size, imageAxes(nchw)};
  return okStatus();
}

Status checkTensors(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(0), 4, 4, "input"));
  return checkSameQuantization(context.input(0), context.output(0));
}

Status inferDepthToSpace(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkTensors(context));
  Blocks blocks;
  HALYARD_RETURN_IF_ERROR(readBlocks(context, &blocks));
  const auto& [size, axes] = blocks;
  Shape dims = context.input(0).dims;
  if (dims[axes.channels] % (size * size) != 0) {
    return opFailed("input has {} channels, expected a multiple of {}, the square of block size {}",
                    dims[axes.channels], size * size, size);
  }
  dims[axes.channels] = static_cast<uint32_t>(dims[axes.channels] / (size * size));
  for (size_t axis : {axes.height, axes.width}) {
    HALYARD_RETURN_IF_ERROR(setDimension(axis, uint64_t{dims[axis]} * size, &dims));
  }
  context.output(0).dims = std::move(dims);
  return okStatus();
}

Status inferSpaceToDepth(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkTensors(context));
  Blocks blocks;
  HALYARD_RETURN_IF_ERROR(readBlocks(context, &blocks));
  const auto& [size, axes] = blocks;
  Shape dims = context.input(0).dims;
  for (size_t axis : {axes.height, axes.width}) {
    if (dims[axis] % size != 0) {
      return opFailed("input has {} {}, expected a multiple of block size {}",
                      axis == axes.height ? "height" : "width", dims[axis], size);
    }
    dims[axis] = static_cast<uint32_t>(dims[axis] / size);
  }
  // The product is computed in two steps, as three factors may need more than 64 bits.
  HALYARD_RETURN_IF_ERROR(setDimension(axes.channels, uint64_t{dims[axes.channels]} * size, &dims));
  HALYARD_RETURN_IF_ERROR(setDimension(axes.channels, uint64_t{dims[axes.channels]} * size, &dims));
  context.output(0).dims = std::move(dims);
  return okStatus();
}

// `deep` has the channels of whole blocks, `wide` their pixels side by side.
struct Mapping {
  size_t count;
  ptrdiff_t deep;
  ptrdiff_t wide;
};
std::vector<Mapping> mappingsOf(const Shape& deep, const Shape& wide, const Blocks& blocks) {
  const auto& [size, axes] = blocks;
  const std::vector<ptrdiff_t> d = rowMajorStrides(deep);
  const std::vector<ptrdiff_t> w = rowMajorStrides(wide);
  const auto side = static_cast<size_t>(size);
  const ptrdiff_t depth = wide[axes.channels];
  return {{deep[axes.batch], d[axes.batch], w[axes.batch]},
          {deep[axes.height], d[axes.height], size * w[axes.height]},
          {side, size * depth * d[axes.channels], w[axes.height]},
          {deep[axes.width], d[axes.width], size * w[axes.width]},
          {side, depth * d[axes.channels], w[axes.width]},
          {wide[axes.channels], d[axes.channels], w[axes.channels]}};
}

// Both kernels copy the same pairs of elements, in opposite directions.
template <bool toSpace>
Status compute(OperationContext& context) {
  Blocks blocks;
  HALYARD_RETURN_IF_ERROR(readBlocks(context, &blocks));
  const Tensor& from = context.input(0);
  const Tensor& to = context.output(0);
  const Shape& deep = toSpace ? from.dims : to.dims;
  const Shape& wide = toSpace ? to.dims : from.dims;
  std::vector<CopyLoop> loops;
  for (const Mapping& m : mappingsOf(deep, wide, blocks)) {
    loops.push_back({m.count, toSpace ? m.deep : m.wide, toSpace ? m.wide : m.deep});
  }
  copyElements(context.services(), from, 0, to, 0, std::move(loops));
  return okStatus();
}

Signature makeSignature() {
  Signature signature;
  signature.rows = floatAndQuant8Rows(FeatureLevel::FL1);
  signature.forms = {
      {"",
       {typed("input", 0, rank(4)), int32("block size"), boolean("NCHW layout").withDefault(0)},
       {{2, FeatureLevel::FL1}, {3, FeatureLevel::FL3}}}};
  signature.outputs = {typed("output", 0, rank(4))};
  return signature;
}

}  // namespace

const OperationDefinition& depthToSpace() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::DEPTH_TO_SPACE, makeSignature(),           inferDepthToSpace, compute<true>,
        /*acceptsZeroSized=*/false,    /*float16AsFloat32=*/false};
  });
}

const OperationDefinition& spaceToDepth() {
  return madeOnce([] {
    return OperationDefinition{
        OperationType::SPACE_TO_DEPTH, makeSignature(),           inferSpaceToDepth, compute<false>,
        /*acceptsZeroSized=*/false,    /*float16AsFloat32=*/false};
  });
}

}  // namespace halyard::ops
