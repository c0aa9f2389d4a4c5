// Tests of AXIS_ALIGNED_BBOX_TRANSFORM against its definition in double precision, and of its
// errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ops/boxes_for_test.h"

namespace halyard::ops::testing {
namespace {

using ::testing::ElementsAre;
using enum OperandType;

constexpr OperationType kTransform = OperationType::AXIS_ALIGNED_BBOX_TRANSFORM;

TEST(AxisAlignedBboxTransform, AgreesWithDefinition) {
  RandomOperands random(111);
  for (int round = 0; round < 100; ++round) {
    const BoxTypes& types = kBoxTypes[round % 4];
    const auto rois = static_cast<uint32_t>(random.between(1, 6));
    const auto classes = static_cast<uint32_t>(random.between(1, 4));
    const auto batches = static_cast<uint32_t>(random.between(1, 3));
    std::vector<double> boxes, deltas, info;
    std::vector<int32_t> index;
    for (uint32_t r = 0; r < rois; ++r) {
      append(boxes, randomBox(random, 60, 40));
      index.push_back(random.between(0, static_cast<int>(batches) - 1));
    }
    for (uint32_t i = 0; i < rois * classes * 4; ++i) {
      deltas.push_back(static_cast<double>(random.realBetween(-1, 1)));
    }
    for (uint32_t b = 0; b < batches; ++b) {
      append(info, {random.between(20, 50) * 1.0, random.between(30, 70) * 1.0});
    }
    std::vector<TestOperand> inputs = {
        coordinateTensor(types.coordinates, {rois, 4}, boxes),
        operandOf(types.main, {rois, classes * 4}, deltas, 0.01f, round % 4 == 2 ? 120 : -7),
        intList(index), coordinateTensor(types.coordinates, {batches, 2}, info)};
    std::vector<TestOperand> outputs = {coordinatesOutput(types.coordinates)};
    const Status status = runOperation(kTransform, inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(outputs[0].tensor.dims, (Shape{rois, classes * 4}));
    deltas = realValues(inputs[1]);
    std::vector<double> expected;
    for (size_t r = 0; r < rois; ++r) {
      const RealBox roi = {boxes[r * 4], boxes[r * 4 + 1], boxes[r * 4 + 2], boxes[r * 4 + 3]};
      const double* image = &info[static_cast<size_t>(index[r]) * 2];
      for (size_t k = 0; k < classes; ++k) {
        const RealBox box = movedBox(roi, &deltas[(r * classes + k) * 4], image[0], image[1]);
        append(expected, {box.begin(), box.end()});
      }
    }
    expectBoxReals(outputs[0], expected, fmt::format("round {}", round), 5e-5);
    if (HasFatalFailure()) return;
  }
}

std::vector<TestOperand> simpleInputs(const std::vector<double>& box,
                                      const std::vector<double>& delta,
                                      OperandType type = TENSOR_FLOAT32) {
  const OperandType main = isQuant16(type) ? TENSOR_QUANT8_ASYMM : type;
  return {coordinateTensor(type, {1, 4}, box), operandOf(main, {1, 4}, delta, 1, 128), intList({0}),
          coordinateTensor(type, {1, 2}, {32, 64})};
}

TEST(AxisAlignedBboxTransform, ByHand) {
  // The box becomes twice as wide, and moves down by half of its height.
  std::vector<TestOperand> inputs = simpleInputs({10, 10, 14, 18}, {0, 0.5, std::log(2.0), 0});
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  ASSERT_TRUE(runOperation(kTransform, inputs, outputs).ok());
  EXPECT_THAT(outputs[0].values<float>(), ElementsAre(8, 14, 16, 22));
}

TEST(AxisAlignedBboxTransform, DeltasThatOverflow) {
  for (OperandType type : {TENSOR_FLOAT32, TENSOR_QUANT16_ASYMM}) {
    // e^127 exceeds single precision. The box is clipped to the whole image.
    std::vector<TestOperand> inputs = simpleInputs({10, 10, 14, 18}, {0, 0, 127, 127}, type);
    std::vector<TestOperand> outputs = {coordinatesOutput(type)};
    ASSERT_TRUE(runOperation(kTransform, inputs, outputs).ok());
    EXPECT_THAT(boxReals(outputs[0]), ElementsAre(0, 0, 64, 32));
    // The product is infinity times 0.
    inputs = simpleInputs({10, 10, 10, 18}, {0, 0, 127, 0}, type);
    EXPECT_TRUE(runOperation(kTransform, inputs, outputs).ok());
  }
}

TEST(AxisAlignedBboxTransform, NoRegions) {
  std::vector<TestOperand> inputs = simpleInputs({}, {});
  inputs[0].tensor.dims = {0, 4};
  inputs[1].tensor.dims = {0, 12};
  inputs[2] = intList({});
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  ASSERT_TRUE(runOperation(kTransform, inputs, outputs).ok());
  EXPECT_EQ(outputs[0].tensor.dims, (Shape{0, 12}));
}

TEST(AxisAlignedBboxTransform, Refuses) {
  const auto refuses = [](const std::function<void(std::vector<TestOperand>&)>& spoil,
                          const std::string& text, float scale = 0.125f) {
    std::vector<TestOperand> inputs =
        simpleInputs({1, 1, 2, 2}, {0, 0, 0, 0}, TENSOR_QUANT16_ASYMM);
    spoil(inputs);
    expectFailure(kTransform, inputs, {TestOperand::output(TENSOR_QUANT16_ASYMM, scale)}, text);
  };
  const auto box = [](const std::vector<double>& values) {
    return [values](auto& in) { in[0] = coordinateTensor(TENSOR_QUANT16_ASYMM, {1, 4}, values); };
  };
  const auto shape = [](size_t i, const Shape& dims) {
    return [i, dims](auto& in) {
      in[i].tensor.dims = dims;
      in[i].bytes.resize(256);
    };
  };
  refuses(box({2, 1, 1.5, 2}), "RoI 0 is from (2, 1) to (1.5, 2), expected x1 <= x2");
  refuses(box({1, 2, 2, 1}), "y1 <= y2");
  for (int32_t index : {-1, 1, std::numeric_limits<int32_t>::min()}) {
    refuses([&](auto& in) { in[2] = intList({index}); },
            fmt::format("batch index 0 is {}, expected 0 to 0", index));
  }
  refuses([](auto& in) { in[0].tensor.zeroPoint = 1; },
          "RoIs has scale 0.125 and zero point 1, expected 0.125 and 0");
  refuses([](auto& in) { in[3].tensor.scale = 1; }, "image info has scale 1");
  refuses([](auto&) {}, "output has scale 0.25 and zero point 0", 0.25f);
  refuses(shape(0, {1, 5}), "RoIs has shape [1,5], expected [1,4]");
  refuses(shape(0, {4}), "RoIs has rank 1");
  refuses(shape(1, {1, 6}), "deltas has shape [1,6]");
  refuses(shape(1, {1, 0}), "deltas has shape [1,0]");
  refuses(shape(1, {2, 4}), "deltas has shape [2,4], expected [1,a multiple of 4]");
  refuses(shape(1, {4}), "deltas has rank 1");
  refuses(shape(2, {2}), "batch index has shape [2], expected [1]");
  refuses(shape(3, {0, 2}), "image info has shape [0,2]");
  refuses(shape(3, {1, 3}), "image info has shape [1,3]");
  refuses(shape(3, {2}), "image info has rank 1");
  std::vector<TestOperand> inputs =
      simpleInputs({1, 1, std::numeric_limits<double>::quiet_NaN(), 2}, {0, 0, 0, 0});
  expectFailure(kTransform, inputs, {TestOperand::output(TENSOR_FLOAT32)}, "RoI 0 is from (1, 1)");
}

}  // namespace
}  // namespace halyard::ops::testing
