#include "serve/frigate/detections.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace halyard::serve {
namespace {

constexpr float kLeastScore = 0.4F;
constexpr float kMostOverlap = 0.4F;
constexpr size_t kMostCandidates = 4096;

Result<std::vector<float>> floatsOf(const OutputTensor& output) {
  if (output.datatype != Datatype::FP32) {
    return badData("output '{}' is {}, expected FP32", output.name, datatypeName(output.datatype));
  }
  std::vector<float> values(output.bytes.size() / sizeof(float));
  if (!values.empty()) {
    std::memcpy(values.data(), output.bytes.data(), values.size() * sizeof(float));
  }
  return values;
}

// Boxes [1,N,4], classes [1,N], scores [1,N] and a count, sorted by the model.
Result<Detections> decodeSsd(std::span<const OutputTensor> outputs) {
  if (outputs.size() != 4) {
    return badData("{} outputs, expected boxes, classes, scores and a count", outputs.size());
  }
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> boxes, floatsOf(outputs[0]));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> classes, floatsOf(outputs[1]));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> scores, floatsOf(outputs[2]));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> count, floatsOf(outputs[3]));
  if (classes.size() != scores.size() || boxes.size() != 4 * scores.size() || count.empty()) {
    return badData("{} numbers of boxes, {} classes and {} scores, expected 4 to 1 to 1",
                   boxes.size(), classes.size(), scores.size());
  }
  Detections found = {};
  const float most = std::clamp(count[0], 0.0F, static_cast<float>(kDetectionRows));
  const size_t rows = std::min<size_t>(static_cast<size_t>(most), scores.size());
  for (size_t i = 0; i < rows; ++i) {
    const float* const box = boxes.data() + 4 * i;
    found[i] = {classes[i], scores[i], box[0], box[1], box[2], box[3]};
  }
  std::ranges::stable_sort(found, std::greater(), &Detection::score);
  return found;
}

Detection ofCentre(float classId, float score, float x, float y, float w, float h, InputSize size) {
  return {classId,
          score,
          (y - h / 2) / size.height,
          (x - w / 2) / size.width,
          (y + h / 2) / size.height,
          (x + w / 2) / size.width};
}

// Values [1,4+C,N], or [1,N,4+C]: centre, size and final scores.
Result<Detections> decodeYolo(std::span<const OutputTensor> outputs, InputSize size) {
  if (outputs.size() != 1 || outputs[0].shape.size() != 3 || outputs[0].shape[0] != 1) {
    return badData("expected one output of the shape [1,4+classes,boxes]");
  }
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> values, floatsOf(outputs[0]));
  const auto rows = static_cast<size_t>(outputs[0].shape[1]);
  const auto columns = static_cast<size_t>(outputs[0].shape[2]);
  const bool isTransposed = rows > columns;
  const size_t fields = isTransposed ? columns : rows;
  const size_t boxes = isTransposed ? rows : columns;
  if (fields < 5 || values.size() != fields * boxes) {
    return badData("output '{}' has the shape {}, expected [1,4+classes,boxes]", outputs[0].name,
                   shapeText(outputs[0].shape));
  }
  const auto at = [&](size_t field, size_t box) {
    return isTransposed ? values[box * fields + field] : values[field * boxes + box];
  };
  std::vector<Detection> candidates;
  for (size_t box = 0; box < boxes; ++box) {
    size_t best = 4;
    for (size_t field = 5; field < fields; ++field) {
      if (at(field, box) > at(best, box)) best = field;
    }
    if (!(at(best, box) >= kLeastScore)) continue;
    candidates.push_back(ofCentre(static_cast<float>(best - 4), at(best, box), at(0, box),
                                  at(1, box), at(2, box), at(3, box), size));
  }
  return bestOf(std::move(candidates));
}

// Values [1,N,5+C]: centre and size relative to a grid, objectness and scores of classes.
Result<Detections> decodeYolox(std::span<const OutputTensor> outputs, InputSize size) {
  if (outputs.size() != 1 || outputs[0].shape.size() != 3 || outputs[0].shape[0] != 1 ||
      outputs[0].shape[2] < 6) {
    return badData("expected one output of the shape [1,boxes,5+classes]");
  }
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> values, floatsOf(outputs[0]));
  const auto boxes = static_cast<size_t>(outputs[0].shape[1]);
  const auto fields = static_cast<size_t>(outputs[0].shape[2]);
  if (values.size() != boxes * fields) {
    return badData("output '{}' has {} values for the shape {}", outputs[0].name, values.size(),
                   shapeText(outputs[0].shape));
  }
  std::vector<Detection> candidates;
  size_t box = 0;
  for (const float stride : {8.0F, 16.0F, 32.0F}) {
    const auto rows = static_cast<size_t>(size.height / stride);
    const auto columns = static_cast<size_t>(size.width / stride);
    for (size_t cell = 0; cell < rows * columns && box < boxes; ++cell, ++box) {
      const float* const v = values.data() + box * fields;
      const float* const best = std::max_element(v + 5, v + fields);
      const float score = v[4] * *best;
      if (!(score >= kLeastScore)) continue;
      const float x = (v[0] + static_cast<float>(cell % columns)) * stride;
      const float y = (v[1] + static_cast<float>(cell / columns)) * stride;
      candidates.push_back(ofCentre(static_cast<float>(best - v - 5), score, x, y,
                                    std::exp(v[2]) * stride, std::exp(v[3]) * stride, size));
    }
  }
  if (box != boxes) {
    return badData("output '{}' has {} boxes, the grids of the input have {}", outputs[0].name,
                   boxes, box);
  }
  return bestOf(std::move(candidates));
}

float areaOf(const Detection& box) {
  return std::max(0.0F, box.yMax - box.yMin) * std::max(0.0F, box.xMax - box.xMin);
}

// The intersection divided by the union.
float overlapOf(const Detection& a, const Detection& b) {
  const Detection common = {0,
                            0,
                            std::max(a.yMin, b.yMin),
                            std::max(a.xMin, b.xMin),
                            std::min(a.yMax, b.yMax),
                            std::min(a.xMax, b.xMax)};
  const float both = areaOf(common);
  const float all = areaOf(a) + areaOf(b) - both;
  return all > 0 ? both / all : 0;
}

}  // namespace

Detections bestOf(std::vector<Detection> candidates) {
  std::ranges::stable_sort(candidates, std::greater(), &Detection::score);
  if (candidates.size() > kMostCandidates) candidates.resize(kMostCandidates);
  Detections best = {};
  size_t count = 0;
  for (const Detection& each : candidates) {
    if (count == best.size()) break;
    const auto hides = [&](const Detection& other) {
      return other.classId == each.classId && overlapOf(other, each) > kMostOverlap;
    };
    const auto* const kept = best.data() + count;
    if (std::any_of(static_cast<const Detection*>(best.data()), kept, hides)) continue;
    best[count++] = each;
  }
  return best;
}

Result<Detections> decodeDetections(const std::string& modelType,
                                    std::span<const OutputTensor> outputs, InputSize size) {
  if (modelType == "ssd") return decodeSsd(outputs);
  if (modelType == "yologeneric" || modelType == "yolo-generic") return decodeYolo(outputs, size);
  if (modelType == "yolox") return decodeYolox(outputs, size);
  return badData("the model type '{}' is not supported, expected ssd, yologeneric or yolox",
                 modelType);
}

}  // namespace halyard::serve
