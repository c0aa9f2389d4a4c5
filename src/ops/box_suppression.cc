// Non-maximum suppression over columns of boxes.
#include "ops/box_suppression.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace halyard::ops {
namespace {

constexpr size_t kLanes = 16;

}  // namespace

float intersectionOverUnion(const Box& a, const Box& b) {
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const float intersection = std::max(0.0f, height) * std::max(0.0f, width);
  return intersection / (boxArea(a) + boxArea(b) - intersection);
}

CandidateList::CandidateList(size_t capacity) {
  ids_.reserve(capacity);
  for (auto* column : {&scores_, &y1_, &x1_, &y2_, &x2_}) column->reserve(capacity);
}

void CandidateList::clear() { truncate(0); }

void CandidateList::truncate(size_t size) {
  ids_.resize(size);
  for (auto* column : {&scores_, &y1_, &x1_, &y2_, &x2_}) column->resize(size);
}

void CandidateList::push(uint32_t id, float score, const Box& box) {
  ids_.push_back(id);
  scores_.push_back(score);
  y1_.push_back(box.y1);
  x1_.push_back(box.x1);
  y2_.push_back(box.y2);
  x2_.push_back(box.x2);
}

void CandidateList::swap(size_t i, size_t j) {
  std::swap(ids_[i], ids_[j]);
  for (auto* column : {&scores_, &y1_, &x1_, &y2_, &x2_}) std::swap((*column)[i], (*column)[j]);
}

size_t CandidateList::highest(size_t from) const {
  // The value first, in lanes, then its first place.
  std::array<float, kLanes> lanes;
  lanes.fill(-std::numeric_limits<float>::infinity());
  const float* scores = scores_.data();
  const size_t count = scores_.size();
  size_t i = from;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = scores[i + lane] > lanes[lane] ? scores[i + lane] : lanes[lane];
    }
  }
  for (; i < count; ++i) lanes[0] = std::max(lanes[0], scores[i]);
  const float best = *std::max_element(lanes.begin(), lanes.end());
  return static_cast<size_t>(std::find(scores + from, scores + count, best) - scores);
}

// Whether any of the kLanes candidates from `from` on shares a positive area with the box.
bool CandidateList::anyOverlap(size_t from, const Box& with) const {
  const float* y1 = y1_.data() + from;
  const float* x1 = x1_.data() + from;
  const float* y2 = y2_.data() + from;
  const float* x2 = x2_.data() + from;
  int any = 0;
  for (size_t i = 0; i < kLanes; ++i) {
    const float height = std::min(y2[i], with.y2) - std::max(y1[i], with.y1);
    const float width = std::min(x2[i], with.x2) - std::max(x1[i], with.x1);
    any |= static_cast<int>(height > 0) & static_cast<int>(width > 0);
  }
  return any != 0;
}

void CandidateList::dropOverlapping(size_t taken, float threshold) {
  const Box reference = box(taken);
  size_t i = taken + 1;
  size_t count = size();
  while (i < count) {
    // Without a common area the ratio is 0 or not a number: below every positive threshold.
    if (threshold > 0 && i + kLanes <= count && !anyOverlap(i, reference)) {
      i += kLanes;
      continue;
    }
    const size_t stop = i + kLanes;
    while (i < std::min(stop, count)) {
      if (intersectionOverUnion(reference, box(i)) >= threshold) {
        swap(i, --count);
      } else {
        ++i;
      }
    }
  }
  truncate(count);
}

void CandidateList::suppress(float threshold, int32_t limit) {
  const size_t most = limit < 0 ? size() : std::min(size(), static_cast<size_t>(limit));
  size_t taken = 0;
  for (; taken < size() && taken < most; ++taken) {
    swap(taken, highest(taken));
    dropOverlapping(taken, threshold);
  }
  truncate(taken);
}

}  // namespace halyard::ops
