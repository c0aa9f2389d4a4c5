// Tests of ROI_ALIGN and ROI_POOLING against their definitions in plain loops, and of their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ops/boxes_for_test.h"

namespace halyard::ops::testing {
namespace {

using ::testing::ElementsAre;
using enum OperandType;
using enum OperationType;

struct RegionsCase {
  BoxTypes types = kBoxTypes[0];
  OperationType op = ROI_ALIGN;
  uint32_t batches = 1, height = 4, width = 4, channels = 1;
  uint32_t rois = 1;
  std::vector<double> features;  // channels last
  std::vector<double> boxes;
  std::vector<int32_t> index = {0};
  int32_t outHeight = 2, outWidth = 2;
  float heightRatio = 2, widthRatio = 2;
  int32_t pointsY = 0, pointsX = 0;
  bool nchw = false;

  float scale() const { return isQuant8Asymm(types.main) ? 1.0f / 64 : 0.0f; }
  int32_t zeroPoint() const { return types.main == TENSOR_QUANT8_ASYMM ? 128 : 0; }
  std::vector<TestOperand> inputs() const {
    const TestOperand map =
        operandOf(types.main, {batches, height, width, channels}, features, scale(), zeroPoint());
    std::vector<TestOperand> result = {nchw ? toNchw(map) : map,
                                       coordinateTensor(types.coordinates, {rois, 4}, boxes),
                                       intList(index),
                                       TestOperand::int32(outHeight),
                                       TestOperand::int32(outWidth),
                                       realScalar(types.main, heightRatio),
                                       realScalar(types.main, widthRatio)};
    if (op == ROI_ALIGN) {
      result.push_back(TestOperand::int32(pointsY));
      result.push_back(TestOperand::int32(pointsX));
    }
    result.push_back(TestOperand::boolean(nchw));
    return result;
  }
  std::vector<TestOperand> outputs() const {
    const bool align = op == ROI_ALIGN;
    return {TestOperand::output(types.main, align ? scale() * 1.5f : scale(),
                                align ? zeroPoint() / 2 : zeroPoint())};
  }
  double feature(int32_t batch, size_t y, size_t x, size_t c) const {
    return features[((static_cast<size_t>(batch) * height + y) * width + x) * channels + c];
  }
  // Returns a RoI in cells: x1, y1, x2, y2.
  RealBox region(size_t r) const {
    const double w = static_cast<double>(widthRatio);
    const double h = static_cast<double>(heightRatio);
    return {boxes[r * 4] / w, boxes[r * 4 + 1] / h, boxes[r * 4 + 2] / w, boxes[r * 4 + 3] / h};
  }
  std::string text() const {
    return fmt::format("{} of {}, [{},{},{},{}] to {}x{}, ratios {} {}, points {} {}, nchw {}",
                       operationTypeName(op), operandTypeName(types.main), batches, height, width,
                       channels, outHeight, outWidth, heightRatio, widthRatio, pointsY, pointsX,
                       nchw);
  }
};

RegionsCase randomCase(RandomOperands& random, OperationType op, const BoxTypes& types) {
  RegionsCase c;
  c.op = op;
  c.types = types;
  const auto size = [&](int most) { return static_cast<uint32_t>(random.between(1, most)); };
  c.batches = size(3);
  c.height = size(9);
  c.width = size(9);
  c.channels = size(20);
  c.rois = size(5);
  c.outHeight = random.between(1, 5);
  c.outWidth = random.between(1, 5);
  c.heightRatio = random.oneOf({0.5f, 1.0f, 2.0f, 3.0f, 4.0f});
  c.widthRatio = random.oneOf({0.5f, 1.0f, 2.0f, 3.0f, 4.0f});
  c.pointsY = random.oneOf({0, 0, 1, 2, 3, 50});
  c.pointsX = random.oneOf({0, 0, 1, 2, 3, 50});
  c.nchw = random.coin();
  // Multiples of 1/64 are exact in every type.
  for (uint32_t i = 0; i < c.batches * c.height * c.width * c.channels; ++i) {
    c.features.push_back(random.between(-128, 127) / 64.0);
  }
  c.index.clear();
  for (uint32_t r = 0; r < c.rois; ++r) {
    append(c.boxes, randomBox(random, static_cast<int>(static_cast<float>(c.width) * c.widthRatio),
                              static_cast<int>(static_cast<float>(c.height) * c.heightRatio)));
    c.index.push_back(random.between(0, static_cast<int>(c.batches) - 1));
  }
  return c;
}

double bilinear(const RegionsCase& c, int32_t batch, double y, double x, size_t channel) {
  const auto split = [](double position, size_t size, size_t* low, size_t* high) {
    *low = static_cast<size_t>(position);
    *high = *low + 1;
    if (*low < size - 1) return position - static_cast<double>(*low);
    *low = *high = size - 1;
    return 0.0;
  };
  size_t top, bottom, left, right;
  const double dy = split(y, c.height, &top, &bottom);
  const double dx = split(x, c.width, &left, &right);
  const auto at = [&](size_t i, size_t j) { return c.feature(batch, i, j, channel); };
  return (1 - dy) * ((1 - dx) * at(top, left) + dx * at(top, right)) +
         dy * ((1 - dx) * at(bottom, left) + dx * at(bottom, right));
}

double aligned(const RegionsCase& c, size_t r, int i, int j, size_t channel) {
  const RealBox box = c.region(r);
  const double binHeight = std::max(box[3] - box[1], 1.0) / c.outHeight;
  const double binWidth = std::max(box[2] - box[0], 1.0) / c.outWidth;
  // Single precision decides about integers.
  const int ny =
      c.pointsY > 0 ? c.pointsY : static_cast<int>(std::ceil(static_cast<float>(binHeight)));
  const int nx =
      c.pointsX > 0 ? c.pointsX : static_cast<int>(std::ceil(static_cast<float>(binWidth)));
  double sum = 0;
  for (int a = 0; a < ny; ++a) {
    for (int b = 0; b < nx; ++b) {
      sum += bilinear(c, c.index[r], box[1] + binHeight * i + (a + 0.5) * binHeight / ny,
                      box[0] + binWidth * j + (b + 0.5) * binWidth / nx, channel);
    }
  }
  return sum / nx / ny;
}

double pooled(const RegionsCase& c, size_t r, int i, int j, size_t channel) {
  const RealBox box = c.region(r);
  // Returns whether a cell overlaps a bin, both multiplied by the number of bins.
  const auto overlaps = [](size_t cell, double first, double last, int bin, int bins) {
    const double begin = std::round(first);
    const double size = std::max(std::round(last) - begin + 1, 1.0);
    const double low = (static_cast<double>(cell) - begin) * bins;
    return low + bins > size * bin && low < size * (bin + 1);
  };
  double best = -HUGE_VAL;
  for (size_t y = 0; y < c.height; ++y) {
    for (size_t x = 0; x < c.width; ++x) {
      if (overlaps(y, box[1], box[3], i, c.outHeight) &&
          overlaps(x, box[0], box[2], j, c.outWidth)) {
        best = std::max(best, c.feature(c.index[r], y, x, channel));
      }
    }
  }
  return best == -HUGE_VAL ? 0 : best;
}

void checkCase(const RegionsCase& c) {
  std::vector<TestOperand> inputs = c.inputs();
  std::vector<TestOperand> outputs = c.outputs();
  const Status status = runOperation(c.op, inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.toString() << " " << c.text();
  const auto height = static_cast<uint32_t>(c.outHeight);
  const auto width = static_cast<uint32_t>(c.outWidth);
  const Shape nhwc = {c.rois, height, width, c.channels};
  EXPECT_EQ(outputs[0].tensor.dims, c.nchw ? (Shape{c.rois, c.channels, height, width}) : nhwc);
  std::vector<double> expected;
  for (size_t r = 0; r < c.rois; ++r) {
    for (int i = 0; i < c.outHeight; ++i) {
      for (int j = 0; j < c.outWidth; ++j) {
        for (size_t channel = 0; channel < c.channels; ++channel) {
          expected.push_back(c.op == ROI_ALIGN ? aligned(c, r, i, j, channel)
                                               : pooled(c, r, i, j, channel));
        }
      }
    }
  }
  if (c.nchw) expected = permuted(expected, nhwc, false);
  expectBoxReals(outputs[0], expected, c.text());
}

TEST(RoiAlign, AgreesWithDefinition) {
  RandomOperands random(151);
  for (int round = 0; round < 300; ++round) {
    checkCase(randomCase(random, ROI_ALIGN, kBoxTypes[round % 4]));
    if (HasFatalFailure()) return;
  }
}

TEST(RoiPooling, AgreesWithDefinition) {
  RandomOperands random(152);
  for (int round = 0; round < 300; ++round) {
    checkCase(randomCase(random, ROI_POOLING, kBoxTypes[round % 4]));
    if (HasFatalFailure()) return;
  }
}

// A 4 x 4 map of 0 to 15 by rows, and a region of the whole map.
RegionsCase wholeMap(OperationType op) {
  RegionsCase c;
  c.op = op;
  for (int i = 0; i < 16; ++i) c.features.push_back(i);
  c.boxes = {0, 0, 8, 8};
  return c;
}

std::vector<float> run(const RegionsCase& c) {
  std::vector<TestOperand> inputs = c.inputs();
  std::vector<TestOperand> outputs = c.outputs();
  const Status status = runOperation(c.op, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.toString();
  return outputs[0].values<float>();
}

TEST(RoiAlign, ByHand) {
  RegionsCase c = wholeMap(ROI_ALIGN);
  // Bins of 2 x 2 with samples at 0.5 and 1.5 in the first, 2.5 and 3.5 (cell 3) in the second.
  EXPECT_THAT(run(c), ElementsAre(5, 6.75f, 12, 13.75f));
  // One sample in the middle of each bin.
  c.pointsX = c.pointsY = 1;
  EXPECT_THAT(run(c), ElementsAre(5, 7, 13, 15));
}

TEST(RoiAlign, ManySamplesCostNothing) {
  RegionsCase c = wholeMap(ROI_ALIGN);
  c.pointsX = c.pointsY = std::numeric_limits<int32_t>::max();
  const std::vector<float> most = run(c);
  c.pointsX = c.pointsY = 1000;
  const std::vector<float> many = run(c);
  ASSERT_EQ(most.size(), many.size());
  for (size_t i = 0; i < most.size(); ++i) EXPECT_NEAR(most[i], many[i], 1e-4f);
  // Integrals: the mean of x over [0, 2] and of min(x, 3) over [2, 4] is 1 and 2.75.
  EXPECT_NEAR(most[0], 5.0f, 1e-4f);
  EXPECT_NEAR(most[1], 6.75f, 1e-4f);
}

TEST(RoiPooling, ByHand) {
  RegionsCase c = wholeMap(ROI_POOLING);
  // From cell 0 to cell 4, which does not exist: bins of 2.5, so rows 0 to 2 and 2 to 3.
  EXPECT_THAT(run(c), ElementsAre(10, 11, 14, 15));
  c.boxes = {8, 8, 8, 8};  // only the cell after the last one
  EXPECT_THAT(run(c), ElementsAre(0, 0, 0, 0));
  c.types = kBoxTypes[2];
  std::vector<TestOperand> inputs = c.inputs();
  std::vector<TestOperand> outputs = c.outputs();
  ASSERT_TRUE(runOperation(ROI_POOLING, inputs, outputs).ok());
  EXPECT_THAT(outputs[0].values<uint8_t>(), ElementsAre(128, 128, 128, 128));
}

TEST(RoiPooling, BinsEndWhereExactArithmeticPutsThem) {
  // 57 cells in 7 bins: the last ends at 57, where single precision gives a little more than 57.
  RegionsCase c;
  c.op = ROI_POOLING;
  c.height = 1;
  c.width = 60;
  for (int i = 0; i < 60; ++i) c.features.push_back(i);
  c.boxes = {0, 0, 56, 0};
  c.heightRatio = c.widthRatio = 1;
  c.outHeight = 1;
  c.outWidth = 7;
  EXPECT_THAT(run(c), ElementsAre(8, 16, 24, 32, 40, 48, 56));
}

TEST(RegionsOfInterest, NoRegions) {
  for (OperationType op : {ROI_ALIGN, ROI_POOLING}) {
    for (bool nchw : {false, true}) {
      RegionsCase c = wholeMap(op);
      c.rois = 0;
      c.boxes.clear();
      c.index.clear();
      c.nchw = nchw;
      c.outHeight = 3;
      std::vector<TestOperand> inputs = c.inputs();
      std::vector<TestOperand> outputs = c.outputs();
      ASSERT_TRUE(runOperation(op, inputs, outputs).ok());
      EXPECT_EQ(outputs[0].tensor.dims, nchw ? (Shape{0, 1, 3, 2}) : (Shape{0, 3, 2, 1}));
    }
  }
}

TEST(RegionsOfInterest, AnEdgeThatARatioRoundsBeyondTheMap) {
  // 100 / 127 rounds down, so that 100 divided by it lies beyond 127.
  for (OperationType op : {ROI_ALIGN, ROI_POOLING}) {
    for (uint32_t size = 1; size < 300; ++size) {
      RegionsCase c;
      c.op = op;
      c.height = c.width = size;
      c.features.assign(size * size, 1);
      c.heightRatio = c.widthRatio = 100.0f / static_cast<float>(size);
      c.boxes = {0, 0, 100, 100};
      c.outHeight = c.outWidth = 1;
      std::vector<TestOperand> inputs = c.inputs();
      std::vector<TestOperand> outputs = c.outputs();
      const Status status = runOperation(op, inputs, outputs);
      ASSERT_TRUE(status.ok()) << status.toString() << " " << size;
      ASSERT_NEAR(outputs[0].values<float>()[0], 1.0f, 1e-5f);
    }
  }
}

TEST(RegionsOfInterest, ShapesWaitForTheirValuesOnly) {
  for (OperationType op : {ROI_ALIGN, ROI_POOLING}) {
    const size_t layout = op == ROI_ALIGN ? 9 : 7;
    for (size_t unknown = 0; unknown <= layout; ++unknown) {
      std::vector<TestOperand> operands = wholeMap(op).inputs();
      std::vector<Tensor> inputs;
      for (TestOperand& operand : operands) {
        inputs.push_back(operand.tensor);
        inputs.back().data = operand.bytes.data();
      }
      inputs[unknown].data = nullptr;
      std::vector<Tensor> outputs(1);
      OperationContext context(inputs, outputs, nullptr);
      const bool needed = unknown == 3 || unknown == 4 || unknown == layout;
      EXPECT_EQ(inferShapes(*definitionOf(op), context).code(),
                needed ? ResultCode::INCOMPLETE : ResultCode::NO_ERROR)
          << unknown;
    }
  }
}

TEST(RegionsOfInterest, Refuse) {
  const auto refuses = [](OperationType op, const std::function<void(RegionsCase&)>& spoil,
                          const std::string& text) {
    RegionsCase c = wholeMap(op);
    spoil(c);
    expectFailure(op, c.inputs(), c.outputs(), text);
  };
  const auto box = [](const std::vector<double>& corners) {
    return [corners](RegionsCase& c) { c.boxes = corners; };
  };
  for (OperationType op : {ROI_ALIGN, ROI_POOLING}) {
    for (int32_t bad : {0, -1, std::numeric_limits<int32_t>::min()}) {
      refuses(
          op, [&](RegionsCase& c) { c.outHeight = bad; },
          fmt::format("output height is {}, expected more than 0", bad));
      refuses(
          op, [&](RegionsCase& c) { c.outWidth = bad; }, fmt::format("output width is {}", bad));
    }
    for (float bad : {0.0f, -2.0f, kNan, HUGE_VALF}) {
      refuses(
          op, [&](RegionsCase& c) { c.heightRatio = bad; },
          fmt::format("height ratio is {}, expected more than 0 and finite", bad));
      refuses(
          op, [&](RegionsCase& c) { c.widthRatio = bad; }, fmt::format("width ratio is {}", bad));
    }
    for (int32_t bad : {-1, 1, std::numeric_limits<int32_t>::max()}) {
      refuses(
          op, [&](RegionsCase& c) { c.index = {bad}; },
          fmt::format("batch index 0 is {}, expected 0 to 0", bad));
    }
    refuses(op, box({4, 0, 2, 2}), "RoI 0 is from (4, 0) to (2, 2), expected x1 <= x2");
    refuses(op, box({0, 4, 2, 2}), "y1 <= y2");
    refuses(op, box({0, kNan, 2, 2}), "RoI 0 is from (0, nan)");
    refuses(op, box({-1, 0, 2, 2}), "RoI 0 begins at (-1, 0), expected no negative coordinate");
    refuses(op, box({0, -1, 2, 2}), "RoI 0 begins at (0, -1)");
    refuses(op, box({0, 0, 8.5, 2}),
            "RoI 0 ends at (4.25, 1) of the feature map, which is 4 wide and 4 high");
    refuses(op, box({0, 0, 2, HUGE_VAL}), "RoI 0 ends at (1, inf)");
    refuses(
        op, [](RegionsCase& c) { c.outHeight = c.outWidth = std::numeric_limits<int32_t>::max(); },
        "more than 4294967295 bytes");
    const auto refusesInput = [&](size_t i, const Shape& dims, const std::string& text) {
      std::vector<TestOperand> inputs = wholeMap(op).inputs();
      inputs[i].tensor.dims = dims;
      expectFailure(op, inputs, wholeMap(op).outputs(), text);
    };
    refusesInput(0, {4, 4, 1}, "feature map has rank 3");
    refusesInput(0, {1, 0, 4, 1}, "feature map [1,0,4,1] has a zero-sized dimension");
    refusesInput(0, {0, 4, 4, 1}, "feature map [0,4,4,1] has no batch");
    refusesInput(1, {4}, "RoIs has rank 1");
    refusesInput(1, {1, 3}, "RoIs has shape [1,3], expected [1,4]");
    refusesInput(2, {2}, "batch index has shape [2], expected [1]");
    std::vector<TestOperand> inputs = wholeMap(op).inputs();
    inputs[1] = coordinateTensor(TENSOR_QUANT16_ASYMM, {1, 4}, {0, 0, 8, 8});
    inputs[1].tensor.scale = 1;
    expectFailure(op, inputs, wholeMap(op).outputs(), "RoIs has scale 1 and zero point 0");
  }
  refuses(
      ROI_ALIGN, [](RegionsCase& c) { c.pointsY = -1; },
      "sampling points in height is -1, expected 0 or more");
  refuses(
      ROI_ALIGN, [](RegionsCase& c) { c.pointsX = std::numeric_limits<int32_t>::min(); },
      "sampling points in width is -2147483648");
  RegionsCase c = wholeMap(ROI_POOLING);
  c.types = kBoxTypes[3];
  std::vector<TestOperand> outputs = c.outputs();
  outputs[0].tensor.zeroPoint = 5;
  expectFailure(ROI_POOLING, c.inputs(), outputs, "expected those of the input");
}

}  // namespace
}  // namespace halyard::ops::testing
