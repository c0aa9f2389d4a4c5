// Runs imported models on the CPU. The expected values are those of LiteRT for the same files and
// inputs. Others were calculated by hand, as their comments show.
#include <gmock/gmock.h>

#include "import/tflite/run_imported_for_test.h"
#include "import/tflite/sample_models.h"

namespace halyard::import {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;
using ::testing::Pointwise;

TEST(Execution, Dense) {
  EXPECT_THAT(as<float>(run(denseFloat())[0]), ElementsAre(8, 22, 17, 13));
  EXPECT_THAT(as<float>(run(denseFromVector())[0]), ElementsAre(8, 22));
  EXPECT_THAT(as<float>(run(denseKeepDims())[0]), ElementsAre(-2, 2, 7, -7));
  EXPECT_THAT(as<int8_t>(run(denseInt8())[0]), ElementsAre(127, -128));
  EXPECT_THAT(as<int8_t>(run(densePerChannel())[0]), ElementsAre(127, -2));
}

TEST(Execution, DensePerChannelBelowSaturation) {
  ModelWriter w = densePerChannel();
  w.tensors[3].scales = {4.0f};
  // x = (100, 107, 114) - 1; unit 0: (99 + 212 + 339) * 0.125 + 8 * 0.125 = 82.25, / 4 - 2 = 18.6.
  EXPECT_THAT(as<int8_t>(run(w)[0]), ElementsAre(19, -2));
}

TEST(Execution, Convolutions) {
  EXPECT_THAT(as<float>(run(dilatedConvolution())[0]), ElementsAre(6.5f, 8.5f, 14.5f, 16.5f));
  EXPECT_THAT(as<int8_t>(run(perChannelConvolutions())[0]), ElementsAre(13, -85));
}

TEST(Execution, Elementwise) {
  const auto arithmetic = run(uint8Arithmetic());
  // The differences are 13, 15, 16 and 18; times 1 they are 10.4, 12, 12.8 and 14.4 steps of 1.25.
  EXPECT_THAT(arithmetic[0], ElementsAre(130, 132, 133, 134));
  EXPECT_THAT(arithmetic[1], ElementsAre(27, 34, 41, 48));
  EXPECT_THAT(as<float>(run(floatActivations())[0]),
              Pointwise(FloatNear(1e-6f), {0.27655819f, 0.33232394f, 0.39111787f, 0.33333331f,
                                           0.33333334f, 0.33333334f}));
  EXPECT_THAT(as<int8_t>(run(int8Activations())[0]), ElementsAre(-64, -64, -64, -64));
}

TEST(Execution, Shapes) { EXPECT_THAT(as<float>(run(shapeOperators())[0]), ElementsAre(0.25f)); }

TEST(Execution, RequantisedMean) {
  ModelWriter w = requantisedMean();
  w.tensors[0].zeroPoints = {100};
  // The mean of 100, 107, 114 and 121 (as a signed byte) minus 100 is 10.5; / 0.25 + 10 = 52.
  EXPECT_THAT(as<int8_t>(run(w)[0]), ElementsAre(52));
}

// A constant that the importer has converted to floats may be an output of the model, too.
TEST(Execution, FoldedConstantsAsOutputs) {
  ModelWriter w = foldedWeights();
  w.outputs = {5, 2};
  const auto outputs = run(w);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0], run(foldedWeights())[0]);
  EXPECT_THAT(as<float>(outputs[1]), ElementsAre(1, -2, 0.5f, 4));
}

TEST(Execution, QuantisationChain) {
  const auto outputs = run(quantisationChain());
  EXPECT_THAT(as<float>(outputs[0]), ElementsAre(-1, -0.5f, 0, 0.5f));
  EXPECT_THAT(outputs[1], ElementsAre(116, 117, 118, 119));
}

TEST(Execution, FoldedWeights) {
  EXPECT_THAT(as<float>(run(foldedWeights())[0]), ElementsAre(1, -4.5f));
}

TEST(Execution, Spatial) {
  const float row1[] = {1.3125f, 1.3125f, 1.3125f, 0.525f, 0};
  const float row2[] = {3.9375f, 3.9375f, 3.9375f, 1.575f, 0};
  const float row3[] = {5.25f, 5.25f, 5.25f, 2.1f, 0};
  std::vector<float> expected(5, 0.0f);
  for (const auto& row : {row1, row2, row3, row3, row3})
    expected.insert(expected.end(), row, row + 5);
  EXPECT_THAT(as<float>(run(spatialOperators())[0]), Pointwise(FloatNear(1e-5f), expected));
}

TEST(Execution, Detection) {
  const auto outputs = run(detection());
  EXPECT_THAT(as<float>(outputs[0]),
              Pointwise(FloatNear(1e-5f), {0.53423488f, 0.49708340f, 1.10576510f, 1.17791653f,
                                           0.17904663f, 0.16664976f, 0.32095337f, 0.35260022f}));
  EXPECT_THAT(as<int32_t>(outputs[1]), ElementsAre(1, 1));
  EXPECT_THAT(as<float>(outputs[2]), ElementsAre(FloatEq(0.609375f), FloatEq(0.52734375f)));
  EXPECT_THAT(as<int32_t>(outputs[3]), ElementsAre(2));
}

}  // namespace
}  // namespace halyard::import
