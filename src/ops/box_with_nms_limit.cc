// BOX_WITH_NMS_LIMIT: selects, per class, the boxes with the best scores that do not overlap much.
#include <algorithm>
#include <cmath>
#include <span>

#include "ops/box_suppression.h"
#include "ops/boxes.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"

namespace halyard::ops {
namespace {

enum Input : size_t {
  kScores,
  kBoxes,
  kBatchIndex,
  kScoreThreshold,
  kMaxDetections,
  kKernel,
  kIouThreshold,
  kSigma,
  kNmsScoreThreshold,
};

struct Options {
  float scoreThreshold = 0;
  int32_t maxDetections = 0;
  Decay decay;
};

Status readOptions(const OperationContext& context, Options* options) {
  const auto readReal = [&](size_t i, std::string_view name, float* value) -> Status {
    HALYARD_RETURN_IF_ERROR(context.read(i, value), "{}", name);
    if (std::isnan(*value)) return opFailed("{} is nan, expected a number", name);
    return okStatus();
  };
  Decay& decay = options->decay;
  int32_t kernel = 0;
  HALYARD_RETURN_IF_ERROR(readReal(kScoreThreshold, "score threshold", &options->scoreThreshold));
  HALYARD_RETURN_IF_ERROR(context.read(kMaxDetections, &options->maxDetections), "max detections");
  HALYARD_RETURN_IF_ERROR(context.read(kKernel, &kernel), "kernel");
  HALYARD_RETURN_IF_ERROR(readReal(kIouThreshold, "IoU threshold", &decay.iouThreshold));
  HALYARD_RETURN_IF_ERROR(readReal(kSigma, "sigma", &decay.sigma));
  HALYARD_RETURN_IF_ERROR(
      readReal(kNmsScoreThreshold, "NMS score threshold", &decay.scoreThreshold));
  if (kernel < 0 || kernel > 2) {
    return opFailed("kernel is {}, expected 0 (hard), 1 (linear) or 2 (gaussian)", kernel);
  }
  decay.kernel = static_cast<Decay::Kernel>(kernel);
  if (decay.kernel == Decay::Kernel::GAUSSIAN && !(decay.sigma > 0)) {
    return opFailed("sigma is {}, expected more than 0 for the gaussian kernel", decay.sigma);
  }
  return okStatus();
}

Status checkOperands(OperationContext& context) {
  const Tensor& scores = context.input(kScores);
  HALYARD_RETURN_IF_ERROR(checkCoordinates(
      {{&context.input(kBoxes), "boxes"}, {&context.output(1), "output 1 (boxes)"}}));
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(scores, context.output(0)), "output 0");
  HALYARD_RETURN_IF_ERROR(checkRank(scores, 2, 2, "scores"));
  const uint32_t rois = scores.dims[0];
  const uint32_t classes = scores.dims[1];
  if (classes < 2) {
    return opFailed("scores {} have {} classes, expected the background and at least one other",
                    realShapeText(scores.dims), classes);
  }
  const Tensor& boxes = context.input(kBoxes);
  HALYARD_RETURN_IF_ERROR(checkRank(boxes, 2, 2, "boxes"));
  if (boxes.dims[0] != rois || boxes.dims[1] != uint64_t{classes} * 4) {
    return opFailed("boxes has shape {}, expected [{},{}] as the scores have {}",
                    realShapeText(boxes.dims), rois, uint64_t{classes} * 4,
                    realShapeText(scores.dims));
  }
  return checkShape(context.input(kBatchIndex), {rois}, "batch index");
}

struct Detection {
  float score;
  Box box;
  int32_t label;
  int32_t batch;
};
using Detections = std::vector<Detection>;

// Appends the detections of one image with the regions [begin, end).
void detectInImage(const OperationContext& context, const Options& options, size_t begin,
                   size_t end, int32_t batch, CandidateList& candidates, Detections& detections) {
  const Tensor& scores = context.input(kScores);
  const Tensor& boxes = context.input(kBoxes);
  const size_t classes = scores.dims[1];
  Detections found;
  // Class 0 is the background.
  for (size_t label = 1; label < classes; ++label) {
    candidates.clear();
    for (size_t r = begin; r < end; ++r) {
      const size_t i = r * classes + label;
      const float score = realAt(scores, i);
      if (score > options.scoreThreshold) {
        candidates.push(static_cast<uint32_t>(r), score, boxAt(boxes, i));
      }
    }
    candidates.suppressSoftly(options.decay, options.maxDetections);
    for (size_t i = 0; i < candidates.size(); ++i) {
      found.push_back({candidates.score(i), candidates.box(i), static_cast<int32_t>(label), batch});
    }
  }
  // Equal scores keep their order: by class, and in a class by the order of selection.
  std::stable_sort(found.begin(), found.end(), [](const Detection& a, const Detection& b) {
    return ranksBefore(a.score, b.score);
  });
  if (options.maxDetections >= 0) {
    found.resize(std::min(found.size(), static_cast<size_t>(options.maxDetections)));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Detection& a, const Detection& b) { return a.label < b.label; });
  detections.insert(detections.end(), found.begin(), found.end());
}

Result<Detections> detect(const OperationContext& context) {
  Detections detections;
  Options options;
  const size_t rois = context.input(kScores).dims[0];
  if (rois == 0) {
    HALYARD_RETURN_IF_ERROR(unlessIncomplete(readOptions(context, &options)));
    return detections;
  }
  HALYARD_RETURN_IF_ERROR(readOptions(context, &options));
  for (size_t i : {kScores, kBoxes}) HALYARD_RETURN_IF_ERROR(checkKnown(context, i));
  std::span<const int32_t> batchIndex;
  HALYARD_RETURN_IF_ERROR(context.readInts(kBatchIndex, &batchIndex), "batch index");
  CandidateList candidates(rois);
  for (size_t begin = 0; begin < rois;) {
    const int32_t batch = batchIndex[begin];
    size_t end = begin + 1;
    while (end < rois && batchIndex[end] == batch) ++end;
    detectInImage(context, options, begin, end, batch, candidates, detections);
    begin = end;
  }
  return detections;
}

Status infer(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkOperands(context));
  HALYARD_ASSIGN_OR_RETURN(Detections detections, detect(context));
  const auto count = static_cast<uint32_t>(detections.size());
  context.output(0).dims = {count};
  context.output(1).dims = {count, 4};
  context.output(2).dims = {count};
  context.output(3).dims = {count};
  context.findings() = std::move(detections);
  return okStatus();
}

Status compute(OperationContext& context) {
  const auto* detections = std::any_cast<Detections>(&context.findings());
  Detections computed;
  if (detections == nullptr) {
    HALYARD_ASSIGN_OR_RETURN(computed, detect(context));
    detections = &computed;
  }
  HALYARD_RETURN_IF_ERROR(
      checkShape(context.output(0), {static_cast<uint32_t>(detections->size())}, "scores"));
  for (size_t i = 0; i < detections->size(); ++i) {
    const Detection& detection = (*detections)[i];
    setReal(context.output(0), i, detection.score);
    setBox(context.output(1), i, detection.box);
    context.output(2).as<int32_t>()[i] = detection.label;
    context.output(3).as<int32_t>()[i] = detection.batch;
  }
  return okStatus();
}

OperationDefinition define() {
  using enum OperandType;
  OperationDefinition definition;
  definition.type = OperationType::BOX_WITH_NMS_LIMIT;
  definition.signature.rows = boxRows();
  definition.signature.forms = {
      {"",
       {typed("scores", kMainColumn, rank(2)), typed("boxes", kCoordinateColumn, rank(2)),
        fixed("batch index", TENSOR_INT32, rank(1)), typed("score threshold", kScalarColumn),
        int32("max detections"), int32("kernel"), typed("IoU threshold", kScalarColumn),
        typed("sigma", kScalarColumn), typed("NMS score threshold", kScalarColumn)},
       {}}};
  definition.signature.outputs = {
      typed("scores", kMainColumn, rank(1)), typed("boxes", kCoordinateColumn, rank(2)),
      fixed("classes", TENSOR_INT32, rank(1)), fixed("batch index", TENSOR_INT32, rank(1))};
  definition.infer = infer;
  definition.reference = compute;
  definition.acceptsZeroSized = true;
  // Inference reads the values too, as they are stored.
  definition.float16AsFloat32 = false;
  definition.precision = Precision::APPROXIMATE;
  return definition;
}

}  // namespace

const OperationDefinition& boxWithNmsLimit() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
