// Non-maximum suppression: of boxes that overlap much, only the one with the highest score stays.
// Thread safety: a candidate list belongs to one thread; intersectionOverUnion is pure.
// Ownership: a candidate list owns its columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/simd.h"

namespace halyard::ops {

// Corners of a box, not necessarily ordered. The name of each axis does not matter.
struct Box {
  float y1;
  float x1;
  float y2;
  float x2;
};

HALYARD_ALWAYS_INLINE float boxArea(const Box& box) {
  return (box.y2 - box.y1) * (box.x2 - box.x1);
}

// inter / (a + b - inter), where inter is at least 0 per axis; NaN for 0 / 0.
HALYARD_ALWAYS_INLINE float intersectionOverUnion(const Box& a, const Box& b) {
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const float intersection = std::max(0.0f, height) * std::max(0.0f, width);
  return intersection / (boxArea(a) + boxArea(b) - intersection);
}

// Returns whether score `a` comes before `b` in descending order: a strict weak order with NaN at
// the end.
inline bool ranksBefore(float a, float b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

// The effect of a taken box on the score of another one, by the ratio r of intersection over union.
// HARD and LINEAR keep the score if r < iouThreshold. Otherwise HARD sets it to 0, and LINEAR
// multiplies it by 1 - r. GAUSSIAN always multiplies it by exp(-r^2 / sigma).
struct Decay {
  enum class Kernel { HARD, LINEAR, GAUSSIAN };
  Kernel kernel = Kernel::HARD;
  float iouThreshold = 0;
  float sigma = 1;
  float scoreThreshold = 0;  // boxes with a lower score are dropped
};

// Boxes with scores. They are stored as columns, so that the tests of one box against all others
// vectorise.
class CandidateList {
 public:
  explicit CandidateList(size_t capacity);

  void clear();
  // `id` belongs to the caller. Score and coordinates may have any value; a NaN score ranks last.
  void push(uint32_t id, float score, const Box& box);
  size_t size() const { return ids_.size(); }

  // Repeatedly takes the candidate with the highest score; of equal ones, the first in the current
  // order. Swaps it to the front of the remaining ones. Drops every other candidate whose
  // intersection over union with it is at least `threshold` (>= 0), and moves the last one to its
  // place. Stops when no candidate remains or, unless `limit` is negative, when `limit` are taken.
  // Afterwards the list holds the taken candidates in order.
  void suppress(float threshold, int32_t limit);

  // As suppress, but the overlap with the taken candidate lowers the scores of the remaining ones.
  // Candidates with a score below the threshold are dropped (NaN is not below).
  void suppressSoftly(const Decay& decay, int32_t limit);

  uint32_t id(size_t i) const { return ids_[i]; }
  float score(size_t i) const { return scores_[i]; }
  Box box(size_t i) const { return {y1_[i], x1_[i], y2_[i], x2_[i]}; }

 private:
  size_t highest(size_t from) const;
  void swap(size_t i, size_t j);
  void truncate(size_t size);
  void dropOverlapping(size_t taken, float threshold);
  void decayOverlapping(size_t taken, const Decay& decay);
  void dropBelow(size_t from, float threshold);

  std::vector<uint32_t> ids_;
  std::vector<float> scores_;
  std::vector<float> y1_;
  std::vector<float> x1_;
  std::vector<float> y2_;
  std::vector<float> x2_;
};

}  // namespace halyard::ops
