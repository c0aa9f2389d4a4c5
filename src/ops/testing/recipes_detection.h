// Recipes of operations on boxes and regions of interest.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include <algorithm>

#include "ops/testing/recipes_elementwise.h"

namespace halyard::ops::testing::recipes {

// Returns `count` boxes x1, y1, x2, y2 in multiples of an eighth, within [0, width] and [0,
// height].
inline std::vector<double> randomBoxes(CaseBuilder& b, uint32_t count, int width, int height) {
  std::vector<double> result;
  for (uint32_t i = 0; i < count; ++i) {
    std::pair x = std::minmax({b.between(0, 8 * width), b.between(0, 8 * width)});
    std::pair y = std::minmax({b.between(0, 8 * height), b.between(0, 8 * height)});
    for (int value : {x.first, y.first, x.second, y.second}) result.push_back(value / 8.0);
  }
  return result;
}

// Adds batch indices, with equal ones side by side.
inline void batchIndices(CaseBuilder& b, uint32_t count, uint32_t batches) {
  std::vector<int32_t> indices(count);
  for (int32_t& index : indices) index = b.between(0, static_cast<int>(batches) - 1);
  std::sort(indices.begin(), indices.end());
  b.intList(indices);
}

inline void imageInfo(CaseBuilder& b, uint32_t batches, int height, int width) {
  std::vector<double> info;
  for (uint32_t i = 0; i < batches; ++i) info.insert(info.end(), {double(height), double(width)});
  b.coordinates({batches, 2}, info);
}

inline void boxTransform(CaseBuilder& b) {
  const uint32_t rois = b.size(1, 6);
  const uint32_t batches = b.size(1, 3);
  b.coordinates({rois, 4}, randomBoxes(b, rois, 60, 50));
  b.tensor({rois, 4 * b.size(1, 3)});
  batchIndices(b, rois, batches);
  imageInfo(b, batches, 50, 60);
  b.outFixed(kEighth, 0, 0);
  b.batch({0, 1, 2}, {0});
}

inline void boxWithNmsLimit(CaseBuilder& b) {
  const uint32_t rois = b.size(1, 12);
  const uint32_t classes = b.size(2, 4);
  b.tensor({rois, classes}, 0, 1);
  b.coordinates({rois, 4 * classes}, randomBoxes(b, rois * classes, 20, 20));
  batchIndices(b, rois, 3);
  b.real(0.25f);
  b.int32(b.between(-1, 5));
  b.int32(b.between(0, 2));
  b.wrongValue(3);
  b.wrongValue(-1);
  b.real(0.375f);
  b.real(0.5f);
  b.real(0.125f);
  b.outLike(0);
  b.outFixed(kEighth, 0, 0);
  b.outPlain();
  b.outPlain();
}

inline void detectionPostprocessing(CaseBuilder& b) {
  const uint32_t batches = b.size(1, 3);
  const uint32_t anchors = b.size(1, 12);
  b.tensor({batches, anchors, b.size(2, 4)}, 0, 1);
  b.tensor({batches, anchors, b.size(4, 6)});
  b.tensor({anchors, 4}, 0.25f, 1);
  for (int i = 0; i < 4; ++i) b.real(b.random().realBetween(4, 10));
  b.flag(b.coin());
  for (int i = 0; i < 3; ++i) b.int32(b.between(1, 5));
  b.real(0.25f);
  b.real(0.5f);
  b.flag(b.coin());
  for (int i = 0; i < 4; ++i) b.outPlain();
  b.batch({0, 1}, {0, 1, 2, 3});
}

inline void generateProposals(CaseBuilder& b) {
  const uint32_t batches = b.size(1, 2);
  const uint32_t height = b.size(1, 4);
  const uint32_t width = b.size(1, 4);
  const uint32_t anchors = b.size(1, 3);
  b.tensor({batches, height, width, anchors}, 0, 1);
  b.tensor({batches, height, width, 4 * anchors});
  std::vector<double> boxes = randomBoxes(b, anchors, 20, 20);
  for (double& value : boxes) value -= 10;
  b.coordinates({anchors, 4}, boxes);
  imageInfo(b, batches, static_cast<int>(height) * 8, static_cast<int>(width) * 8);
  b.real(8);
  b.real(8);
  b.int32(b.between(-1, 20));
  b.int32(b.between(1, 10));
  b.real(0.5f);
  b.real(0.25f);
  b.layout({0, 1}, {});
  b.outLike(0);
  b.outFixed(kEighth, 0, 0);
  b.outPlain();
}

inline void heatmapMaxKeypoint(CaseBuilder& b) {
  const uint32_t boxes = b.size(1, 4);
  const uint32_t side = b.size(2, 6);
  b.tensor({boxes, side, side, b.size(1, 3)});
  b.coordinates({boxes, 4}, randomBoxes(b, boxes, 60, 50));
  b.layout({0}, {});
  b.out(b.spread(0));
  b.outFixed(kEighth, 0, 0);
  b.batch({0, 1}, {0, 1});
}

// Adds the feature map, regions in an image of twice its size, their indices, and the output's
// size.
inline void regions(CaseBuilder& b) {
  const uint32_t batches = b.size(1, 3);
  const uint32_t height = b.size(2, 8);
  const uint32_t width = b.size(2, 8);
  const uint32_t rois = b.size(1, 5);
  b.tensor({batches, height, width, b.size(1, 4)});
  b.coordinates({rois, 4},
                randomBoxes(b, rois, static_cast<int>(width) * 2, static_cast<int>(height) * 2));
  batchIndices(b, rois, batches);
  b.positive(1, 4);
  b.positive(1, 4);
  b.real(2);
  b.real(2);
}
inline void roiAlign(CaseBuilder& b) {
  regions(b);
  for (int i = 0; i < 2; ++i) {
    b.int32(b.between(0, 3));
    b.wrongValue(-1);
  }
  b.layout({0}, {0});
  b.out(b.spread(0));
  b.batch({1, 2}, {0});
}
inline void roiPooling(CaseBuilder& b) {
  regions(b);
  b.layout({0}, {0});
  b.outLike(0);
  b.batch({1, 2}, {0});
}

}  // namespace halyard::ops::testing::recipes
