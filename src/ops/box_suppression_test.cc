// Tests of non-maximum suppression against a plain list of candidates.
#include "ops/box_suppression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace halyard::ops {
namespace {

struct Candidate {
  uint32_t id;
  float score;
  Box box;
};

float naiveRatio(const Box& a, const Box& b) {
  const float height = std::fmin(a.y2, b.y2) - std::fmax(a.y1, b.y1);
  const float width = std::fmin(a.x2, b.x2) - std::fmax(a.x1, b.x1);
  const float shared = height > 0 && width > 0 ? height * width : 0.0f;
  const float areaA = (a.y2 - a.y1) * (a.x2 - a.x1);
  const float areaB = (b.y2 - b.y1) * (b.x2 - b.x1);
  return shared / (areaA + areaB - shared);
}

// Follows the definition directly.
std::vector<uint32_t> naiveSuppression(std::vector<Candidate> list, float threshold, int limit) {
  std::vector<uint32_t> taken;
  size_t front = 0;
  while (front < list.size() && (limit < 0 || taken.size() < static_cast<size_t>(limit))) {
    size_t best = front;
    for (size_t i = front; i < list.size(); ++i) {
      if (list[i].score > list[best].score) best = i;
    }
    std::swap(list[front], list[best]);
    taken.push_back(list[front].id);
    for (size_t i = front + 1; i < list.size();) {
      if (naiveRatio(list[front].box, list[i].box) >= threshold) {
        list[i] = list.back();
        list.pop_back();
      } else {
        ++i;
      }
    }
    ++front;
  }
  return taken;
}

TEST(BoxSuppression, AgreesWithDefinition) {
  std::mt19937 engine(91);
  std::uniform_real_distribution<float> position(0, 1);
  std::uniform_real_distribution<float> size(0.01f, 0.4f);
  std::uniform_int_distribution<int> level(1, 40);  // few levels, to get many equal scores
  for (int round = 0; round < 300; ++round) {
    std::vector<Candidate> list;
    CandidateList candidates(0);
    const auto count = static_cast<uint32_t>(round);
    for (uint32_t id = 0; id < count; ++id) {
      const float y = position(engine);
      const float x = position(engine);
      const Box box{y, x, y + size(engine), x + size(engine)};
      list.push_back({id, static_cast<float>(level(engine)), box});
      candidates.push(id, list.back().score, box);
    }
    const float threshold = round % 7 == 0 ? 0.0f : position(engine);
    const int limit = round % 3 == 0 ? -1 : round % 3 == 1 ? 5 : 100;
    candidates.suppress(threshold, limit);
    std::vector<uint32_t> ids;
    for (size_t i = 0; i < candidates.size(); ++i) {
      ids.push_back(candidates.id(i));
      EXPECT_EQ(candidates.score(i), list[ids.back()].score);
    }
    ASSERT_EQ(ids, naiveSuppression(list, threshold, limit)) << "round " << round;
  }
}

TEST(BoxSuppression, OfEqualScoresTheFirstInTheCurrentOrderWins) {
  // Taking 2 swaps it with 0, which then comes after 1. Of the overlapping 0 and 1, candidate 1
  // wins.
  CandidateList candidates(3);
  candidates.push(0, 0.5f, {0, 0, 1, 1});
  candidates.push(1, 0.5f, {0, 0, 1, 1});
  candidates.push(2, 0.9f, {5, 5, 6, 6});
  candidates.suppress(0.5f, -1);
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_EQ(candidates.id(0), 2u);
  EXPECT_EQ(candidates.id(1), 1u);
}

TEST(BoxSuppression, TakesCoordinatesThatAreNotNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  CandidateList candidates(0);
  for (uint32_t id = 0; id < 100; ++id) {
    const float odd = id % 3 == 0 ? nan : id % 3 == 1 ? infinity : -infinity;
    candidates.push(id, infinity, {odd, 0, 1, -odd});
  }
  candidates.suppress(0.5f, -1);
  EXPECT_GE(candidates.size(), 1u);
  EXPECT_LE(candidates.size(), 100u);
}

// Follows the definition directly.
std::vector<Candidate> naiveSoftSuppression(std::vector<Candidate> list, const Decay& decay,
                                            int limit) {
  size_t front = 0;
  for (; front < list.size() && (limit < 0 || front < static_cast<size_t>(limit)); ++front) {
    size_t best = front;
    for (size_t i = front; i < list.size(); ++i) {
      if (list[i].score > list[best].score) best = i;
    }
    std::swap(list[front], list[best]);
    for (size_t i = front + 1; i < list.size();) {
      const float ratio = naiveRatio(list[front].box, list[i].box);
      if (decay.kernel == Decay::Kernel::GAUSSIAN) {
        list[i].score *= std::exp(-ratio * ratio / decay.sigma);
      } else if (!(ratio < decay.iouThreshold)) {
        list[i].score *= decay.kernel == Decay::Kernel::HARD ? 0.0f : 1 - ratio;
      }
      if (list[i].score < decay.scoreThreshold) {
        list[i] = list.back();
        list.pop_back();
      } else {
        ++i;
      }
    }
  }
  list.resize(front);
  return list;
}

TEST(BoxSuppression, SoftAgreesWithDefinition) {
  std::mt19937 engine(92);
  std::uniform_real_distribution<float> position(0, 1);
  std::uniform_real_distribution<float> size(0.01f, 0.4f);
  for (int round = 0; round < 200; ++round) {
    std::vector<Candidate> list;
    CandidateList candidates(0);
    for (uint32_t id = 0; id < static_cast<uint32_t>(round); ++id) {
      const float y = position(engine);
      const float x = position(engine);
      list.push_back({id, position(engine), {y, x, y + size(engine), x + size(engine)}});
      candidates.push(id, list.back().score, list.back().box);
    }
    Decay decay;
    decay.kernel = static_cast<Decay::Kernel>(round % 3);
    decay.iouThreshold = position(engine);
    decay.sigma = position(engine) + 0.01f;
    decay.scoreThreshold = round % 2 == 0 ? 0.0f : position(engine) / 2;
    const int limit = round % 5 == 0 ? 10 : -1;
    candidates.suppressSoftly(decay, limit);
    const std::vector<Candidate> expected = naiveSoftSuppression(list, decay, limit);
    ASSERT_EQ(candidates.size(), expected.size()) << "round " << round;
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(candidates.id(i), expected[i].id) << "round " << round;
      ASSERT_NEAR(candidates.score(i), expected[i].score, 1e-5f);
      ASSERT_EQ(candidates.box(i).x2, expected[i].box.x2);
    }
  }
}

TEST(BoxSuppression, ScoresThatAreNotNumbersRankLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(ranksBefore(-infinity, nan));
  EXPECT_FALSE(ranksBefore(nan, -infinity));
  EXPECT_FALSE(ranksBefore(nan, nan));
  EXPECT_TRUE(ranksBefore(2, 1));
  EXPECT_FALSE(ranksBefore(1, 1));
  for (bool soft : {false, true}) {
    CandidateList candidates(0);
    for (uint32_t id = 0; id < 20; ++id) {
      const auto far = static_cast<float>(id * 10);
      candidates.push(id, id == 13 ? -infinity : id == 17 ? 1 : nan, {far, 0, far + 1, 1});
    }
    soft ? candidates.suppressSoftly({.iouThreshold = 0.5f, .scoreThreshold = -infinity}, -1)
         : candidates.suppress(0.5f, -1);
    ASSERT_EQ(candidates.size(), 20u);
    EXPECT_EQ(candidates.id(0), 17u);
    EXPECT_EQ(candidates.id(1), 13u);
  }
}

TEST(BoxSuppression, RatioOfAreas) {
  EXPECT_FLOAT_EQ(intersectionOverUnion({0, 0, 2, 2}, {1, 1, 3, 3}), 1.0f / 7);
  EXPECT_EQ(intersectionOverUnion({0, 0, 1, 1}, {1, 0, 2, 1}), 0.0f);
  EXPECT_EQ(intersectionOverUnion({0, 0, 1, 1}, {0, 0, 1, 1}), 1.0f);
  EXPECT_TRUE(std::isnan(intersectionOverUnion({1, 1, 1, 1}, {1, 1, 1, 1})));
}

}  // namespace
}  // namespace halyard::ops
