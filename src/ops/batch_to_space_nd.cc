// BATCH_TO_SPACE_ND and SPACE_TO_BATCH_ND: merge images with every n-th pixel into one image, and
// split an image with a border.
#include <cstdint>
#include <cstring>
#include <span>

#include "ops/conv_geometry.h"
#include "ops/data_movement.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

struct Blocks {
  int64_t height = 1;
  int64_t width = 1;
  ImageAxes axes = {};
};

Status readBlocks(const OperationContext& context, size_t layoutInput, Blocks* blocks) {
  std::span<const int32_t> sizes;
  HALYARD_RETURN_IF_ERROR(readIntsOfShape(context, 1, {2}, "block sizes", &sizes));
  if (sizes[0] < 1 || sizes[1] < 1) {
    return opFailed("block sizes are {} and {}, expected 1 or more", sizes[0], sizes[1]);
  }
  bool nchw = false;
  HALYARD_RETURN_IF_ERROR(context.readOptional(layoutInput, &nchw), "layout");
  *blocks = {sizes[0], sizes[1], imageAxes(nchw)};
  return okStatus();
}

Status checkTensors(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(0), 4, 4, "input"));
  return checkSameQuantization(context.input(0), context.output(0));
}

Status inferBatchToSpace(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkTensors(context));
  Blocks blocks;
  HALYARD_RETURN_IF_ERROR(readBlocks(context, 2, &blocks));
  const ImageAxes& axes = blocks.axes;
  Shape dims = context.input(0).dims;
  const int64_t images = blocks.height * blocks.width;
  if (dims[axes.batch] % images != 0) {
    return opFailed("input has batch {}, expected a multiple of {}, for blocks of {} x {}",
                    dims[axes.batch], images, blocks.height, blocks.width);
  }
  dims[axes.batch] = static_cast<uint32_t>(dims[axes.batch] / images);
  HALYARD_RETURN_IF_ERROR(
      setDimension(axes.height, uint64_t{dims[axes.height]} * blocks.height, &dims));
  HALYARD_RETURN_IF_ERROR(
      setDimension(axes.width, uint64_t{dims[axes.width]} * blocks.width, &dims));
  context.output(0).dims = std::move(dims);
  return okStatus();
}

Status computeBatchToSpace(OperationContext& context) {
  Blocks blocks;
  HALYARD_RETURN_IF_ERROR(readBlocks(context, 2, &blocks));
  const auto& [blockHeight, blockWidth, axes] = blocks;
  const Tensor& input = context.input(0);
  const Tensor& output = context.output(0);
  const std::vector<ptrdiff_t> from = rowMajorStrides(input.dims);
  const std::vector<ptrdiff_t> to = rowMajorStrides(output.dims);
  const size_t batch = output.dims[axes.batch];
  // The next position in a block is a whole output batch of images later.
  const ptrdiff_t place = static_cast<ptrdiff_t>(batch) * from[axes.batch];
  copyElements(context.services(), input, 0, output, 0,
               {{batch, from[axes.batch], to[axes.batch]},
                {input.dims[axes.height], from[axes.height], blockHeight * to[axes.height]},
                {static_cast<size_t>(blockHeight), blockWidth * place, to[axes.height]},
                {input.dims[axes.width], from[axes.width], blockWidth * to[axes.width]},
                {static_cast<size_t>(blockWidth), place, to[axes.width]},
                {input.dims[axes.channels], from[axes.channels], to[axes.channels]}});
  return okStatus();
}

// The rows and columns around an image: top, bottom, left, right.
Status readPaddings(const OperationContext& context, std::span<const int32_t>* paddings) {
  HALYARD_RETURN_IF_ERROR(readIntsOfShape(context, 2, {2, 2}, "paddings", paddings));
  for (int32_t padding : *paddings) {
    if (padding < 0) {
      return opFailed("paddings are [{}], expected 0 or more", fmt::join(*paddings, ","));
    }
  }
  return okStatus();
}

Status inferSpaceToBatch(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkTensors(context));
  Blocks blocks;
  HALYARD_RETURN_IF_ERROR(readBlocks(context, 3, &blocks));
  std::span<const int32_t> paddings;
  HALYARD_RETURN_IF_ERROR(readPaddings(context, &paddings));
  const ImageAxes& axes = blocks.axes;
  Shape dims = context.input(0).dims;
  const auto divide = [&](size_t axis, std::string_view name, int64_t block, int64_t before,
                          int64_t after) {
    const int64_t padded = before + dims[axis] + after;
    if (padded % block != 0) {
      return opFailed("the padded input has {} {}, expected a multiple of block size {}", name,
                      padded, block);
    }
    return setDimension(axis, static_cast<uint64_t>(padded / block), &dims);
  };
  HALYARD_RETURN_IF_ERROR(divide(axes.height, "height", blocks.height, paddings[0], paddings[1]));
  HALYARD_RETURN_IF_ERROR(divide(axes.width, "width", blocks.width, paddings[2], paddings[3]));
  // The product is computed in two steps, as three factors may need more than 64 bits.
  for (int64_t block : {blocks.height, blocks.width}) {
    HALYARD_RETURN_IF_ERROR(
        setDimension(axes.batch, dims[axes.batch] * static_cast<uint64_t>(block), &dims));
  }
  context.output(0).dims = std::move(dims);
  return okStatus();
}

Status computeSpaceToBatch(OperationContext& context) {
  Blocks blocks;
  HALYARD_RETURN_IF_ERROR(readBlocks(context, 3, &blocks));
  std::span<const int32_t> paddings;
  HALYARD_RETURN_IF_ERROR(readPaddings(context, &paddings));
  const ImageAxes& axes = blocks.axes;
  const Tensor& input = context.input(0);
  Tensor& output = context.output(0);
  std::memset(output.data, zeroByte(input), output.elementCount() * elementSize(output.type));
  const std::vector<ptrdiff_t> from = rowMajorStrides(input.dims);
  const std::vector<ptrdiff_t> to = rowMajorStrides(output.dims);
  const auto axisOf = [&](size_t axis, int64_t block) {
    return WindowAxis{.input = input.dims[axis], .filter = output.dims[axis], .dilation = block};
  };
  const WindowAxis rows = axisOf(axes.height, blocks.height);
  const WindowAxis columns = axisOf(axes.width, blocks.width);
  // The loop visits each position in the blocks. Its pixels are one block apart, and the first ones
  // may lie in the border.
  int64_t place = 0;
  for (int64_t i = 0; i < blocks.height; ++i) {
    const int64_t firstRow = i - paddings[0];
    const TapRange rowsInside = tapsInside(rows, firstRow);
    for (int64_t j = 0; j < blocks.width; ++j, ++place) {
      const int64_t firstColumn = j - paddings[2];
      const TapRange columnsInside = tapsInside(columns, firstColumn);
      if (rowsInside.begin == rowsInside.end || columnsInside.begin == columnsInside.end) continue;
      const int64_t source = (firstRow + rowsInside.begin * blocks.height) * from[axes.height] +
                             (firstColumn + columnsInside.begin * blocks.width) * from[axes.width];
      const int64_t target = place * input.dims[axes.batch] * to[axes.batch] +
                             rowsInside.begin * to[axes.height] +
                             columnsInside.begin * to[axes.width];
      copyElements(context.services(), input, static_cast<size_t>(source), output,
                   static_cast<size_t>(target),
                   {{input.dims[axes.batch], from[axes.batch], to[axes.batch]},
                    {static_cast<size_t>(rowsInside.end - rowsInside.begin),
                     blocks.height * from[axes.height], to[axes.height]},
                    {static_cast<size_t>(columnsInside.end - columnsInside.begin),
                     blocks.width * from[axes.width], to[axes.width]},
                    {input.dims[axes.channels], from[axes.channels], to[axes.channels]}});
    }
  }
  return okStatus();
}

Signature makeSignature(std::vector<OperandSpec> inputs) {
  inputs.push_back(boolean("NCHW layout").withDefault(0));
  const auto count = static_cast<uint32_t>(inputs.size());
  Signature signature;
  signature.rows = floatAndQuant8Rows(FeatureLevel::FL2);
  signature.forms = {
      {"", std::move(inputs), {{count - 1, FeatureLevel::FL1}, {count, FeatureLevel::FL3}}}};
  signature.outputs = {typed("output", 0, rank(4))};
  return signature;
}

Signature batchToSpaceSignature() {
  return makeSignature({typed("input", 0, rank(4)), int32List("block sizes")});
}

Signature spaceToBatchSignature() {
  Signature signature = makeSignature(
      {typed("input", 0, rank(4)), int32List("block sizes"), int32List("paddings", rank(2))});
  signature.check = checkBorderOfZeros;
  return signature;
}

}  // namespace

const OperationDefinition& batchToSpaceNd() {
  return madeOnce([] {
    return OperationDefinition{OperationType::BATCH_TO_SPACE_ND,
                               batchToSpaceSignature(),
                               inferBatchToSpace,
                               computeBatchToSpace,
                               /*acceptsZeroSized=*/false,
                               /*float16AsFloat32=*/false};
  });
}

const OperationDefinition& spaceToBatchNd() {
  return madeOnce([] {
    return OperationDefinition{OperationType::SPACE_TO_BATCH_ND,
                               spaceToBatchSignature(),
                               inferSpaceToBatch,
                               computeSpaceToBatch,
                               /*acceptsZeroSized=*/false,
                               /*float16AsFloat32=*/false};
  });
}

}  // namespace halyard::ops
