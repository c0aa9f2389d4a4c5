// Tests of HEATMAP_MAX_KEYPOINT against known peaks and its definition in double precision, and of
// its errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ops/boxes_for_test.h"

namespace halyard::ops::testing {
namespace {

using ::testing::ElementsAre;
using enum OperandType;

constexpr OperationType kMaxKeypoint = OperationType::HEATMAP_MAX_KEYPOINT;

struct HeatmapCase {
  BoxTypes types = kBoxTypes[0];
  uint32_t boxes = 1;
  uint32_t size = 3;
  uint32_t keypoints = 1;
  std::vector<double> heat;
  std::vector<double> corners;
  bool nchw = false;

  float scale() const { return isQuant8Asymm(types.main) ? 1.0f / 64 : 0.0f; }
  int32_t zeroPoint() const { return types.main == TENSOR_QUANT8_ASYMM ? 128 : 0; }
  std::vector<TestOperand> inputs() const {
    const TestOperand maps =
        operandOf(types.main, {boxes, size, size, keypoints}, heat, scale(), zeroPoint());
    return {nchw ? toNchw(maps) : maps, coordinateTensor(types.coordinates, {boxes, 4}, corners),
            TestOperand::boolean(nchw)};
  }
  // The scores have parameters of their own.
  std::vector<TestOperand> outputs() const {
    return {TestOperand::output(types.main, scale() * 2, zeroPoint() / 2),
            coordinatesOutput(types.coordinates)};
  }
};

TEST(HeatmapMaxKeypoint, FindsPeaksBetweenPixels) {
  // Parabolas c - a (x - px)^2 - b (y - py)^2 whose peaks are within half a pixel of an inner
  // pixel. Refining a parabola is exact.
  RandomOperands random(141);
  for (int round = 0; round < 100; ++round) {
    HeatmapCase c;
    c.boxes = static_cast<uint32_t>(random.between(1, 3));
    c.size = static_cast<uint32_t>(random.between(3, 8));
    c.keypoints = static_cast<uint32_t>(random.between(1, 4));
    c.nchw = random.coin();
    c.heat.resize(c.boxes * c.size * c.size * c.keypoints);
    std::vector<double> scores, points;
    for (size_t n = 0; n < c.boxes; ++n) {
      append(c.corners, randomBox(random, 50, 50));
      for (size_t k = 0; k < c.keypoints; ++k) {
        const auto position = [&] {
          return random.between(1, static_cast<int>(c.size) - 2) +
                 static_cast<double>(random.realBetween(-0.45f, 0.45f));
        };
        const double px = position();
        const double py = position();
        const double a = static_cast<double>(random.realBetween(0.1f, 0.5f));
        const double b = static_cast<double>(random.realBetween(0.1f, 0.5f));
        for (size_t y = 0; y < c.size; ++y) {
          for (size_t x = 0; x < c.size; ++x) {
            const double dx = static_cast<double>(x) - px;
            const double dy = static_cast<double>(y) - py;
            c.heat[((n * c.size + y) * c.size + x) * c.keypoints + k] =
                2 - a * dx * dx - b * dy * dy;
          }
        }
        const double* box = &c.corners[n * 4];
        scores.push_back(2);
        append(points, {box[0] + (px + 0.5) / c.size * (box[2] - box[0]),
                        box[1] + (py + 0.5) / c.size * (box[3] - box[1])});
      }
    }
    std::vector<TestOperand> inputs = c.inputs();
    std::vector<TestOperand> outputs = c.outputs();
    const Status status = runOperation(kMaxKeypoint, inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(outputs[0].tensor.dims, (Shape{c.boxes, c.keypoints}));
    EXPECT_EQ(outputs[1].tensor.dims, (Shape{c.boxes, c.keypoints, 2}));
    expectBoxReals(outputs[0], scores, "scores");
    expectBoxReals(outputs[1], points, "keypoints", 1e-4);
    if (HasFatalFailure()) return;
  }
}

// x, y and score of one keypoint, in pixels.
std::array<double, 3> naivePeak(const std::vector<double>& heat, size_t size, size_t stride,
                                double epsilon) {
  const auto at = [&](ptrdiff_t y, ptrdiff_t x) {
    const auto mirror = [&](ptrdiff_t i) {
      const auto last = static_cast<ptrdiff_t>(size) - 1;
      return static_cast<size_t>(i < 0 ? -i : i > last ? 2 * last - i : i);
    };
    return heat[(mirror(y) * size + mirror(x)) * stride];
  };
  ptrdiff_t h = 0;
  ptrdiff_t w = 0;
  for (ptrdiff_t i = 0; i < static_cast<ptrdiff_t>(size * size); ++i) {
    const ptrdiff_t side = static_cast<ptrdiff_t>(size);
    if (at(i / side, i % side) > at(h, w)) {
      h = i / side;
      w = i % side;
    }
  }
  const double value = at(h, w);
  const double slopeX = (at(h, w + 1) - at(h, w - 1)) / 2;
  const double slopeY = (at(h + 1, w) - at(h - 1, w)) / 2;
  const double xx = at(h, w + 1) + at(h, w - 1) - 2 * value;
  const double yy = at(h + 1, w) + at(h - 1, w) - 2 * value;
  const double xy = (at(h + 1, w + 1) + at(h - 1, w - 1) - at(h + 1, w - 1) - at(h - 1, w + 1)) / 4;
  const double x = static_cast<double>(w);
  const double y = static_cast<double>(h);
  const double det = xx * yy - xy * xy;
  if (std::abs(det) < epsilon * (1 + xx * yy)) return {x, y, value};
  double dx = (xy * slopeY - yy * slopeX) / det;
  double dy = (xy * slopeX - xx * slopeY) / det;
  const double shrink = std::min(1.0, 1.5 / std::max(std::abs(dx), std::abs(dy)));
  dx *= shrink;
  dy *= shrink;
  return {x + dx, y + dy,
          value + slopeX * dx + slopeY * dy + xx * dx * dx / 2 + xy * dx * dy + yy * dy * dy / 2};
}

TEST(HeatmapMaxKeypoint, AgreesWithDefinition) {
  RandomOperands random(142);
  for (int round = 0; round < 200; ++round) {
    HeatmapCase c;
    c.types = kBoxTypes[round % 4];
    c.boxes = static_cast<uint32_t>(random.between(1, 3));
    c.size = static_cast<uint32_t>(random.between(2, 7));
    c.keypoints = static_cast<uint32_t>(random.between(1, 4));
    c.nchw = random.coin();
    // Multiples of 1/64 are exact in every type.
    for (size_t i = 0; i < c.boxes * c.size * c.size * c.keypoints; ++i) {
      c.heat.push_back(random.between(-128, 127) / 64.0);
    }
    for (uint32_t n = 0; n < c.boxes; ++n) append(c.corners, randomBox(random, 50, 50));
    std::vector<TestOperand> inputs = c.inputs();
    std::vector<TestOperand> outputs = c.outputs();
    const Status status = runOperation(kMaxKeypoint, inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.toString();
    std::vector<double> scores, points;
    for (size_t n = 0; n < c.boxes; ++n) {
      for (size_t k = 0; k < c.keypoints; ++k) {
        const auto first = static_cast<ptrdiff_t>(n * c.size * c.size * c.keypoints + k);
        const auto [x, y, score] =
            naivePeak({c.heat.begin() + first, c.heat.end()}, c.size, c.keypoints,
                      c.types.main == TENSOR_FLOAT16 ? 1e-3 : 1e-5);
        const double* box = &c.corners[n * 4];
        scores.push_back(score);
        append(points, {box[0] + (x + 0.5) / c.size * (box[2] - box[0]),
                        box[1] + (y + 0.5) / c.size * (box[3] - box[1])});
      }
    }
    const std::string what = fmt::format("round {}", round);
    expectBoxReals(outputs[0], scores, what, 1e-5);
    expectBoxReals(outputs[1], points, what, 1e-4);
    if (HasFatalFailure()) return;
  }
}

// Returns the keypoint of one 3 x 3 heatmap in a box of 3 x 3.
std::vector<double> keypointOf(const std::vector<double>& heat, const BoxTypes& types) {
  HeatmapCase c;
  c.types = types;
  c.heat = heat;
  c.corners = {0, 0, 3, 3};
  std::vector<TestOperand> inputs = c.inputs();
  std::vector<TestOperand> outputs = c.outputs();
  EXPECT_TRUE(runOperation(kMaxKeypoint, inputs, outputs).ok());
  return boxReals(outputs[1]);
}

TEST(HeatmapMaxKeypoint, DoesNotRefineWhatIsFlat) {
  EXPECT_THAT(keypointOf(std::vector<double>(9, 0.5), kBoxTypes[0]), ElementsAre(0.5, 0.5));
  // The determinant is 1/4096, which is too small only in half precision. The slope in x is -1/256.
  const double e = 1.0 / 128;
  const std::vector<double> gentle = {-2, -e, -2, -e / 2, 0, -1.5 * e, -2, -e, -2};
  EXPECT_THAT(keypointOf(gentle, kBoxTypes[0]), ElementsAre(1.25, 1.5));
  EXPECT_THAT(keypointOf(gentle, kBoxTypes[1]), ElementsAre(1.5, 1.5));
}

TEST(HeatmapMaxKeypoint, OfEqualPixelsTheFirstWins) {
  // The order is row-major, so (2, 0) and not (0, 2). The mirror at the corner removes the slope.
  EXPECT_THAT(keypointOf({0, 0, 1, 0, 0, 0, 1, 0, 0}, kBoxTypes[0]), ElementsAre(2.5, 0.5));
}

TEST(HeatmapMaxKeypoint, TakesValuesThatAreNotNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(keypointOf(std::vector<double>(9, nan), kBoxTypes[0]).size(), 2u);
  EXPECT_THAT(keypointOf(std::vector<double>(9, HUGE_VAL), kBoxTypes[1]).size(), 2u);
  // NaN is no maximum. Cells far from it keep their values.
  HeatmapCase c;
  c.size = 5;
  c.heat.assign(25, 0);
  c.heat[0] = nan;
  c.heat[18] = 1;
  c.corners = {0, 0, 5, 5};
  std::vector<TestOperand> inputs = c.inputs();
  std::vector<TestOperand> outputs = c.outputs();
  ASSERT_TRUE(runOperation(kMaxKeypoint, inputs, outputs).ok());
  EXPECT_THAT(outputs[1].values<float>(), ElementsAre(3.5f, 3.5f));
}

TEST(HeatmapMaxKeypoint, Refuses) {
  const auto good = [] {
    HeatmapCase c;
    c.types = kBoxTypes[2];
    c.heat.assign(9, 0);
    c.corners = {1, 1, 4, 4};
    return c;
  };
  const auto refuses = [&](const std::function<void(std::vector<TestOperand>&)>& spoil,
                           const std::string& text) {
    std::vector<TestOperand> inputs = good().inputs();
    spoil(inputs);
    expectFailure(kMaxKeypoint, inputs, good().outputs(), text);
  };
  const auto shape = [](size_t i, const Shape& dims) {
    return [i, dims](auto& in) { in[i].tensor.dims = dims; };
  };
  refuses(shape(0, {1, 3, 2, 1}), "are 3 high and 2 wide, expected squares of at least 2");
  refuses(shape(0, {1, 1, 1, 1}), "are 1 high and 1 wide");
  refuses(shape(0, {3, 3, 1}), "heatmaps has rank 3");
  refuses(shape(1, {2, 4}), "boxes has shape [2,4], expected [1,4]");
  refuses(shape(1, {4}), "boxes has shape [4]");
  refuses([](auto& in) { in[1].tensor.zeroPoint = -128; }, "boxes has scale 0.125 and zero point");
  const auto corners = [](const std::vector<double>& values) {
    return [values](auto& in) { in[1] = coordinateTensor(TENSOR_QUANT16_ASYMM, {1, 4}, values); };
  };
  refuses(corners({4, 1, 1, 4}), "box 0 is from (4, 1) to (1, 4), expected x1 <= x2");
  refuses(corners({1, 4, 4, 1}), "y1 <= y2");
  std::vector<TestOperand> outputs = good().outputs();
  outputs[1].tensor.scale = 0.25f;
  expectFailure(kMaxKeypoint, good().inputs(), outputs, "output 1 (keypoints) has scale 0.25");
}

}  // namespace
}  // namespace halyard::ops::testing
