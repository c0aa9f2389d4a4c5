// Tests of NON_MAX_SUPPRESSION.
#include <cmath>

#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;
using ::testing::FloatNear;

struct Kept {
  std::vector<int32_t> indices;
  std::vector<float> scores;
  std::vector<int32_t> count;
};

// Box 1 overlaps box 0 by a third of their union. Its corners are in the other order.
Kept keep(float iouThreshold, float scoreThreshold, float sigma) {
  std::vector<TestOperand> inputs = {
      TestOperand::of<float>(TENSOR_FLOAT32, {3, 4}, {0, 0, 2, 2, 2, 3, 0, 1, 5, 5, 6, 6}),
      TestOperand::of<float>(TENSOR_FLOAT32, {3}, {0.8f, 0.9f, 0.3f}), TestOperand::int32(4)};
  for (const float value : {iouThreshold, scoreThreshold, sigma}) {
    inputs.push_back(TestOperand::of<float>(FLOAT32, {}, {value}));
  }
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_INT32),
                                      TestOperand::output(TENSOR_FLOAT32),
                                      TestOperand::output(TENSOR_INT32)};
  const Status status = runOperation(OperationType::NON_MAX_SUPPRESSION, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.toString();
  return {outputs[0].values<int32_t>(), outputs[1].values<float>(), outputs[2].values<int32_t>()};
}

TEST(NonMaxSuppression, RemovesWhatOverlaps) {
  const Kept hard = keep(0.3f, 0, 0);
  EXPECT_THAT(hard.indices, ElementsAre(1, 2, 0, 0));
  EXPECT_THAT(hard.scores, ElementsAre(0.9f, 0.3f, 0, 0));
  EXPECT_THAT(hard.count, ElementsAre(2));
  EXPECT_THAT(keep(0.4f, 0, 0).indices, ElementsAre(1, 0, 2, 0));
  EXPECT_THAT(keep(0.4f, 0.3f, 0).count, ElementsAre(2));
}

TEST(NonMaxSuppression, LowersScoresWithASigma) {
  const Kept soft = keep(0.5f, 0, 0.25f);
  EXPECT_THAT(soft.indices, ElementsAre(1, 0, 2, 0));
  EXPECT_THAT(soft.scores[1], FloatNear(0.8f * std::exp(-2.0f / 9), 1e-6f));
  EXPECT_THAT(soft.count, ElementsAre(3));
}

}  // namespace
}  // namespace halyard::ops::testing
