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

// One of three outputs [1,3*(5+C),rows,columns]. Each cell and anchor has a centre, a size, an
// objectness and scores of classes, all from 0 to 1. Appends the candidates.
Status decodeYoloGrid(const OutputTensor& output, InputSize size,
                      std::vector<Detection>& candidates) {
  struct Scale {
    float stride;
    std::array<std::pair<float, float>, 3> anchors;  // width, height
  };
  static constexpr Scale kScales[] = {{8, {{{12, 16}, {19, 36}, {40, 28}}}},
                                      {16, {{{36, 75}, {76, 55}, {72, 146}}}},
                                      {32, {{{142, 110}, {192, 243}, {459, 401}}}}};
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> values, floatsOf(output));
  const bool hasForm = output.shape.size() == 4 && output.shape[0] == 1 &&
                       output.shape[1] % 3 == 0 && output.shape[1] / 3 > 5;
  const auto* const scale = std::ranges::find_if(kScales, [&](const Scale& each) {
    return hasForm && static_cast<float>(output.shape[2]) * each.stride == size.height &&
           static_cast<float>(output.shape[3]) * each.stride == size.width;
  });
  const size_t fields = hasForm ? static_cast<size_t>(output.shape[1]) / 3 : 0;
  const size_t columns = hasForm ? static_cast<size_t>(output.shape[3]) : 0;
  const size_t cells = hasForm ? static_cast<size_t>(output.shape[2]) * columns : 0;
  if (scale == std::end(kScales) || values.size() != 3 * fields * cells) {
    return badData("output '{}' has the shape {}, expected [1,3*(5+classes),rows,columns]",
                   output.name, shapeText(output.shape));
  }
  for (size_t i = 0; i < 3 * cells; ++i) {
    const size_t cell = i % cells;
    const auto at = [&](size_t field) {
      return values[(i / cells * fields + field) * cells + cell];
    };
    size_t best = 5;
    for (size_t field = 6; field < fields; ++field) {
      if (at(field) > at(best)) best = field;
    }
    const float score = at(4) * at(best);
    if (!(score >= kLeastScore)) continue;
    const auto [width, height] = scale->anchors[i / cells];
    const float x = (2 * at(0) - 0.5F + static_cast<float>(cell % columns)) * scale->stride;
    const float y = (2 * at(1) - 0.5F + static_cast<float>(cell / columns)) * scale->stride;
    Detection found = ofCentre(static_cast<float>(best - 5), score, x, y, 4 * at(2) * at(2) * width,
                               4 * at(3) * at(3) * height, size);
    for (float* const edge : {&found.yMin, &found.xMin, &found.yMax, &found.xMax}) {
      *edge = std::clamp(*edge, 0.0F, 1.0F);
    }
    candidates.push_back(found);
  }
  return okStatus();
}

Result<Detections> decodeYoloGrids(std::span<const OutputTensor> outputs, InputSize size) {
  std::vector<Detection> candidates;
  for (const OutputTensor& output : outputs) {
    HALYARD_RETURN_IF_ERROR(decodeYoloGrid(output, size, candidates));
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

// Rows [N,7] of batch, xMin, yMin, xMax, yMax, score and class, already chosen and sorted by the
// model. A class of -1 ends them.
Result<Detections> decodeYoloNas(std::span<const OutputTensor> outputs, InputSize size) {
  constexpr size_t kFields = 7;
  if (outputs.size() != 1 || outputs[0].shape.empty() || outputs[0].shape.back() != kFields) {
    return badData("expected one output of the shape [boxes,7]");
  }
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> values, floatsOf(outputs[0]));
  Detections found = {};
  const size_t rows = std::min(values.size() / kFields, found.size());
  for (size_t i = 0; i < rows; ++i) {
    const float* const v = values.data() + i * kFields;
    if (!(v[6] >= 0)) break;
    found[i] = {
        v[6], v[5], v[2] / size.height, v[1] / size.width, v[4] / size.height, v[3] / size.width};
  }
  return found;
}

// Labels [1,N], boxes [1,N,4] as xMin, yMin, xMax, yMax in pixels, and scores [1,N].
Result<Detections> decodeDfine(std::span<const OutputTensor> outputs, InputSize size) {
  if (outputs.size() != 3) {
    return badData("{} outputs, expected labels, boxes and scores", outputs.size());
  }
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> labels, floatsOf(outputs[0]));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> boxes, floatsOf(outputs[1]));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> scores, floatsOf(outputs[2]));
  if (labels.size() != scores.size() || boxes.size() != 4 * scores.size()) {
    return badData("{} labels, {} numbers of boxes and {} scores, expected 1 to 4 to 1",
                   labels.size(), boxes.size(), scores.size());
  }
  std::vector<Detection> candidates;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!(scores[i] >= kLeastScore)) continue;
    const float* const box = boxes.data() + 4 * i;
    candidates.push_back({labels[i], scores[i], box[1] / size.height, box[0] / size.width,
                          box[3] / size.height, box[2] / size.width});
  }
  return bestOf(std::move(candidates));
}

// Boxes [1,N,4] as centre and size, in shares of the input, and logits [1,N,C]. Class 0 is the
// background, so that the result counts the classes from the second logit.
Result<Detections> decodeRfDetr(std::span<const OutputTensor> outputs) {
  if (outputs.size() != 2 || outputs[1].shape.size() != 3 || outputs[1].shape[2] < 2) {
    return badData("expected boxes [1,boxes,4] and logits [1,boxes,classes]");
  }
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> boxes, floatsOf(outputs[0]));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<float> logits, floatsOf(outputs[1]));
  const auto count = static_cast<size_t>(outputs[1].shape[1]);
  const auto classes = static_cast<size_t>(outputs[1].shape[2]);
  if (boxes.size() != 4 * count || logits.size() != count * classes) {
    return badData("{} numbers of boxes and {} logits for the shape {}", boxes.size(),
                   logits.size(), shapeText(outputs[1].shape));
  }
  std::vector<Detection> candidates;
  for (size_t i = 0; i < count; ++i) {
    const std::span<const float> row(logits.data() + i * classes, classes);
    const float largest = *std::ranges::max_element(row);
    float sum = 0;
    for (const float logit : row) sum += std::exp(logit - largest);
    const auto best = std::ranges::max_element(row.subspan(1));
    const float score = std::exp(*best - largest) / sum;
    if (!(score >= kLeastScore)) continue;
    const float* const box = boxes.data() + 4 * i;
    candidates.push_back(ofCentre(static_cast<float>(best - row.begin() - 1), score, box[0], box[1],
                                  box[2], box[3], {1, 1}));
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
  if (modelType == "yologeneric" || modelType == "yolo-generic") {
    return outputs.size() == 3 ? decodeYoloGrids(outputs, size) : decodeYolo(outputs, size);
  }
  if (modelType == "yolox") return decodeYolox(outputs, size);
  if (modelType == "yolonas") return decodeYoloNas(outputs, size);
  if (modelType == "dfine") return decodeDfine(outputs, size);
  if (modelType == "rfdetr") return decodeRfDetr(outputs);
  return badData(
      "the model type '{}' is unknown, expected ssd, yologeneric, yolox, yolonas, dfine or rfdetr",
      modelType);
}

}  // namespace halyard::serve
