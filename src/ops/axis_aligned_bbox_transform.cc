// AXIS_ALIGNED_BBOX_TRANSFORM: moves and scales boxes by deltas, per class.
#include "ops/boxes.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"

namespace halyard::ops {
namespace {

enum Input : size_t { kRois, kDeltas, kBatchIndex, kImageInfo };

Status infer(OperationContext& context) {
  const Tensor& rois = context.input(kRois);
  const Tensor& deltas = context.input(kDeltas);
  const Tensor& info = context.input(kImageInfo);
  HALYARD_RETURN_IF_ERROR(
      checkCoordinates({{&rois, "RoIs"}, {&info, "image info"}, {&context.output(0), "output"}}));
  HALYARD_RETURN_IF_ERROR(checkRank(rois, 2, 2, "RoIs"));
  HALYARD_RETURN_IF_ERROR(checkRank(deltas, 2, 2, "deltas"));
  HALYARD_RETURN_IF_ERROR(checkRank(info, 2, 2, "image info"));
  HALYARD_RETURN_IF_ERROR(checkShape(rois, {rois.dims[0], 4}, "RoIs"));
  if (deltas.dims[0] != rois.dims[0] || deltas.dims[1] == 0 || deltas.dims[1] % 4 != 0) {
    return opFailed("deltas has shape {}, expected [{},a multiple of 4] as the RoIs have {}",
                    realShapeText(deltas.dims), rois.dims[0], realShapeText(rois.dims));
  }
  HALYARD_RETURN_IF_ERROR(checkShape(context.input(kBatchIndex), {rois.dims[0]}, "batch index"));
  if (info.dims[0] == 0 || info.dims[1] != 2) {
    return opFailed("image info has shape {}, expected [1 or more,2]", realShapeText(info.dims));
  }
  context.output(0).dims = deltas.dims;
  return okStatus();
}

Status compute(OperationContext& context) {
  const Tensor& rois = context.input(kRois);
  const Tensor& deltas = context.input(kDeltas);
  const Tensor& info = context.input(kImageInfo);
  std::span<const int32_t> batchIndex;
  HALYARD_RETURN_IF_ERROR(context.readInts(kBatchIndex, &batchIndex));
  const size_t classes = deltas.dims[1] / 4;
  for (size_t r = 0; r < rois.dims[0]; ++r) {
    const Box roi = boxAt(rois, r);
    HALYARD_RETURN_IF_ERROR(checkCorners(roi, "RoI", r));
    const int32_t batch = batchIndex[r];
    HALYARD_RETURN_IF_ERROR(checkBatchIndex(batch, r, info.dims[0]));
    const ImageSize image = imageSizeAt(info, static_cast<size_t>(batch));
    for (size_t i = r * classes; i < (r + 1) * classes; ++i) {
      BoxDelta delta;
      for (size_t k = 0; k < 4; ++k) delta[k] = realAt(deltas, i * 4 + k);
      setBox(context.output(0), i, transformBox(roi, delta, image));
    }
  }
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::AXIS_ALIGNED_BBOX_TRANSFORM;
  definition.signature.rows = boxRows();
  definition.signature.forms = {
      {"",
       {typed("RoIs", kCoordinateColumn, rank(2)), typed("deltas", kMainColumn, rank(2)),
        fixed("batch index", OperandType::TENSOR_INT32, rank(1)),
        typed("image info", kCoordinateColumn, rank(2))},
       {}}};
  definition.signature.outputs = {typed("boxes", kCoordinateColumn, rank(2))};
  definition.infer = infer;
  definition.reference = compute;
  definition.acceptsZeroSized = true;
  return definition;
}

}  // namespace

const OperationDefinition& axisAlignedBboxTransform() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
