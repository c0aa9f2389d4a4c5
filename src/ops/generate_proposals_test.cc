// Tests of GENERATE_PROPOSALS against a plain model of its definition, and of its errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ops/boxes_for_test.h"

namespace halyard::ops::testing {
namespace {

using ::testing::ElementsAre;
using enum OperandType;

constexpr OperationType kProposals = OperationType::GENERATE_PROPOSALS;

struct ProposalsCase {
  BoxTypes types = kBoxTypes[0];
  uint32_t batches = 1;
  uint32_t height = 1;
  uint32_t width = 1;
  uint32_t anchors = 1;
  std::vector<double> scores;  // channels last
  std::vector<double> deltas;
  std::vector<double> anchorBoxes;
  std::vector<double> info;
  float heightStride = 4;
  float widthStride = 4;
  int32_t preNms = -1;
  int32_t postNms = -1;
  float iouThreshold = 0.5f;
  float minSize = 0;
  bool nchw = false;

  bool quantized() const { return isQuant8Asymm(types.main); }
  int32_t zeroPoint(int32_t unsignedOne) const {
    if (!quantized()) return 0;
    return types.main == TENSOR_QUANT8_ASYMM ? unsignedOne : unsignedOne - 128;
  }
  std::vector<TestOperand> inputs() const {
    const auto scalar = [&](float value) { return realScalar(types.main, value); };
    const TestOperand score = operandOf(types.main, {batches, height, width, anchors}, scores,
                                        quantized() ? 1.0f / 256 : 0, zeroPoint(0));
    const TestOperand delta = operandOf(types.main, {batches, height, width, anchors * 4}, deltas,
                                        quantized() ? 0.01f : 0, zeroPoint(128));
    const bool signedAnchors = isQuant16(types.anchors);
    return {nchw ? toNchw(score) : score,
            nchw ? toNchw(delta) : delta,
            operandOf(types.anchors, {anchors, 4}, anchorBoxes, signedAnchors ? 0.125f : 0),
            coordinateTensor(types.coordinates, {batches, 2}, info),
            scalar(heightStride),
            scalar(widthStride),
            TestOperand::int32(preNms),
            TestOperand::int32(postNms),
            scalar(iouThreshold),
            scalar(minSize),
            TestOperand::boolean(nchw)};
  }
  std::vector<TestOperand> outputs() const {
    return {TestOperand::output(types.main, quantized() ? 1.0f / 256 : 0, zeroPoint(0)),
            coordinatesOutput(types.coordinates), TestOperand::output(TENSOR_INT32)};
  }
};

// All scores differ and are exact in every type.
ProposalsCase randomProposals(RandomOperands& random, const BoxTypes& types) {
  ProposalsCase c;
  c.types = types;
  c.batches = static_cast<uint32_t>(random.between(1, 2));
  c.height = static_cast<uint32_t>(random.between(1, 5));
  c.width = static_cast<uint32_t>(random.between(1, 6));
  c.anchors = static_cast<uint32_t>(random.between(1, 4));
  for (int level : shuffledLevels(random, c.batches * c.height * c.width * c.anchors)) {
    c.scores.push_back(level / 256.0);
    for (int k = 0; k < 4; ++k) c.deltas.push_back(static_cast<double>(random.realBetween(-1, 1)));
  }
  for (uint32_t a = 0; a < c.anchors; ++a) {
    for (double x : randomBox(random, 16, 16)) c.anchorBoxes.push_back(x - 4);
  }
  for (uint32_t b = 0; b < c.batches; ++b) {
    append(c.info, {random.between(12, 30) * 1.0, random.between(12, 30) * 1.0});
  }
  c.heightStride = static_cast<float>(random.between(1, 24)) / 4;
  c.widthStride = static_cast<float>(random.between(1, 24)) / 4;
  c.preNms = random.oneOf({-1, 0, 1, 7, 30, std::numeric_limits<int32_t>::max()});
  c.postNms = random.oneOf({-1, 0, 1, 4, 20, std::numeric_limits<int32_t>::max()});
  c.iouThreshold = static_cast<float>(random.between(1, 9) * 51 + 1) / 512;
  c.minSize = static_cast<float>(random.between(0, 7)) / 2;
  c.nchw = random.coin();
  return c;
}

struct Proposal {
  double score;
  RealBox box;
  int32_t batch;
};

std::vector<Proposal> naive(const ProposalsCase& c, const std::vector<double>& deltas) {
  std::vector<Proposal> result;
  const size_t cells = size_t{c.height} * c.width;
  for (size_t b = 0; b < c.batches; ++b) {
    const double imageHeight = c.info[b * 2];
    const double imageWidth = c.info[b * 2 + 1];
    std::vector<Proposal> list;
    for (size_t i = 0; i < cells * c.anchors; ++i) {
      const size_t cell = i / c.anchors;
      const double right = static_cast<double>(cell % c.width) * static_cast<double>(c.widthStride);
      const double down = static_cast<double>(cell / c.width) * static_cast<double>(c.heightStride);
      const double* anchor = &c.anchorBoxes[i % c.anchors * 4];
      const RealBox roi = {anchor[0] + right, anchor[1] + down, anchor[2] + right,
                           anchor[3] + down};
      const size_t at = b * cells * c.anchors + i;
      list.push_back({c.scores[at], movedBox(roi, &deltas[at * 4], imageHeight, imageWidth),
                      static_cast<int32_t>(b)});
    }
    // All scores differ, so sorting only decides which boxes compete.
    std::sort(list.begin(), list.end(),
              [](const Proposal& x, const Proposal& y) { return x.score > y.score; });
    if (c.preNms > 0) list.resize(std::min(list.size(), static_cast<size_t>(c.preNms)));
    std::vector<Proposal> kept;
    for (const Proposal& one : list) {
      const double w = one.box[2] - one.box[0];
      const double h = one.box[3] - one.box[1];
      const double smallest = static_cast<double>(c.minSize);
      if (w <= smallest || h <= smallest || one.box[0] + w / 2 >= imageWidth ||
          one.box[1] + h / 2 >= imageHeight) {
        continue;
      }
      if (std::all_of(kept.begin(), kept.end(), [&](const Proposal& other) {
            return overlapOf(other.box, one.box) < static_cast<double>(c.iouThreshold);
          })) {
        kept.push_back(one);
      }
    }
    if (c.postNms > 0) kept.resize(std::min(kept.size(), static_cast<size_t>(c.postNms)));
    result.insert(result.end(), kept.begin(), kept.end());
  }
  return result;
}

TEST(GenerateProposals, AgreesWithDefinition) {
  RandomOperands random(131);
  size_t most = 0;
  for (int round = 0; round < 400; ++round) {
    const ProposalsCase c = randomProposals(random, kBoxTypes[round % 4]);
    std::vector<TestOperand> inputs = c.inputs();
    std::vector<TestOperand> outputs = c.outputs();
    const Status status = runOperation(kProposals, inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.toString();
    ProposalsCase nhwc = c;
    nhwc.nchw = false;
    const std::vector<Proposal> expected = naive(c, realValues(nhwc.inputs()[1]));
    most = std::max(most, expected.size());
    const auto count = static_cast<uint32_t>(expected.size());
    EXPECT_EQ(outputs[0].tensor.dims, Shape{count});
    EXPECT_EQ(outputs[1].tensor.dims, (Shape{count, 4}));
    EXPECT_EQ(outputs[2].tensor.dims, Shape{count});
    std::vector<double> scores, boxes;
    std::vector<int32_t> batches;
    for (const Proposal& found : expected) {
      scores.push_back(found.score);
      append(boxes, {found.box.begin(), found.box.end()});
      batches.push_back(found.batch);
    }
    const std::string what = fmt::format("round {}", round);
    expectBoxReals(outputs[0], scores, what);
    expectBoxReals(outputs[1], boxes, what, 2e-5);
    EXPECT_EQ(outputs[2].values<int32_t>(), batches) << what;
    if (HasFailure()) return;
  }
  EXPECT_GT(most, 20u);
}

// Two separate anchors of one cell, without deltas.
ProposalsCase twoBoxes() {
  ProposalsCase c;
  c.anchors = 2;
  c.scores = {0.25, 0.5};
  c.deltas.assign(8, 0);
  c.anchorBoxes = {0, 0, 4, 4, 10, 10, 16, 18};
  c.info = {32, 64};
  return c;
}

std::vector<float> scoresOf(const ProposalsCase& c) {
  std::vector<TestOperand> inputs = c.inputs();
  std::vector<TestOperand> outputs = c.outputs();
  const Status status = runOperation(kProposals, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.toString();
  return outputs[0].values<float>();
}

TEST(GenerateProposals, ByHand) {
  ProposalsCase c = twoBoxes();
  EXPECT_THAT(scoresOf(c), ElementsAre(0.5f, 0.25f));
  c.minSize = 4;  // an equal size is not enough
  EXPECT_THAT(scoresOf(c), ElementsAre(0.5f));
  c.minSize = 0;
  c.preNms = 1;
  EXPECT_THAT(scoresOf(c), ElementsAre(0.5f));
  c = twoBoxes();
  c.postNms = 1;
  EXPECT_THAT(scoresOf(c), ElementsAre(0.5f));
  c = twoBoxes();
  c.info = {10, 64};  // the second box lies below the image
  EXPECT_THAT(scoresOf(c), ElementsAre(0.25f));
  c.info = {0, 0};
  std::vector<TestOperand> inputs = c.inputs();
  std::vector<TestOperand> outputs = c.outputs();
  ASSERT_TRUE(runOperation(kProposals, inputs, outputs).ok());
  EXPECT_EQ(outputs[0].tensor.dims, Shape{0});
  EXPECT_EQ(outputs[1].tensor.dims, (Shape{0, 4}));
  EXPECT_EQ(outputs[2].tensor.dims, Shape{0});
}

TEST(GenerateProposals, OfEqualScoresTheFirstMayCompete) {
  ProposalsCase c = twoBoxes();
  c.scores = {0.5, 0.5};
  c.preNms = 1;
  std::vector<TestOperand> inputs = c.inputs();
  std::vector<TestOperand> outputs = c.outputs();
  ASSERT_TRUE(runOperation(kProposals, inputs, outputs).ok());
  EXPECT_THAT(outputs[1].values<float>(), ElementsAre(0, 0, 4, 4));
}

TEST(GenerateProposals, TakesValuesThatAreNotNumbers) {
  RandomOperands random(132);
  for (int round = 0; round < 40; ++round) {
    ProposalsCase c = randomProposals(random, kBoxTypes[round % 2]);
    const double odd[] = {kNan, HUGE_VAL, -HUGE_VAL};
    for (size_t i = 0; i < c.scores.size(); i += 3) c.scores[i] = odd[i % 9 / 3];
    for (size_t i = 0; i < c.deltas.size(); i += 5) c.deltas[i] = odd[i % 15 / 5];
    for (size_t i = 0; i < c.info.size(); i += 4) c.info[i] = odd[static_cast<size_t>(round) % 3];
    std::vector<TestOperand> inputs = c.inputs();
    std::vector<TestOperand> outputs = c.outputs();
    EXPECT_TRUE(runOperation(kProposals, inputs, outputs).ok());
  }
  ProposalsCase c = twoBoxes();
  c.scores = {kNan, -1};
  EXPECT_THAT(scoresOf(c), ElementsAre(-1, ::testing::IsNan()));
  c.preNms = 1;
  EXPECT_THAT(scoresOf(c), ElementsAre(-1));
}

TEST(GenerateProposals, NeedsValuesForItsShapes) {
  expectNeedsEveryValue(kProposals, twoBoxes().inputs(), 3);
}

TEST(GenerateProposals, Refuses) {
  const auto refuses = [](const std::function<void(ProposalsCase&)>& spoil,
                          const std::string& text) {
    ProposalsCase c = twoBoxes();
    spoil(c);
    expectFailure(kProposals, c.inputs(), c.outputs(), text);
  };
  for (float bad : {0.0f, -1.0f, kNan, HUGE_VALF}) {
    refuses([&](ProposalsCase& c) { c.heightStride = bad; },
            fmt::format("height stride is {}, expected more than 0 and finite", bad));
    refuses([&](ProposalsCase& c) { c.widthStride = bad; }, fmt::format("width stride is {}", bad));
  }
  refuses([](ProposalsCase& c) { c.iouThreshold = -1; }, "IoU threshold is -1, expected 0 or more");
  refuses([](ProposalsCase& c) { c.iouThreshold = kNan; }, "IoU threshold is nan");
  refuses([](ProposalsCase& c) { c.minSize = kNan; }, "min size is nan");
  refuses([](ProposalsCase& c) { c.anchorBoxes[6] = 9; }, "anchor 1 is from (10, 10) to (9, 18)");
  refuses([](ProposalsCase& c) { c.anchorBoxes[0] = kNan; }, "anchor 0 is from (nan, 0)");
  const auto refusesInput = [](size_t i, const Shape& dims, const std::string& text) {
    std::vector<TestOperand> inputs = twoBoxes().inputs();
    inputs[i].tensor.dims = dims;
    expectFailure(kProposals, inputs, twoBoxes().outputs(), text);
  };
  refusesInput(0, {2}, "scores has rank 1");
  refusesInput(0, {0, 1, 1, 2}, "input 0 (scores) is zero-sized");
  refusesInput(1, {1, 1, 1, 2}, "deltas has shape [1,1,1,2], expected [1,1,1,8]");
  refusesInput(2, {1, 4}, "anchors has shape [1,4], expected [2,4]");
  refusesInput(3, {2, 1}, "image info has shape [2,1], expected [1,2]");
  ProposalsCase c = twoBoxes();
  c.types = kBoxTypes[3];
  std::vector<TestOperand> outputs = c.outputs();
  outputs[0].tensor.scale = 1;
  expectFailure(kProposals, c.inputs(), outputs, "expected those of the input");
  outputs = c.outputs();
  outputs[1].tensor.zeroPoint = 3;
  expectFailure(kProposals, c.inputs(), outputs,
                "output 1 (boxes) has scale 0.125 and zero point 3");
  std::vector<TestOperand> inputs = c.inputs();
  inputs[2].tensor.scale = 0.5f;
  expectFailure(kProposals, inputs, c.outputs(), "anchors has scale 0.5");
  inputs = c.inputs();
  inputs[3].tensor.scale = 0.5f;
  expectFailure(kProposals, inputs, c.outputs(), "image info has scale 0.5");
}

}  // namespace
}  // namespace halyard::ops::testing
