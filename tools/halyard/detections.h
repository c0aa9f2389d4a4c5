// Finds the outputs of an object detector in a model, and reads, lists and draws its results.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"
#include "measure/labels.h"
#include "media/image.h"

namespace halyard::cli {

// The positions of a detector's results in main.outputIndexes, for a model that ends in a detection
// post-processing.
struct DetectionOutputs {
  size_t scores = 0;            // [1,N]
  size_t boxes = 0;             // [1,N,4] as top, left, bottom, right
  size_t classes = 0;           // [1,N]
  std::optional<size_t> count;  // [1]: the number of valid detections; N when absent
  size_t classCount = 0;        // number of class indices; 0 when unknown
};
// `model` is valid. nullopt when its outputs do not come from one such operation. Operations with a
// single non-constant input, such as a conversion, may stand between.
std::optional<DetectionOutputs> findDetectionOutputs(const Model& model);

// Edges relative to the picture: 0 is the top or left edge, 1 the bottom or right one.
struct Detection {
  float top = 0;
  float left = 0;
  float bottom = 0;
  float right = 0;
  float score = 0;
  size_t classIndex = 0;
};

// The real values of the outputs, in the order of the model.
struct DetectionValues {
  std::span<const float> scores;
  std::span<const float> boxes;
  std::span<const float> classes;
  std::optional<float> count;
};
// The valid detections with at least `minScore`, in the model's order. BAD_DATA when the lengths of
// the values do not match.
Result<std::vector<Detection>> readDetections(const DetectionValues& values, float minScore);

// One line for each detection: score, label, edges in pixels of a picture of width x height. Edges
// are fractions when these are 0.
std::string listDetections(std::span<const Detection> detections, const measure::Labels& labels,
                           uint32_t width, uint32_t height);

// Draws frames with label and score into a picture with 3 channels. The best detection is on top.
void drawDetections(media::Image& picture, std::span<const Detection> detections,
                    const measure::Labels& labels);

}  // namespace halyard::cli
