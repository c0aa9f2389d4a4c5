// Finds, reads, lists and draws object detections.
#include "tools/halyard/detections.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "media/draw.h"

namespace halyard::cli {
namespace {

struct Producer {
  size_t operation;
  size_t output;
};

// Whether the operand's value is part of the model, not of an execution.
bool isConstant(const Operand& operand) {
  return operand.lifetime == Lifetime::CONSTANT_COPY ||
         operand.lifetime == Lifetime::CONSTANT_REFERENCE || operand.lifetime == Lifetime::NO_VALUE;
}

// The operation of `type` that makes the operand's value.
std::optional<Producer> originOf(const Subgraph& graph, const std::map<uint32_t, Producer>& made,
                                 uint32_t operand, OperationType type) {
  // Each step goes back in the order of operations, so the loop ends.
  for (size_t step = 0; step <= graph.operations.size(); ++step) {
    const auto it = made.find(operand);
    if (it == made.end()) return std::nullopt;
    const Operation& operation = graph.operations[it->second.operation];
    if (operation.type == type) return it->second;
    std::optional<uint32_t> only;
    for (const uint32_t input : operation.inputs) {
      if (isConstant(graph.operands[input])) continue;
      if (only) return std::nullopt;
      only = input;
    }
    if (!only) return std::nullopt;
    operand = *only;
  }
  return std::nullopt;
}

// Number of class indices that the operation can give; 0 when unknown.
size_t classCountOf(const Model& model, const Operation& operation) {
  constexpr size_t kScoresInput = 0;
  constexpr size_t kBackgroundIncludedInput = 13;
  if (operation.inputs.size() <= kBackgroundIncludedInput) return 0;
  const Shape& scores = model.main.operands[operation.inputs[kScoresInput]].dimensions;
  const Operand& included = model.main.operands[operation.inputs[kBackgroundIncludedInput]];
  if (scores.size() != 3 || scores[2] == 0 || included.lifetime != Lifetime::CONSTANT_COPY ||
      included.location.length != 1 || included.location.offset >= model.operandValues.size()) {
    return 0;
  }
  return model.operandValues[included.location.offset] != 0 ? scores[2] : scores[2] - 1;
}

int32_t pixelOf(float fraction, uint32_t size) {
  const double clamped = std::isnan(fraction) ? 0.0 : std::clamp(fraction, -16.0f, 16.0f);
  return static_cast<int32_t>(std::lround(clamped * size));
}

}  // namespace

std::optional<DetectionOutputs> findDetectionOutputs(const Model& model) {
  const Subgraph& graph = model.main;
  std::map<uint32_t, Producer> made;
  for (size_t i = 0; i < graph.operations.size(); ++i) {
    const OperandIndexes& outputs = graph.operations[i].outputs;
    for (size_t k = 0; k < outputs.size(); ++k) made[outputs[k]] = {i, k};
  }
  // Indexed by output of the operation: scores, boxes, classes, count.
  std::array<std::optional<size_t>, 4> found;
  std::optional<size_t> detector;
  for (size_t i = 0; i < graph.outputIndexes.size(); ++i) {
    const auto origin =
        originOf(graph, made, graph.outputIndexes[i], OperationType::DETECTION_POSTPROCESSING);
    if (!origin || origin->output >= found.size()) continue;
    if (detector && *detector != origin->operation) return std::nullopt;
    detector = origin->operation;
    found[origin->output] = i;
  }
  if (!found[0] || !found[1] || !found[2]) return std::nullopt;
  return DetectionOutputs{*found[0], *found[1], *found[2], found[3],
                          classCountOf(model, graph.operations[*detector])};
}

Result<std::vector<Detection>> readDetections(const DetectionValues& values, float minScore) {
  const size_t slots = values.scores.size();
  if (values.classes.size() != slots || values.boxes.size() != slots * 4) {
    return badData("{} scores, {} classes and {} box edges do not make detections", slots,
                   values.classes.size(), values.boxes.size());
  }
  size_t valid = slots;
  if (values.count) {
    if (!(*values.count >= 0 && *values.count <= static_cast<float>(slots))) {
      return badData("{} detections in {} places", *values.count, slots);
    }
    valid = static_cast<size_t>(*values.count);
  }
  std::vector<Detection> detections;
  for (size_t i = 0; i < valid; ++i) {
    const float classIndex = values.classes[i];
    if (!(values.scores[i] >= minScore)) continue;
    if (!(classIndex >= 0 && classIndex < 1e6f)) {
      return badData("detection #{} has class {}", i, classIndex);
    }
    const float* box = values.boxes.data() + i * 4;
    detections.push_back(
        {box[0], box[1], box[2], box[3], values.scores[i], static_cast<size_t>(classIndex)});
  }
  return detections;
}

std::string listDetections(std::span<const Detection> detections, const measure::Labels& labels,
                           uint32_t width, uint32_t height) {
  std::string text;
  for (const Detection& d : detections) {
    text += fmt::format("  {:.4f}  {:<20}  ", d.score, labels.nameOf(d.classIndex));
    if (width != 0 && height != 0) {
      text +=
          fmt::format("left {}, top {}, right {}, bottom {}\n", pixelOf(d.left, width),
                      pixelOf(d.top, height), pixelOf(d.right, width), pixelOf(d.bottom, height));
    } else {
      text += fmt::format("left {:.3f}, top {:.3f}, right {:.3f}, bottom {:.3f} of the picture\n",
                          d.left, d.top, d.right, d.bottom);
    }
  }
  return text;
}

void drawDetections(media::Image& picture, std::span<const Detection> detections,
                    const measure::Labels& labels) {
  // Lines and letters grow with the picture. Otherwise they are invisible in a large one.
  const auto side = static_cast<int32_t>(std::max(picture.width, picture.height));
  const int32_t thickness = std::max(2, side / 250);
  const int32_t scale = std::max(1, side / 300);
  std::vector<Detection> order(detections.begin(), detections.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const Detection& a, const Detection& b) { return a.score < b.score; });
  for (const Detection& d : order) {
    const media::Box box = {pixelOf(d.left, picture.width), pixelOf(d.top, picture.height),
                            pixelOf(d.right, picture.width), pixelOf(d.bottom, picture.height)};
    // Colour 0 is black; the first class needs a visible colour.
    const media::Color color = media::classColor(static_cast<uint32_t>(d.classIndex) + 1);
    media::drawFrame(picture, box, thickness, color);
    const std::string label = fmt::format("{} {:.0f}%", labels.nameOf(d.classIndex), 100 * d.score);
    media::drawLabel(picture, box.left, box.top - media::textHeight(scale) - 2 * scale, label,
                     scale, color);
  }
}

}  // namespace halyard::cli
