// Non-maximum suppression over columns of boxes.
#include "ops/box_suppression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/work_limit.h"
#include "ops/simd.h"

namespace halyard::ops {
namespace {

constexpr size_t kLanes = 8;

struct Columns {
  const float* y1;
  const float* x1;
  const float* y2;
  const float* x2;
};

// Advances *at by whole groups of kLanes boxes while all their ratios to `reference` are below
// `threshold`. Stops at a group with a higher ratio, or less than a group before `count`.
HALYARD_ALWAYS_INLINE void skipKept(Columns columns, const Box* reference, float threshold,
                                    size_t count, size_t* at) {
  const Box fixed = *reference;
  size_t i = *at;
  for (; i + kLanes <= count; i += kLanes) {
    int dropped = 0;
    for (size_t lane = i; lane < i + kLanes; ++lane) {
      const Box box{columns.y1[lane], columns.x1[lane], columns.y2[lane], columns.x2[lane]};
      dropped |= static_cast<int>(intersectionOverUnion(fixed, box) >= threshold);
    }
    if (dropped != 0) break;
  }
  *at = i;
}

// Multiplies the score of each of the boxes [begin, end) by 1 minus its ratio to `reference`, if
// the ratio is at least `threshold`.
HALYARD_ALWAYS_INLINE void decayLinear(Columns columns, const Box* reference, float threshold,
                                       float* scores, size_t begin, size_t end) {
  const Box fixed = *reference;
  for (size_t i = begin; i < end; ++i) {
    const Box box{columns.y1[i], columns.x1[i], columns.y2[i], columns.x2[i]};
    const float ratio = intersectionOverUnion(fixed, box);
    scores[i] *= ratio < threshold ? 1.0f : 1.0f - ratio;
  }
}
HALYARD_ALWAYS_INLINE void decayHard(Columns columns, const Box* reference, float threshold,
                                     float* scores, size_t begin, size_t end) {
  const Box fixed = *reference;
  for (size_t i = begin; i < end; ++i) {
    const Box box{columns.y1[i], columns.x1[i], columns.y2[i], columns.x2[i]};
    scores[i] *= intersectionOverUnion(fixed, box) < threshold ? 1.0f : 0.0f;
  }
}

}  // namespace

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
  // The loops first find the maximum in lanes, then its first position.
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
  const auto at = static_cast<size_t>(std::find(scores + from, scores + count, best) - scores);
  return at < count ? at : from;  // all scores are NaN
}

void CandidateList::dropOverlapping(size_t taken, float threshold) {
  const Box reference = box(taken);
  size_t count = size();
  for (size_t i = taken + 1; i < count;) {
    runBest<skipKept>(Columns{y1_.data(), x1_.data(), y2_.data(), x2_.data()}, &reference,
                      threshold, count, &i);
    // This loop goes box by box through a group with a box to drop, or through the rest at the end.
    for (const size_t stop = i + kLanes; i < std::min(stop, count);) {
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
    checkWorkLimit();
    swap(taken, highest(taken));
    dropOverlapping(taken, threshold);
  }
  truncate(taken);
}

void CandidateList::decayOverlapping(size_t taken, const Decay& decay) {
  const Box reference = box(taken);
  const Columns columns{y1_.data(), x1_.data(), y2_.data(), x2_.data()};
  switch (decay.kernel) {
    case Decay::Kernel::HARD:
      runBest<decayHard>(columns, &reference, decay.iouThreshold, scores_.data(), taken + 1,
                         size());
      break;
    case Decay::Kernel::LINEAR:
      runBest<decayLinear>(columns, &reference, decay.iouThreshold, scores_.data(), taken + 1,
                           size());
      break;
    case Decay::Kernel::GAUSSIAN:
      for (size_t i = taken + 1; i < size(); ++i) {
        const float ratio = intersectionOverUnion(reference, box(i));
        scores_[i] *= std::exp(-ratio * ratio / decay.sigma);
      }
      break;
  }
}

void CandidateList::dropBelow(size_t from, float threshold) {
  size_t count = size();
  for (size_t i = from; i < count;) {
    if (scores_[i] < threshold) {
      swap(i, --count);
    } else {
      ++i;
    }
  }
  truncate(count);
}

void CandidateList::suppressSoftly(const Decay& decay, int32_t limit) {
  const size_t most = limit < 0 ? size() : std::min(size(), static_cast<size_t>(limit));
  size_t taken = 0;
  for (; taken < size() && taken < most; ++taken) {
    checkWorkLimit();
    swap(taken, highest(taken));
    decayOverlapping(taken, decay);
    dropBelow(taken + 1, decay.scoreThreshold);
  }
  truncate(taken);
}

}  // namespace halyard::ops
