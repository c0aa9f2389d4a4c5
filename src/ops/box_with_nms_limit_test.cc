// Tests of BOX_WITH_NMS_LIMIT against a plain model of its definition, and of its errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ops/boxes_for_test.h"

namespace halyard::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using enum OperandType;

constexpr OperationType kNmsLimit = OperationType::BOX_WITH_NMS_LIMIT;

struct NmsCase {
  BoxTypes types = kBoxTypes[0];
  uint32_t rois = 1;
  uint32_t classes = 2;
  std::vector<double> scores;  // rois x classes
  std::vector<double> boxes;   // rois x classes x 4
  std::vector<int32_t> batches;
  float scoreThreshold = 0;
  int32_t limit = -1;
  int32_t kernel = 0;
  float iouThreshold = 0.5f;
  float sigma = 0.5f;
  float nmsThreshold = 0;

  std::vector<TestOperand> inputs() const {
    const auto scalar = [&](float value) { return realScalar(types.main, value); };
    return {operandOf(types.main, {rois, classes}, scores, scoreScale(), zeroPoint()),
            coordinateTensor(types.coordinates, {rois, classes * 4}, boxes),
            intList(batches),
            scalar(scoreThreshold),
            TestOperand::int32(limit),
            TestOperand::int32(kernel),
            scalar(iouThreshold),
            scalar(sigma),
            scalar(nmsThreshold)};
  }
  std::vector<TestOperand> outputs() const {
    return {TestOperand::output(types.main, scoreScale(), zeroPoint()),
            coordinatesOutput(types.coordinates), TestOperand::output(TENSOR_INT32),
            TestOperand::output(TENSOR_INT32)};
  }
  float scoreScale() const { return isQuant8Asymm(types.main) ? 1.0f / 256 : 0.0f; }
  int32_t zeroPoint() const { return types.main == TENSOR_QUANT8_ASYMM_SIGNED ? -128 : 0; }
};

// All scores differ and, except for thresholds, are exact in every type.
NmsCase randomCase(RandomOperands& random, const BoxTypes& types) {
  NmsCase c;
  c.types = types;
  c.classes = static_cast<uint32_t>(random.between(2, 5));
  c.rois = static_cast<uint32_t>(random.between(1, 250 / static_cast<int>(c.classes)));
  for (int level : shuffledLevels(random, c.rois * c.classes)) {
    c.scores.push_back(level / 256.0);
    // A box without an area has no ratio of overlap; a separate test covers such boxes.
    std::vector<double> box = randomBox(random, 40, 40);
    for (size_t axis : {size_t{0}, size_t{1}}) box[axis + 2] += box[axis] == box[axis + 2];
    append(c.boxes, box);
  }
  int32_t batch = random.between(-3, 3);
  for (uint32_t r = 0; r < c.rois; ++r) {
    if (random.between(0, 9) == 0) batch += random.between(1, 3);
    c.batches.push_back(batch);
  }
  c.scoreThreshold = (static_cast<float>(random.between(-1, 100)) + 0.5f) / 256;
  c.limit = random.oneOf({-1, 0, 1, 3, 10, std::numeric_limits<int32_t>::max()});
  c.kernel = random.between(0, 2);
  // All scalars are exact in half precision.
  c.iouThreshold = static_cast<float>(random.between(1, 9) * 51 + 1) / 512;
  c.sigma = static_cast<float>(random.between(1, 9)) / 8;
  c.nmsThreshold = random.oneOf({-1.0f, 0.0f, 33.5f / 256, 80.5f / 256});
  return c;
}

struct Found {
  double score;
  RealBox box;
  int32_t label;
  int32_t batch;
};

// Returns the candidates of one class of one image, in the order of their selection.
std::vector<Found> takeAll(const NmsCase& c, std::vector<Found> list) {
  std::vector<Found> taken;
  while (!list.empty() && (c.limit < 0 || taken.size() < static_cast<size_t>(c.limit))) {
    size_t best = 0;
    for (size_t i = 1; i < list.size(); ++i) {
      if (list[i].score > list[best].score) best = i;
    }
    std::swap(list[0], list[best]);
    taken.push_back(list[0]);
    // The taken box stays in place, so that removals swap as in the definition.
    for (size_t i = 1; i < list.size();) {
      const double ratio = overlapOf(taken.back().box, list[i].box);
      const double threshold = static_cast<double>(c.iouThreshold);
      const double factors[] = {ratio < threshold ? 1.0 : 0.0, ratio < threshold ? 1.0 : 1 - ratio,
                                std::exp(-ratio * ratio / static_cast<double>(c.sigma))};
      list[i].score *= factors[c.kernel];
      if (list[i].score < static_cast<double>(c.nmsThreshold)) {
        list[i] = list.back();
        list.pop_back();
      } else {
        ++i;
      }
    }
    list.erase(list.begin());
  }
  return taken;
}

std::vector<Found> naive(const NmsCase& c) {
  std::vector<Found> result;
  const auto byScore = [](const Found& a, const Found& b) { return a.score > b.score; };
  const auto byClass = [](const Found& a, const Found& b) { return a.label < b.label; };
  for (size_t begin = 0; begin < c.rois;) {
    size_t end = begin;
    while (end < c.rois && c.batches[end] == c.batches[begin]) ++end;
    std::vector<Found> image;
    for (size_t k = 1; k < c.classes; ++k) {
      std::vector<Found> list;
      for (size_t i = begin * c.classes + k; i < end * c.classes; i += c.classes) {
        if (!(c.scores[i] > static_cast<double>(c.scoreThreshold))) continue;
        const double* box = &c.boxes[i * 4];
        list.push_back({c.scores[i],
                        {box[0], box[1], box[2], box[3]},
                        static_cast<int32_t>(k),
                        c.batches[begin]});
      }
      for (const Found& one : takeAll(c, list)) image.push_back(one);
    }
    std::stable_sort(image.begin(), image.end(), byScore);
    if (c.limit >= 0) image.resize(std::min(image.size(), static_cast<size_t>(c.limit)));
    std::stable_sort(image.begin(), image.end(), byClass);
    result.insert(result.end(), image.begin(), image.end());
    begin = end;
  }
  return result;
}

TEST(BoxWithNmsLimit, AgreesWithDefinition) {
  RandomOperands random(121);
  size_t most = 0;
  for (int round = 0; round < 400; ++round) {
    const NmsCase c = randomCase(random, kBoxTypes[round % 4]);
    std::vector<TestOperand> inputs = c.inputs();
    std::vector<TestOperand> outputs = c.outputs();
    const Status status = runOperation(kNmsLimit, inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.toString();
    const std::vector<Found> expected = naive(c);
    const auto count = static_cast<uint32_t>(expected.size());
    most = std::max(most, expected.size());
    EXPECT_EQ(outputs[0].tensor.dims, Shape{count});
    EXPECT_EQ(outputs[1].tensor.dims, (Shape{count, 4}));
    std::vector<double> scores, boxes;
    std::vector<int32_t> labels, batches;
    for (const Found& found : expected) {
      scores.push_back(found.score);
      append(boxes, {found.box.begin(), found.box.end()});
      labels.push_back(found.label);
      batches.push_back(found.batch);
    }
    const std::string what = fmt::format("round {}, kernel {}", round, c.kernel);
    expectBoxReals(outputs[0], scores, what);
    expectBoxReals(outputs[1], boxes, what);
    EXPECT_EQ(outputs[2].values<int32_t>(), labels) << what;
    EXPECT_EQ(outputs[3].values<int32_t>(), batches) << what;
    if (HasFailure()) return;
  }
  EXPECT_GT(most, 50u);
}

// Two boxes that overlap by a third, and a separate one, all of class 1.
NmsCase threeBoxes() {
  NmsCase c;
  c.rois = 3;
  c.scores = {0, 0.75, 0, 0.5, 0, 0.25};
  const std::vector<double> unused = {0, 0, 0, 0};
  for (const std::vector<double>& box :
       {std::vector<double>{0, 0, 4, 2}, {2, 0, 6, 2}, {8, 0, 9, 1}}) {
    append(c.boxes, unused);
    append(c.boxes, box);
  }
  c.batches = {7, 7, 7};
  return c;
}

std::vector<float> scoresOf(const NmsCase& c) {
  std::vector<TestOperand> inputs = c.inputs();
  std::vector<TestOperand> outputs = c.outputs();
  const Status status = runOperation(kNmsLimit, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.toString();
  return outputs[0].values<float>();
}

TEST(BoxWithNmsLimit, ByHand) {
  NmsCase c = threeBoxes();
  c.iouThreshold = 0.25f;
  // A suppressed box has score 0, which only a threshold above 0 drops.
  EXPECT_THAT(scoresOf(c), ElementsAre(0.75f, 0.25f, 0));
  c.nmsThreshold = 0.125f;
  EXPECT_THAT(scoresOf(c), ElementsAre(0.75f, 0.25f));
  c.kernel = 1;
  EXPECT_THAT(scoresOf(c), ElementsAre(0.75f, ::testing::FloatEq(0.5f * 2 / 3), 0.25f));
  c.iouThreshold = 0.34f;
  EXPECT_THAT(scoresOf(c), ElementsAre(0.75f, 0.5f, 0.25f));
  c.kernel = 2;
  const float decayed = 0.5f * std::exp(-1.0f / 9 / 0.5f);
  EXPECT_THAT(scoresOf(c), ElementsAre(0.75f, ::testing::FloatEq(decayed), 0.25f));
  // The threshold also drops boxes without overlap.
  c.nmsThreshold = 0.3f;
  EXPECT_THAT(scoresOf(c), ElementsAre(0.75f, ::testing::FloatEq(decayed)));
  c.limit = 1;
  EXPECT_THAT(scoresOf(c), ElementsAre(0.75f));
  c.scoreThreshold = 0.75f;
  EXPECT_THAT(scoresOf(c), IsEmpty());
}

TEST(BoxWithNmsLimit, NothingFound) {
  for (uint32_t rois : {0u, 2u}) {
    NmsCase c;
    c.rois = rois;
    c.scores.assign(rois * 2, 0);
    c.boxes.assign(rois * 8, 0);
    c.batches.assign(rois, 0);
    std::vector<TestOperand> inputs = c.inputs();
    std::vector<TestOperand> outputs = c.outputs();
    ASSERT_TRUE(runOperation(kNmsLimit, inputs, outputs).ok());
    EXPECT_EQ(outputs[0].tensor.dims, Shape{0});
    EXPECT_EQ(outputs[1].tensor.dims, (Shape{0, 4}));
    EXPECT_EQ(outputs[2].tensor.dims, Shape{0});
    EXPECT_EQ(outputs[3].tensor.dims, Shape{0});
  }
}

TEST(BoxWithNmsLimit, TakesValuesThatAreNotNumbers) {
  RandomOperands random(122);
  for (int round = 0; round < 60; ++round) {
    NmsCase c = randomCase(random, kBoxTypes[round % 2]);
    c.kernel = round % 3;
    c.scoreThreshold = -1;
    c.limit = -1;
    const double odd[] = {kNan, HUGE_VAL, -HUGE_VAL};
    for (size_t i = 0; i < c.scores.size(); i += 3) c.scores[i] = odd[i % 9 / 3];
    for (size_t i = 0; i < c.boxes.size(); i += 5) c.boxes[i] = odd[i % 15 / 5];
    std::vector<TestOperand> inputs = c.inputs();
    std::vector<TestOperand> outputs = c.outputs();
    EXPECT_TRUE(runOperation(kNmsLimit, inputs, outputs).ok());
  }
  // Boxes without an area have no ratio. Their scores become NaN, which ranks last.
  NmsCase c = threeBoxes();
  c.kernel = 1;
  c.boxes.assign(24, 1.0);
  EXPECT_THAT(scoresOf(c), ElementsAre(0.75f, ::testing::IsNan(), ::testing::IsNan()));
}

TEST(BoxWithNmsLimit, AKernelOfItsOwnContextFindsTheSame) {
  const NmsCase c = threeBoxes();
  std::vector<TestOperand> operands = c.inputs();
  std::vector<Tensor> inputs;
  for (TestOperand& operand : operands) {
    inputs.push_back(operand.tensor);
    inputs.back().data = operand.bytes.data();
  }
  std::vector<float> scores(3), boxes(12);
  std::vector<int32_t> labels(3), batches(3);
  std::vector<Tensor> outputs(4);
  outputs[0] = {TENSOR_FLOAT32, {3}};
  outputs[1] = {TENSOR_FLOAT32, {3, 4}};
  outputs[2] = outputs[3] = {TENSOR_INT32, {3}};
  outputs[0].data = scores.data();
  outputs[1].data = boxes.data();
  outputs[2].data = labels.data();
  outputs[3].data = batches.data();
  InlineServices services;
  OperationContext context(inputs, outputs, &services);
  ASSERT_TRUE(runReference(*definitionOf(kNmsLimit), context).ok());
  EXPECT_THAT(scores, ElementsAre(0.75f, 0.5f, 0.25f));
  EXPECT_THAT(batches, ElementsAre(7, 7, 7));
  // The shapes do not match the values, so the values must have changed in between.
  outputs[0].dims = {2};
  EXPECT_EQ(runReference(*definitionOf(kNmsLimit), context).code(), ResultCode::OP_FAILED);
}

TEST(BoxWithNmsLimit, NeedsValuesForItsShapes) {
  expectNeedsEveryValue(kNmsLimit, threeBoxes().inputs(), 4);
}

TEST(BoxWithNmsLimit, Refuses) {
  const auto refuses = [](const std::function<void(NmsCase&)>& spoil, const std::string& text) {
    NmsCase c = threeBoxes();
    spoil(c);
    expectFailure(kNmsLimit, c.inputs(), c.outputs(), text);
  };
  refuses([](NmsCase& c) { c.kernel = 3; }, "kernel is 3, expected 0 (hard)");
  refuses([](NmsCase& c) { c.kernel = -1; }, "kernel is -1");
  refuses([](NmsCase& c) { c.scoreThreshold = kNan; }, "score threshold is nan");
  refuses([](NmsCase& c) { c.iouThreshold = kNan; }, "IoU threshold is nan");
  refuses([](NmsCase& c) { c.nmsThreshold = kNan; }, "NMS score threshold is nan");
  refuses([](NmsCase& c) { c.sigma = kNan; }, "sigma is nan");
  refuses(
      [](NmsCase& c) {
        c.kernel = 2;
        c.sigma = 0;
      },
      "sigma is 0, expected more than 0");
  const auto refusesInput = [](size_t i, const Shape& dims, const std::string& text) {
    std::vector<TestOperand> inputs = threeBoxes().inputs();
    inputs[i].tensor.dims = dims;
    expectFailure(kNmsLimit, inputs, threeBoxes().outputs(), text);
  };
  refusesInput(0, {6}, "scores has rank 1");
  refusesInput(0, {3, 1}, "scores [3,1] have 1 classes");
  refusesInput(1, {24}, "boxes has rank 1");
  refusesInput(1, {3, 4}, "boxes has shape [3,4], expected [3,8]");
  refusesInput(1, {2, 8}, "boxes has shape [2,8], expected [3,8]");
  refusesInput(2, {2}, "batch index has shape [2], expected [3]");
  NmsCase c = threeBoxes();
  c.types = kBoxTypes[2];
  std::vector<TestOperand> outputs = c.outputs();
  outputs[0].tensor.zeroPoint = 1;
  expectFailure(kNmsLimit, c.inputs(), outputs, "expected those of the input");
  outputs = c.outputs();
  outputs[1].tensor.scale = 1;
  expectFailure(kNmsLimit, c.inputs(), outputs, "output 1 (boxes) has scale 1");
  std::vector<TestOperand> inputs = c.inputs();
  inputs[1].tensor.zeroPoint = -128;
  expectFailure(kNmsLimit, inputs, c.outputs(), "boxes has scale 0.125 and zero point -128");
}

}  // namespace
}  // namespace halyard::ops::testing
