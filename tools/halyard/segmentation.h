// Reads, lists and draws the results of a segmentation: the class of every pixel.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "measure/labels.h"
#include "media/image.h"

namespace halyard::cli {

// Class indices, row-major.
struct ClassMap {
  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<uint32_t> classes;
};

// The class with the highest score of each pixel; the first one of equal scores. `scores` is
// [height, width, classCount]. BAD_DATA when its size does not match.
Result<ClassMap> highestClasses(std::span<const float> scores, uint32_t width, uint32_t height,
                                uint32_t classCount);

struct ClassShare {
  uint32_t classIndex;
  double share;  // fraction of all pixels
};
// Classes that occur, the most frequent first.
std::vector<ClassShare> classShares(const ClassMap& map);

// One line for each class with at least one pixel in a thousand: share, label, colour.
std::string listSegments(std::span<const ClassShare> shares, const measure::Labels& labels);

// Blends the classes' colours with `picture` in equal parts, in its size (3 channels).
media::Image blendSegments(const media::Image& picture, const ClassMap& map);
// The classes' colours alone, in the size of the map.
media::Image colorSegments(const ClassMap& map);

}  // namespace halyard::cli
