// Detections as Frigate expects them, from the outputs of a model.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "serve/protocol/infer.h"

namespace halyard::serve {

// One row of Frigate's result. Coordinates are shares of the input, from 0 to 1.
struct Detection {
  float classId = 0;
  float score = 0;
  float yMin = 0;
  float xMin = 0;
  float yMax = 0;
  float xMax = 0;
};
static_assert(sizeof(Detection) == 24);

inline constexpr size_t kDetectionRows = 20;
// By descending score; unused rows are zero.
using Detections = std::array<Detection, kDetectionRows>;

// The size of the picture that the model takes.
struct InputSize {
  float height = 0;
  float width = 0;
};

// Decodes the outputs of a model of this type: ssd, yologeneric (also yolo-generic) with one
// output or three, yolox, yolonas, dfine or rfdetr. The outputs have real values. BAD_DATA for
// other types, and for outputs of another form, with the expected one.
Result<Detections> decodeDetections(const std::string& modelType,
                                    std::span<const OutputTensor> outputs, InputSize size);

// Keeps the boxes with the highest scores. A box that overlaps a better one of its class by more
// than 0.4 is dropped.
Detections bestOf(std::vector<Detection> candidates);

}  // namespace halyard::serve
