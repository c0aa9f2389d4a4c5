// DETECTION_POSTPROCESSING: boxes from deltas and anchors, non-maximum suppression, selection of
// the best.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "ops/box_suppression.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"

namespace halyard::ops {
namespace {

enum Input : size_t {
  kScores,
  kDeltas,
  kAnchors,
  kScaleY,
  kScaleX,
  kScaleH,
  kScaleW,
  kRegular,
  kMaxDetections,
  kMaxClasses,
  kMaxPerClass,
  kScoreThreshold,
  kIouThreshold,
  kBackground,
};

// The options that determine the outputs' shapes.
struct Limits {
  bool regular = false;
  int32_t maxDetections = 0;
  int32_t maxClasses = 0;
};

// The options that affect only values.
struct Options {
  std::array<float, 4> scales{};  // dy, dx, dh, dw
  int32_t maxPerClass = 0;
  float scoreThreshold = 0;
  float iouThreshold = 0;
  bool background = false;  // labels count the background class
};

Status readLimits(const OperationContext& context, Limits* limits) {
  HALYARD_RETURN_IF_ERROR(context.read(kRegular, &limits->regular), "use of regular NMS");
  HALYARD_RETURN_IF_ERROR(context.read(kMaxDetections, &limits->maxDetections), "max detections");
  if (limits->maxDetections <= 0) {
    return opFailed("max detections is {}, expected more than 0", limits->maxDetections);
  }
  if (limits->regular) return okStatus();
  HALYARD_RETURN_IF_ERROR(context.read(kMaxClasses, &limits->maxClasses),
                          "max classes per detection");
  if (limits->maxClasses <= 0) {
    return opFailed("max classes per detection is {}, expected more than 0", limits->maxClasses);
  }
  return okStatus();
}

Status readThreshold(const OperationContext& context, size_t i, std::string_view name,
                     float* value) {
  HALYARD_RETURN_IF_ERROR(context.read(i, value), "{}", name);
  // The negated form also catches NaN.
  if (!(*value >= 0)) return opFailed("{} is {}, expected 0 or more", name, *value);
  return okStatus();
}

Status readOptions(const OperationContext& context, bool regular, Options* options) {
  for (size_t i = 0; i < options->scales.size(); ++i) {
    constexpr std::string_view kNames[] = {"dy", "dx", "dh", "dw"};
    HALYARD_RETURN_IF_ERROR(context.read(kScaleY + i, &options->scales[i]), "scale for {}",
                            kNames[i]);
    if (!(options->scales[i] > 0)) {
      return opFailed("scale for {} is {}, expected more than 0", kNames[i], options->scales[i]);
    }
  }
  HALYARD_RETURN_IF_ERROR(
      readThreshold(context, kScoreThreshold, "score threshold", &options->scoreThreshold));
  HALYARD_RETURN_IF_ERROR(
      readThreshold(context, kIouThreshold, "IoU threshold", &options->iouThreshold));
  HALYARD_RETURN_IF_ERROR(context.read(kBackground, &options->background), "background flag");
  if (!regular) return okStatus();
  HALYARD_RETURN_IF_ERROR(context.read(kMaxPerClass, &options->maxPerClass),
                          "max detections per class");
  if (options->maxPerClass <= 0) {
    return opFailed("max detections per class is {}, expected more than 0", options->maxPerClass);
  }
  return okStatus();
}

Status checkShapes(const OperationContext& context) {
  const Tensor& scores = context.input(kScores);
  const Tensor& deltas = context.input(kDeltas);
  const Tensor& anchors = context.input(kAnchors);
  HALYARD_RETURN_IF_ERROR(checkRank(scores, 3, 3, "scores"));
  HALYARD_RETURN_IF_ERROR(checkRank(deltas, 3, 3, "box deltas"));
  HALYARD_RETURN_IF_ERROR(checkRank(anchors, 2, 2, "anchors"));
  if (scores.dims[2] < 2) {
    return opFailed("scores {} have {} classes, expected the background and at least one other",
                    realShapeText(scores.dims), scores.dims[2]);
  }
  if (deltas.dims[0] != scores.dims[0] || deltas.dims[1] != scores.dims[1] || deltas.dims[2] < 4) {
    return opFailed("box deltas have shape {}, expected [{},{},4 or more] as the scores have {}",
                    realShapeText(deltas.dims), scores.dims[0], scores.dims[1],
                    realShapeText(scores.dims));
  }
  if (anchors.dims[0] != scores.dims[1] || anchors.dims[1] != 4) {
    return opFailed("anchors have shape {}, expected [{},4] as the scores have {}",
                    realShapeText(anchors.dims), scores.dims[1], realShapeText(scores.dims));
  }
  return okStatus();
}

Status infer(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkShapes(context));
  Limits limits;
  HALYARD_RETURN_IF_ERROR(readLimits(context, &limits));
  Options options;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readOptions(context, limits.regular, &options)));
  const uint64_t slots = static_cast<uint64_t>(limits.maxDetections) *
                         static_cast<uint64_t>(limits.regular ? 1 : limits.maxClasses);
  if (slots > UINT32_MAX) {
    return opFailed("{} detections of {} classes each are too many", limits.maxDetections,
                    limits.maxClasses);
  }
  const uint32_t batches = context.input(kScores).dims[0];
  const auto count = static_cast<uint32_t>(slots);
  context.output(0).dims = {batches, count};
  context.output(1).dims = {batches, count, 4};
  context.output(2).dims = {batches, count};
  context.output(3).dims = {batches};
  return okStatus();
}

// One image of the batch, and the destination of its detections.
struct Image {
  const float* scores;  // [anchors][classes]
  size_t anchors;
  size_t classes;
  std::vector<Box> boxes;  // one per anchor
  // Outputs: slots in order, and the number of used ones.
  float* outScores;
  Box* outBoxes;
  int32_t* outLabels;
  size_t used = 0;

  float score(size_t anchor, size_t label) const { return scores[anchor * classes + label]; }
  void emit(size_t anchor, size_t label, bool background) {
    outScores[used] = score(anchor, label);
    outBoxes[used] = boxes[anchor];
    outLabels[used] = static_cast<int32_t>(background ? label : label - 1);
    ++used;
  }
};

// Returns the corners from each anchor's centre, size and deltas, not clipped to the image.
std::vector<Box> decodeBoxes(const float* deltas, size_t deltaStride, const float* anchors,
                             size_t count, const std::array<float, 4>& scales) {
  std::vector<Box> boxes(count);
  for (size_t i = 0; i < count; ++i) {
    const float* delta = deltas + i * deltaStride;
    const float* anchor = anchors + i * 4;
    const float centerY = anchor[0] + anchor[2] * delta[0] / scales[0];
    const float centerX = anchor[1] + anchor[3] * delta[1] / scales[1];
    const float halfHeight = anchor[2] * std::exp(delta[2] / scales[2]) / 2;
    const float halfWidth = anchor[3] * std::exp(delta[3] / scales[3]) / 2;
    boxes[i] = {centerY - halfHeight, centerX - halfWidth, centerY + halfHeight,
                centerX + halfWidth};
  }
  return boxes;
}

struct Found {
  float score;
  uint32_t anchor;
  uint32_t label;
};

// Suppresses within one class.
std::vector<Found> detectOne(const Image& image, uint32_t label, const Options& options,
                             CandidateList& candidates) {
  candidates.clear();
  for (uint32_t anchor = 0; anchor < image.anchors; ++anchor) {
    const float score = image.score(anchor, label);
    if (score > options.scoreThreshold) candidates.push(anchor, score, image.boxes[anchor]);
  }
  candidates.suppress(options.iouThreshold, options.maxPerClass);
  std::vector<Found> found;
  for (size_t i = 0; i < candidates.size(); ++i) {
    found.push_back({candidates.score(i), candidates.id(i), label});
  }
  return found;
}

// Suppresses within each class, then selects the best of all classes.
void detectPerClass(Image& image, const Limits& limits, const Options& options,
                    KernelServices& services) {
  std::vector<std::vector<Found>> perClass(image.classes);
  services.parallelFor(image.classes - 1, 1, [&](size_t begin, size_t end) {
    CandidateList candidates(image.anchors);
    for (size_t label = begin + 1; label < end + 1; ++label) {
      perClass[label] = detectOne(image, static_cast<uint32_t>(label), options, candidates);
    }
  });
  std::vector<Found> found;
  for (const std::vector<Found>& some : perClass) {
    found.insert(found.end(), some.begin(), some.end());
  }
  const size_t kept = std::min(found.size(), static_cast<size_t>(limits.maxDetections));
  // For equal scores, the lower class comes first; in a class, the one found first.
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.score > b.score; });
  for (size_t i = 0; i < kept; ++i) image.emit(found[i].anchor, found[i].label, options.background);
}

// Returns classes from 1 on, by descending score. Equal scores are in class order; NaN comes last.
void bestLabels(const Image& image, size_t anchor, size_t count, std::vector<uint32_t>& labels) {
  labels.resize(image.classes - 1);
  for (uint32_t i = 0; i < labels.size(); ++i) labels[i] = i + 1;
  const auto rank = [&](uint32_t label) {
    const float score = image.score(anchor, label);
    return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
  };
  std::partial_sort(labels.begin(), labels.begin() + static_cast<ptrdiff_t>(count), labels.end(),
                    [&](uint32_t a, uint32_t b) {
                      const float x = rank(a);
                      const float y = rank(b);
                      return x != y ? x > y : a < b;
                    });
}

// Suppresses among the anchors by their best class, then selects the best classes of each remaining
// one.
void detectPerAnchor(Image& image, const Limits& limits, const Options& options) {
  CandidateList candidates(image.anchors);
  for (uint32_t anchor = 0; anchor < image.anchors; ++anchor) {
    float best = -std::numeric_limits<float>::infinity();
    for (size_t label = 1; label < image.classes; ++label) {
      best = std::max(best, image.score(anchor, label));  // skips NaN
    }
    if (best > options.scoreThreshold) candidates.push(anchor, best, image.boxes[anchor]);
  }
  candidates.suppress(options.iouThreshold, limits.maxDetections);
  const size_t perAnchor = std::min(image.classes - 1, static_cast<size_t>(limits.maxClasses));
  std::vector<uint32_t> labels;
  for (size_t i = 0; i < candidates.size(); ++i) {
    bestLabels(image, candidates.id(i), perAnchor, labels);
    for (size_t n = 0; n < perAnchor; ++n) {
      image.emit(candidates.id(i), labels[n], options.background);
    }
  }
}

Status compute(OperationContext& context) {
  if (context.input(kScores).type != OperandType::TENSOR_FLOAT32) {
    return badData("scores are {}", operandTypeName(context.input(kScores).type));
  }
  Limits limits;
  HALYARD_RETURN_IF_ERROR(readLimits(context, &limits));
  Options options;
  HALYARD_RETURN_IF_ERROR(readOptions(context, limits.regular, &options));
  const Shape& dims = context.input(kScores).dims;
  const size_t deltaStride = context.input(kDeltas).dims[2];
  const size_t slots = context.output(0).dims[1];
  for (size_t i = 0; i < 4; ++i) {
    Tensor& output = context.output(i);
    std::memset(output.data, 0, output.elementCount() * elementSize(output.type));
  }
  for (size_t batch = 0; batch < dims[0]; ++batch) {
    Image image;
    image.anchors = dims[1];
    image.classes = dims[2];
    image.scores = context.input(kScores).as<float>() + batch * image.anchors * image.classes;
    image.boxes = decodeBoxes(
        context.input(kDeltas).as<float>() + batch * image.anchors * deltaStride, deltaStride,
        context.input(kAnchors).as<float>(), image.anchors, options.scales);
    image.outScores = context.output(0).as<float>() + batch * slots;
    image.outBoxes = context.output(1).as<Box>() + batch * slots;
    image.outLabels = context.output(2).as<int32_t>() + batch * slots;
    limits.regular ? detectPerClass(image, limits, options, context.services())
                   : detectPerAnchor(image, limits, options);
    context.output(3).as<int32_t>()[batch] = static_cast<int32_t>(image.used);
  }
  return okStatus();
}
static_assert(sizeof(Box) == 4 * sizeof(float), "boxes are written as rows of the output");

OperationDefinition define() {
  using enum FeatureLevel;
  using enum OperandType;
  OperationDefinition definition;
  definition.type = OperationType::DETECTION_POSTPROCESSING;
  // Column 1 is the type of scalars with the tensors' precision.
  definition.signature.rows = {{FL3, {TENSOR_FLOAT32, FLOAT32}}, {FL3, {TENSOR_FLOAT16, FLOAT16}}};
  definition.signature.forms = {
      {"",
       {typed("scores", 0, rank(3)), typed("box deltas", 0, rank(3)), typed("anchors", 0, rank(2)),
        typed("scale for dy", 1), typed("scale for dx", 1), typed("scale for dh", 1),
        typed("scale for dw", 1), boolean("use regular NMS"), int32("max detections"),
        int32("max classes per detection"), int32("max detections per class"),
        typed("score threshold", 1), typed("IoU threshold", 1),
        boolean("background included in label map")},
       {}}};
  definition.signature.outputs = {typed("scores", 0, rank(2)), typed("boxes", 0, rank(3)),
                                  fixed("class labels", TENSOR_INT32, rank(2)),
                                  fixed("valid count", TENSOR_INT32, rank(1))};
  definition.infer = infer;
  definition.reference = compute;
  return definition;
}

}  // namespace

const OperationDefinition& detectionPostprocessing() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
