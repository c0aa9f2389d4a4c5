// GENERATE_PROPOSALS: boxes that may contain an object, from anchors, their scores and deltas.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/box_suppression.h"
#include "ops/boxes.h"
#include "ops/conv_geometry.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"

namespace halyard::ops {
namespace {

enum Input : size_t {
  kScores,
  kDeltas,
  kAnchors,
  kImageInfo,
  kHeightStride,
  kWidthStride,
  kPreNms,
  kPostNms,
  kIouThreshold,
  kMinSize,
  kLayout,
};

struct Plan {
  bool nchw = false;
  ImageDims grid;  // the channels are the anchors of a cell
  float heightStride = 0;
  float widthStride = 0;
  int32_t preNms = 0;
  int32_t postNms = 0;
  float iouThreshold = 0;
  float minSize = 0;
};

Status readStride(const OperationContext& context, size_t i, std::string_view name, float* value) {
  HALYARD_RETURN_IF_ERROR(context.read(i, value), "{}", name);
  if (*value > 0 && std::isfinite(*value)) return okStatus();
  return opFailed("{} is {}, expected more than 0 and finite", name, *value);
}

Status makePlan(const OperationContext& context, Plan* plan) {
  HALYARD_RETURN_IF_ERROR(context.read(kLayout, &plan->nchw), "layout");
  HALYARD_RETURN_IF_ERROR(
      readImageDims("scores", context.input(kScores).dims, plan->nchw, &plan->grid));
  HALYARD_RETURN_IF_ERROR(readStride(context, kHeightStride, "height stride", &plan->heightStride));
  HALYARD_RETURN_IF_ERROR(readStride(context, kWidthStride, "width stride", &plan->widthStride));
  HALYARD_RETURN_IF_ERROR(context.read(kPreNms, &plan->preNms), "pre-NMS top N");
  HALYARD_RETURN_IF_ERROR(context.read(kPostNms, &plan->postNms), "post-NMS top N");
  HALYARD_RETURN_IF_ERROR(context.read(kIouThreshold, &plan->iouThreshold), "IoU threshold");
  if (!(plan->iouThreshold >= 0)) {
    return opFailed("IoU threshold is {}, expected 0 or more", plan->iouThreshold);
  }
  HALYARD_RETURN_IF_ERROR(context.read(kMinSize, &plan->minSize), "min size");
  if (std::isnan(plan->minSize)) return opFailed("min size is nan, expected a number");
  return okStatus();
}

Status checkOperands(OperationContext& context, const Plan& plan) {
  HALYARD_RETURN_IF_ERROR(checkCoordinates({{&context.input(kAnchors), "anchors"},
                                            {&context.input(kImageInfo), "image info"},
                                            {&context.output(1), "output 1 (boxes)"}}));
  HALYARD_RETURN_IF_ERROR(checkSameQuantization(context.input(kScores), context.output(0)),
                          "output 0");
  const auto anchors = static_cast<uint32_t>(plan.grid.channels);
  const auto batches = static_cast<uint32_t>(plan.grid.batch);
  if (anchors > UINT32_MAX / 4) return opFailed("{} anchors are too many", anchors);
  ImageDims deltas = plan.grid;
  deltas.channels *= 4;
  HALYARD_RETURN_IF_ERROR(
      checkShape(context.input(kDeltas), imageShape(deltas, plan.nchw), "deltas"));
  HALYARD_RETURN_IF_ERROR(checkShape(context.input(kAnchors), {anchors, 4}, "anchors"));
  return checkShape(context.input(kImageInfo), {batches, 2}, "image info");
}

struct Proposal {
  float score;
  Box box;
  int32_t batch;
};
using Proposals = std::vector<Proposal>;

// Finds proposals image by image.
class Proposer {
 public:
  Proposer(const OperationContext& context, const Plan& plan)
      : context_(context),
        plan_(plan),
        perImage_(plan.grid.height * plan.grid.width * plan.grid.channels),
        candidates_(0) {}

  Status readAnchors() {
    for (size_t a = 0; a < plan_.grid.channels; ++a) {
      anchors_.push_back(boxAt(context_.input(kAnchors), a));
      HALYARD_RETURN_IF_ERROR(checkCorners(anchors_.back(), "anchor", a));
    }
    return okStatus();
  }

  // Appends the proposals of one image, the best first.
  void propose(size_t batch, Proposals& proposals) {
    const ImageSize image = imageSizeAt(context_.input(kImageInfo), batch);
    candidates_.clear();
    readScores(batch);
    for (uint32_t id : bestIds()) {
      const Box box = decode(batch, id, image);
      const float width = box.x2 - box.x1;
      const float height = box.y2 - box.y1;
      // NaN fails each of these comparisons.
      if (width > plan_.minSize && height > plan_.minSize && box.x1 + width / 2 < image.width &&
          box.y1 + height / 2 < image.height) {
        candidates_.push(id, scores_[id], box);
      }
    }
    candidates_.suppress(plan_.iouThreshold, plan_.postNms > 0 ? plan_.postNms : -1);
    for (size_t i = 0; i < candidates_.size(); ++i) {
      proposals.push_back({candidates_.score(i), candidates_.box(i), static_cast<int32_t>(batch)});
    }
  }

 private:
  // In an image, the box of anchor a in cell (y, x) has the id (y * W + x) * A + a.
  struct Place {
    size_t cell;
    size_t anchor;
  };
  Place placeOf(size_t id) const { return {id / plan_.grid.channels, id % plan_.grid.channels}; }
  // Returns the index of a channel of a cell in a tensor with `channels` of them.
  size_t indexOf(size_t batch, size_t cell, size_t channel, size_t channels) const {
    const size_t cells = plan_.grid.height * plan_.grid.width;
    return plan_.nchw ? (batch * channels + channel) * cells + cell
                      : (batch * cells + cell) * channels + channel;
  }

  void readScores(size_t batch) {
    scores_.resize(perImage_);
    for (size_t id = 0; id < perImage_; ++id) {
      const Place place = placeOf(id);
      scores_[id] = realAt(context_.input(kScores),
                           indexOf(batch, place.cell, place.anchor, plan_.grid.channels));
    }
  }

  // Returns all boxes in order, or the best ones by descending score if not all may compete.
  std::vector<uint32_t> bestIds() const {
    std::vector<uint32_t> ids(perImage_);
    std::iota(ids.begin(), ids.end(), 0u);
    if (plan_.preNms <= 0 || static_cast<size_t>(plan_.preNms) >= perImage_) return ids;
    std::partial_sort(ids.begin(), ids.begin() + plan_.preNms, ids.end(),
                      [this](uint32_t a, uint32_t b) {
                        if (ranksBefore(scores_[a], scores_[b])) return true;
                        return !ranksBefore(scores_[b], scores_[a]) && a < b;
                      });
    ids.resize(static_cast<size_t>(plan_.preNms));
    return ids;
  }

  Box decode(size_t batch, size_t id, ImageSize image) const {
    const Place place = placeOf(id);
    const float right = static_cast<float>(place.cell % plan_.grid.width) * plan_.widthStride;
    const float down = static_cast<float>(place.cell / plan_.grid.width) * plan_.heightStride;
    const Box& anchor = anchors_[place.anchor];
    const Box roi = {anchor.y1 + down, anchor.x1 + right, anchor.y2 + down, anchor.x2 + right};
    BoxDelta delta;
    for (size_t k = 0; k < 4; ++k) {
      delta[k] = realAt(context_.input(kDeltas),
                        indexOf(batch, place.cell, place.anchor * 4 + k, plan_.grid.channels * 4));
    }
    return transformBox(roi, delta, image);
  }

  const OperationContext& context_;
  const Plan& plan_;
  const size_t perImage_;
  std::vector<Box> anchors_;
  std::vector<float> scores_;
  CandidateList candidates_;
};

Result<Proposals> propose(const OperationContext& context, const Plan& plan) {
  for (size_t i : {kScores, kDeltas, kAnchors, kImageInfo}) {
    HALYARD_RETURN_IF_ERROR(checkKnown(context, i));
  }
  Proposer proposer(context, plan);
  HALYARD_RETURN_IF_ERROR(proposer.readAnchors());
  Proposals proposals;
  for (size_t batch = 0; batch < plan.grid.batch; ++batch) proposer.propose(batch, proposals);
  return proposals;
}

Status infer(OperationContext& context) {
  Plan plan;
  HALYARD_RETURN_IF_ERROR(makePlan(context, &plan));
  HALYARD_RETURN_IF_ERROR(checkOperands(context, plan));
  HALYARD_ASSIGN_OR_RETURN(Proposals proposals, propose(context, plan));
  const auto count = static_cast<uint32_t>(proposals.size());
  context.output(0).dims = {count};
  context.output(1).dims = {count, 4};
  context.output(2).dims = {count};
  context.findings() = std::move(proposals);
  return okStatus();
}

Status compute(OperationContext& context) {
  const auto* proposals = std::any_cast<Proposals>(&context.findings());
  Proposals computed;
  if (proposals == nullptr) {
    Plan plan;
    HALYARD_RETURN_IF_ERROR(makePlan(context, &plan));
    HALYARD_ASSIGN_OR_RETURN(computed, propose(context, plan));
    proposals = &computed;
  }
  HALYARD_RETURN_IF_ERROR(
      checkShape(context.output(0), {static_cast<uint32_t>(proposals->size())}, "scores"));
  for (size_t i = 0; i < proposals->size(); ++i) {
    const Proposal& proposal = (*proposals)[i];
    setReal(context.output(0), i, proposal.score);
    setBox(context.output(1), i, proposal.box);
    context.output(2).as<int32_t>()[i] = proposal.batch;
  }
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::GENERATE_PROPOSALS;
  definition.signature.rows = boxRows();
  definition.signature.forms = {
      {"",
       {typed("scores", kMainColumn, rank(4)), typed("deltas", kMainColumn, rank(4)),
        typed("anchors", kAnchorColumn, rank(2)), typed("image info", kCoordinateColumn, rank(2)),
        typed("height stride", kScalarColumn), typed("width stride", kScalarColumn),
        int32("pre-NMS top N"), int32("post-NMS top N"), typed("IoU threshold", kScalarColumn),
        typed("min size", kScalarColumn), boolean("NCHW layout")},
       {}}};
  definition.signature.outputs = {typed("scores", kMainColumn, rank(1)),
                                  typed("boxes", kCoordinateColumn, rank(2)),
                                  fixed("batch index", OperandType::TENSOR_INT32, rank(1))};
  definition.infer = infer;
  definition.reference = compute;
  // Inference reads the values too, in stored form.
  definition.float16AsFloat32 = false;
  definition.precision = Precision::APPROXIMATE;
  return definition;
}

}  // namespace

const OperationDefinition& generateProposals() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
