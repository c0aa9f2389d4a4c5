// Tests of DETECTION_POSTPROCESSING against a plain model of its definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

struct DetectionCase {
  uint32_t batches = 1;
  uint32_t anchors = 6;
  uint32_t classes = 3;
  uint32_t deltaSize = 4;
  std::vector<float> scores;
  std::vector<float> deltas;
  std::vector<float> anchorBoxes;
  float scales[4] = {10, 10, 5, 5};
  bool regular = false;
  int maxDetections = 3;
  int maxClasses = 1;
  int maxPerClass = 2;
  float scoreThreshold = 0.1f;
  float iouThreshold = 0.5f;
  bool background = false;

  std::vector<TestOperand> inputs(OperandType type) const {
    const auto tensor = [&](const Shape& dims, const std::vector<float>& values) {
      if (type == TENSOR_FLOAT32) return TestOperand::of<float>(type, dims, values);
      std::vector<Float16> halves;
      for (float value : values) halves.push_back(toFloat16(value));
      return TestOperand::of<Float16>(type, dims, halves);
    };
    return {tensor({batches, anchors, classes}, scores),
            tensor({batches, anchors, deltaSize}, deltas),
            tensor({anchors, 4}, anchorBoxes),
            realScalar(type, scales[0]),
            realScalar(type, scales[1]),
            realScalar(type, scales[2]),
            realScalar(type, scales[3]),
            TestOperand::boolean(regular),
            TestOperand::int32(maxDetections),
            TestOperand::int32(maxClasses),
            TestOperand::int32(maxPerClass),
            realScalar(type, scoreThreshold),
            realScalar(type, iouThreshold),
            TestOperand::boolean(background)};
  }
  static std::vector<TestOperand> outputs(OperandType type) {
    return {TestOperand::output(type), TestOperand::output(type), TestOperand::output(TENSOR_INT32),
            TestOperand::output(TENSOR_INT32)};
  }
};

DetectionCase randomCase(RandomOperands& random) {
  DetectionCase c;
  c.batches = static_cast<uint32_t>(random.between(1, 3));
  c.anchors = static_cast<uint32_t>(random.between(1, 40));
  c.classes = static_cast<uint32_t>(random.between(2, 6));
  c.deltaSize = static_cast<uint32_t>(random.between(4, 6));
  // The scores are distinct, so that the order of equal ones does not matter.
  std::vector<int> levels(c.batches * c.anchors * c.classes);
  std::iota(levels.begin(), levels.end(), 1);
  for (size_t i = levels.size(); i > 1; --i) {
    std::swap(levels[i - 1],
              levels[static_cast<size_t>(random.between(0, static_cast<int>(i) - 1))]);
  }
  for (int level : levels) c.scores.push_back(static_cast<float>(level) / 1024);
  for (size_t i = 0; i < c.batches * c.anchors * c.deltaSize; ++i) {
    c.deltas.push_back(random.realBetween(-3, 3));
  }
  for (size_t i = 0; i < c.anchors; ++i) {
    for (float low : {0.0f, 0.0f, 0.1f, 0.1f}) {
      c.anchorBoxes.push_back(random.realBetween(low, low > 0 ? 0.5f : 1.0f));
    }
  }
  for (float& scale : c.scales) scale = random.realBetween(1, 10);
  c.regular = random.coin();
  c.maxDetections = random.between(1, 12);
  c.maxClasses = random.between(1, 7);
  c.maxPerClass = random.between(1, 7);
  c.scoreThreshold = random.realBetween(0, 0.2f);
  c.iouThreshold = random.realBetween(0.1f, 0.9f);
  c.background = random.coin();
  return c;
}

struct Detection {
  double score;
  std::vector<double> box;
  int label;
};

struct NaiveImage {
  std::vector<std::vector<double>> boxes;
  std::vector<std::vector<double>> scores;
};

NaiveImage decode(const DetectionCase& c, size_t batch) {
  NaiveImage image;
  for (size_t a = 0; a < c.anchors; ++a) {
    const float* delta = &c.deltas[(batch * c.anchors + a) * c.deltaSize];
    const float* anchor = &c.anchorBoxes[a * 4];
    std::vector<double> real(4);
    for (int axis : {0, 1}) {
      const double centre = anchor[axis] + double{anchor[2 + axis]} * delta[axis] / c.scales[axis];
      const double half = anchor[2 + axis] * std::exp(double{delta[2 + axis]} / c.scales[2 + axis]);
      real[static_cast<size_t>(axis)] = centre - half / 2;
      real[static_cast<size_t>(axis) + 2] = centre + half / 2;
    }
    image.boxes.push_back(real);
    const float* score = &c.scores[(batch * c.anchors + a) * c.classes];
    image.scores.emplace_back(score, score + c.classes);
  }
  return image;
}

double overlap(const std::vector<double>& a, const std::vector<double>& b) {
  const double height = std::max(0.0, std::min(a[2], b[2]) - std::max(a[0], b[0]));
  const double width = std::max(0.0, std::min(a[3], b[3]) - std::max(a[1], b[1]));
  const double shared = height * width;
  return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared);
}

// Without equal scores, suppression is one pass over the sorted list.
std::vector<size_t> suppress(const NaiveImage& image, std::vector<std::pair<double, size_t>> list,
                             double threshold, int limit) {
  std::sort(list.rbegin(), list.rend());
  std::vector<size_t> kept;
  for (const std::pair<double, size_t>& candidate : list) {
    const size_t anchor = candidate.second;
    if (kept.size() == static_cast<size_t>(limit)) break;
    if (std::all_of(kept.begin(), kept.end(), [&](size_t other) {
          return !(overlap(image.boxes[anchor], image.boxes[other]) >= threshold);
        })) {
      kept.push_back(anchor);
    }
  }
  return kept;
}

std::vector<Detection> naiveDetections(const DetectionCase& c, size_t batch) {
  const NaiveImage image = decode(c, batch);
  std::vector<Detection> result;
  const auto found = [&](size_t anchor, size_t label) {
    result.push_back({image.scores[anchor][label], image.boxes[anchor],
                      static_cast<int>(label) - (c.background ? 0 : 1)});
  };
  if (c.regular) {
    for (size_t label = 1; label < c.classes; ++label) {
      std::vector<std::pair<double, size_t>> list;
      for (size_t a = 0; a < c.anchors; ++a) {
        const double score = image.scores[a][label];
        if (score > c.scoreThreshold) list.emplace_back(score, a);
      }
      for (size_t a : suppress(image, list, c.iouThreshold, c.maxPerClass)) found(a, label);
    }
    std::sort(result.begin(), result.end(),
              [](const Detection& a, const Detection& b) { return a.score > b.score; });
    result.resize(std::min(result.size(), static_cast<size_t>(c.maxDetections)));
    return result;
  }
  std::vector<std::pair<double, size_t>> list;
  for (size_t a = 0; a < c.anchors; ++a) {
    const double best = *std::max_element(image.scores[a].begin() + 1, image.scores[a].end());
    if (best > c.scoreThreshold) list.emplace_back(best, a);
  }
  for (size_t a : suppress(image, list, c.iouThreshold, c.maxDetections)) {
    std::vector<std::pair<double, size_t>> labels;
    for (size_t label = 1; label < c.classes; ++label)
      labels.emplace_back(image.scores[a][label], label);
    std::sort(labels.rbegin(), labels.rend());
    labels.resize(std::min(labels.size(), static_cast<size_t>(c.maxClasses)));
    for (const auto& [score, label] : labels) found(a, label);
  }
  return result;
}

void checkCase(const DetectionCase& c, OperandType type, double tolerance) {
  std::vector<TestOperand> inputs = c.inputs(type);
  std::vector<TestOperand> outputs = DetectionCase::outputs(type);
  const Status status = runOperation(OperationType::DETECTION_POSTPROCESSING, inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.toString();
  const size_t slots =
      static_cast<size_t>(c.maxDetections) * static_cast<size_t>(c.regular ? 1 : c.maxClasses);
  const auto slots32 = static_cast<uint32_t>(slots);
  EXPECT_EQ(outputs[0].tensor.dims, (Shape{c.batches, slots32}));
  EXPECT_EQ(outputs[1].tensor.dims, (Shape{c.batches, slots32, 4}));
  EXPECT_EQ(outputs[2].tensor.dims, (Shape{c.batches, slots32}));
  EXPECT_EQ(outputs[3].tensor.dims, (Shape{c.batches}));
  const std::vector<double> scores = realValues(outputs[0]);
  const std::vector<double> boxes = realValues(outputs[1]);
  const std::vector<int32_t> labels = outputs[2].values<int32_t>();
  for (size_t batch = 0; batch < c.batches; ++batch) {
    std::vector<Detection> expected = naiveDetections(c, batch);
    ASSERT_EQ(outputs[3].values<int32_t>()[batch], static_cast<int32_t>(expected.size()));
    expected.resize(slots, {0, {0, 0, 0, 0}, 0});
    for (size_t i = 0; i < slots; ++i) {
      const size_t slot = batch * slots + i;
      ASSERT_NEAR(scores[slot], expected[i].score, tolerance) << "slot " << slot;
      ASSERT_EQ(labels[slot], expected[i].label) << "slot " << slot;
      for (size_t side = 0; side < 4; ++side) {
        ASSERT_NEAR(boxes[slot * 4 + side], expected[i].box[side], tolerance) << "slot " << slot;
      }
    }
  }
}

TEST(DetectionPostprocessing, AgreesWithDefinition) {
  RandomOperands random(101);
  for (int round = 0; round < 300; ++round) {
    checkCase(randomCase(random), TENSOR_FLOAT32, 2e-5);
    if (HasFatalFailure()) return;
  }
}

TEST(DetectionPostprocessing, HalfPrecision) {
  RandomOperands random(102);
  for (int round = 0; round < 50; ++round) {
    DetectionCase c = randomCase(random);
    // The expectation starts from the half-precision values. The thresholds are coarse enough to
    // avoid doubtful cases.
    for (auto* values : {&c.scores, &c.deltas, &c.anchorBoxes}) {
      for (float& value : *values) value = toFloat(toFloat16(value));
    }
    for (float& scale : c.scales) scale = toFloat(toFloat16(scale));
    c.scoreThreshold = toFloat(toFloat16(c.scoreThreshold));
    c.iouThreshold = toFloat(toFloat16(c.iouThreshold));
    checkCase(c, TENSOR_FLOAT16, 5.0 / 1024);
    if (HasFatalFailure()) return;
  }
}

TEST(DetectionPostprocessing, ScoresThatAreNotNumbersNeverWin) {
  RandomOperands random(103);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (bool regular : {false, true}) {
    DetectionCase c = randomCase(random);
    c.regular = regular;
    c.maxDetections = 40;
    c.maxClasses = 1;
    for (size_t i = 0; i < c.scores.size(); i += 2) c.scores[i] = nan;
    for (size_t i = 0; i < c.deltas.size(); i += 7) c.deltas[i] = nan;
    std::vector<TestOperand> inputs = c.inputs(TENSOR_FLOAT32);
    std::vector<TestOperand> outputs = DetectionCase::outputs(TENSOR_FLOAT32);
    ASSERT_TRUE(runOperation(OperationType::DETECTION_POSTPROCESSING, inputs, outputs).ok());
    for (float score : outputs[0].values<float>()) EXPECT_FALSE(std::isnan(score));
  }
}

TEST(DetectionPostprocessing, Refuses) {
  RandomOperands random(104);
  const DetectionCase good = randomCase(random);
  const auto refuses = [&](const std::function<void(DetectionCase&)>& spoil,
                           const std::string& text) {
    DetectionCase c = good;
    c.regular = true;
    spoil(c);
    expectFailure(OperationType::DETECTION_POSTPROCESSING, c.inputs(TENSOR_FLOAT32),
                  DetectionCase::outputs(TENSOR_FLOAT32), text);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  refuses([](DetectionCase& c) { c.scales[1] = 0; }, "scale for dx is 0, expected more than 0");
  refuses([&](DetectionCase& c) { c.scales[3] = nan; }, "scale for dw is nan");
  refuses([](DetectionCase& c) { c.maxDetections = 0; }, "max detections is 0");
  refuses([](DetectionCase& c) { c.maxPerClass = -1; }, "max detections per class is -1");
  refuses(
      [](DetectionCase& c) {
        c.regular = false;
        c.maxClasses = 0;
      },
      "max classes per detection is 0");
  refuses([](DetectionCase& c) { c.scoreThreshold = -0.5f; }, "score threshold is -0.5");
  refuses([&](DetectionCase& c) { c.iouThreshold = nan; }, "IoU threshold is nan");
  refuses(
      [](DetectionCase& c) {
        c.regular = false;
        c.maxDetections = c.maxClasses = 1 << 30;
      },
      "are too many");
  refuses([](DetectionCase& c) { c.maxDetections = std::numeric_limits<int>::max(); },
          "more than 4294967295 bytes");
  const auto refusesShape = [&](size_t input, const Shape& dims, const std::string& text) {
    std::vector<TestOperand> inputs = good.inputs(TENSOR_FLOAT32);
    inputs[input] = random.tensor(TENSOR_FLOAT32, dims);
    expectFailure(OperationType::DETECTION_POSTPROCESSING, inputs,
                  DetectionCase::outputs(TENSOR_FLOAT32), text);
  };
  refusesShape(0, {1, 5}, "scores has rank 2");
  refusesShape(0, {good.batches, good.anchors, 1}, "1 classes");
  refusesShape(1, {good.batches, good.anchors, 3}, "4 or more");
  refusesShape(1, {good.batches, good.anchors + 1, 4}, "box deltas have shape");
  refusesShape(2, {good.anchors + 1, 4}, "anchors have shape");
  refusesShape(2, {good.anchors, 5}, "anchors have shape");
}

}  // namespace
}  // namespace halyard::ops::testing
