// Results of an object detector: found in a model, read, listed and drawn.
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

// Which of the model's outputs (positions in main.outputIndexes) holds what, when the model ends in
// a detection post-processing.
struct DetectionOutputs {
  size_t scores = 0;            // [1,N]
  size_t boxes = 0;             // [1,N,4] as top, left, bottom, right
  size_t classes = 0;           // [1,N]
  std::optional<size_t> count;  // [1]: how many of the N are valid; all when absent
  size_t classCount = 0;        // number of class indices; 0 when unknown
};
// `model` is valid. nullopt when its outputs do not come from one such operation, directly or
// through operations with a single non-constant input such as a conversion.
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
// The valid ones with at least `minScore`, in the model's order. BAD_DATA when the numbers of
// values do not fit together.
Result<std::vector<Detection>> readDetections(const DetectionValues& values, float minScore);

// A line for each: score, label, edges in pixels of a picture of width x height (or as fractions
// when these are 0).
std::string listDetections(std::span<const Detection> detections, const measure::Labels& labels,
                           uint32_t width, uint32_t height);

// Frames with label and score, the best on top, in a picture with 3 channels.
void drawDetections(media::Image& picture, std::span<const Detection> detections,
                    const measure::Labels& labels);

}  // namespace halyard::cli
