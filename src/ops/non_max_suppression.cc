// NON_MAX_SUPPRESSION of the extension halyard.tflite: the numbers of the boxes that stay.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/box_suppression.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"

namespace halyard::ops {
namespace {

enum Input : size_t { kBoxes, kScores, kLimit, kIouThreshold, kScoreThreshold, kSigma };
enum Output : size_t { kIndices, kKeptScores, kCount };

Status infer(OperationContext& context) {
  const Shape& boxes = context.input(kBoxes).dims;
  const Shape& scores = context.input(kScores).dims;
  if (boxes.size() != 2 || boxes[1] != 4) {
    return opFailed("boxes are {}, expected [n,4]", realShapeText(boxes));
  }
  if (scores.size() != 1 || scores[0] != boxes[0]) {
    return opFailed("scores are {}, expected [{}] as the boxes are {}", realShapeText(scores),
                    boxes[0], realShapeText(boxes));
  }
  int32_t limit = 0;
  HALYARD_RETURN_IF_ERROR(context.read(kLimit, &limit), "limit");
  if (limit < 1) return opFailed("the limit is {}, expected at least 1", limit);
  const auto most = static_cast<uint32_t>(limit);
  context.output(kIndices).dims = {most};
  context.output(kKeptScores).dims = {most};
  context.output(kCount).dims = {1};
  return okStatus();
}

struct Candidate {
  int32_t index;
  float score;
  Box box;
};

// The corners in ascending order.
Box boxOf(const float* row) {
  return {std::min(row[0], row[2]), std::min(row[1], row[3]), std::max(row[0], row[2]),
          std::max(row[1], row[3])};
}

// 0 next to a box without an area.
float overlap(const Box& a, const Box& b) {
  if (!(boxArea(a) > 0) || !(boxArea(b) > 0)) return 0;
  return intersectionOverUnion(a, b);
}

struct Rule {
  float iouThreshold = 0;
  float scoreThreshold = 0;
  float sigma = 0;

  // Lowers the candidate's score next to a box that stays. Returns whether it leaves the list.
  bool drops(Candidate& candidate, const Box& kept) const {
    const float iou = overlap(candidate.box, kept);
    if (iou >= iouThreshold) return true;
    if (sigma > 0) candidate.score *= std::exp(-0.5f / sigma * iou * iou);
    return !(candidate.score > scoreThreshold);
  }
};

Status compute(OperationContext& context) {
  Rule rule;
  HALYARD_RETURN_IF_ERROR(context.read(kIouThreshold, &rule.iouThreshold), "IoU threshold");
  HALYARD_RETURN_IF_ERROR(context.read(kScoreThreshold, &rule.scoreThreshold), "score threshold");
  HALYARD_RETURN_IF_ERROR(context.read(kSigma, &rule.sigma), "sigma");
  const float* const boxes = context.input(kBoxes).as<float>();
  const float* const scores = context.input(kScores).as<float>();
  std::vector<Candidate> candidates;
  for (uint32_t i = 0; i < context.input(kScores).dims[0]; ++i) {
    // NaN is no candidate.
    if (scores[i] > rule.scoreThreshold) {
      candidates.push_back({static_cast<int32_t>(i), scores[i], boxOf(boxes + size_t{i} * 4)});
    }
  }
  const size_t limit = context.output(kIndices).dims[0];
  auto* const indices = context.output(kIndices).as<int32_t>();
  auto* const kept = context.output(kKeptScores).as<float>();
  std::fill_n(indices, limit, 0);
  std::fill_n(kept, limit, 0.0f);
  size_t count = 0;
  while (count < limit && !candidates.empty()) {
    // Of equal scores the first.
    const auto best = std::ranges::max_element(candidates, {}, &Candidate::score);
    const Candidate taken = *best;
    candidates.erase(best);
    indices[count] = taken.index;
    kept[count] = taken.score;
    ++count;
    std::erase_if(candidates, [&](Candidate& other) { return rule.drops(other, taken.box); });
  }
  *context.output(kCount).as<int32_t>() = static_cast<int32_t>(count);
  return okStatus();
}

OperationDefinition define() {
  using enum OperandType;
  OperationDefinition definition;
  definition.type = OperationType::NON_MAX_SUPPRESSION;
  definition.signature.rows = {{FeatureLevel::FL3, {TENSOR_FLOAT32}}};
  definition.signature.forms = {
      {"",
       {typed("boxes", 0), typed("scores", 0), int32("limit"), fixed("IoU threshold", FLOAT32),
        fixed("score threshold", FLOAT32), fixed("sigma", FLOAT32)},
       {}}};
  definition.signature.outputs = {fixed("indices", TENSOR_INT32), typed("kept scores", 0),
                                  fixed("count", TENSOR_INT32)};
  definition.infer = infer;
  definition.reference = compute;
  definition.precision = Precision::ROUNDED;
  return definition;
}

}  // namespace

const OperationDefinition& nonMaxSuppression() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
