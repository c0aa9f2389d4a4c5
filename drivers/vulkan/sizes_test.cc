// Sizes and values that random cases do not have: wide cells, long lines, large maps, faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <random>

#include "base/float16.h"
#include "case_for_test.h"
#include "ops/quantized_lstm_for_test.h"
#include "ops/testing/searched_case.h"
#include "shader_forms_for_test.h"

namespace halyard::vulkandriver {
namespace {

using ops::testing::LegalCase;
using ops::testing::TestOperand;
using ::testing::HasSubstr;
using enum OperandType;

class SizesTest : public testing::ShaderFormsTest {
 protected:
  void check(LegalCase legal) {
    const Status tried = ops::testing::tryCase(*ops::definitionOf(legal.type), legal);
    ASSERT_TRUE(tried.ok()) << tried.toString();
    std::string refusal;
    EXPECT_TRUE(testing::check(*device_, ops::testing::toModel(legal), legal, &refusal)) << refusal;
  }
};

TestOperand bytesOf(OperandType type, const Shape& dims, float scale, int32_t zeroPoint,
                    std::mt19937& random) {
  size_t count = 1;
  for (const uint32_t extent : dims) count *= extent;
  std::vector<uint8_t> values(count);
  for (uint8_t& value : values) value = static_cast<uint8_t>(random());
  return TestOperand::of<uint8_t>(type, dims, values, scale, zeroPoint);
}

TEST_P(SizesTest, WideSignedCells) {
  for (const uint32_t cells : {48, 320, 33}) {
    for (const bool isFull : {false, true}) {
      ops::testing::RandomOperands random(cells);
      ops::testing::QuantizedLstmCase size;
      size.parts.inputGate = size.parts.peephole = size.parts.layerNorm = isFull;
      size.parts.projection = size.parts.projectionBias = isFull;
      size.inputs = 272;
      size.cells = cells;
      size.outputs = isFull ? 64 : cells;
      size.gateScale = isFull ? 0x1p-8f : 0x1p-12f;
      LegalCase legal;
      legal.type = OperationType::QUANTIZED_LSTM;
      legal.inputs = size.inputsOf(random);
      for (TestOperand& operand : legal.inputs) {
        // Types of models need a scale, with or without a value.
        if (operand.tensor.omitted) operand.tensor.scale = 1;
      }
      legal.outputs = size.outputsOf();
      check(std::move(legal));
      ASSERT_FALSE(HasFailure()) << cells << " cells";
    }
  }
}

TEST_P(SizesTest, WideUnsignedCells) {
  std::mt19937 random(1);
  const std::pair<uint32_t, uint32_t> kSizes[] = {{32, 48}, {320, 64}, {64, 64}, {30, 50}};
  for (const auto& [inputs, cells] : kSizes) {
    LegalCase legal;
    legal.type = OperationType::QUANTIZED_16BIT_LSTM;
    const auto add = [&](OperandType type, const Shape& dims, float scale, int32_t zeroPoint) {
      legal.inputs.push_back(bytesOf(type, dims, scale, zeroPoint, random));
    };
    constexpr float kScale = 1.0f / 512;
    add(TENSOR_QUANT8_ASYMM, {3, inputs}, 1.0f / 128, 128);
    for (int gate = 0; gate < 4; ++gate) add(TENSOR_QUANT8_ASYMM, {cells, inputs}, kScale, 110);
    for (int gate = 0; gate < 4; ++gate) add(TENSOR_QUANT8_ASYMM, {cells, cells}, kScale, 110);
    for (int gate = 0; gate < 4; ++gate) {
      std::vector<int32_t> bias(cells);
      for (int32_t& value : bias) value = static_cast<int32_t>(random() % 20001) - 10000;
      legal.inputs.push_back(
          TestOperand::of<int32_t>(TENSOR_INT32, {cells}, bias, kScale / 128, 0));
    }
    std::vector<int16_t> state(size_t{3} * cells);
    for (int16_t& value : state) value = static_cast<int16_t>(random());
    legal.inputs.push_back(
        TestOperand::of<int16_t>(TENSOR_QUANT16_SYMM, {3, cells}, state, 1.0f / 2048, 0));
    add(TENSOR_QUANT8_ASYMM, {3, cells}, 1.0f / 128, 128);
    legal.outputs = {TestOperand::output(TENSOR_QUANT16_SYMM, 1.0f / 2048),
                     TestOperand::output(TENSOR_QUANT8_ASYMM, 1.0f / 128, 128)};
    check(std::move(legal));
    ASSERT_FALSE(HasFailure()) << inputs << " inputs, " << cells << " cells";
  }
}

LegalCase greatestOf(TestOperand line, int32_t wanted) {
  LegalCase legal;
  legal.type = OperationType::TOPK_V2;
  legal.outputs = {TestOperand::output(line.tensor.type, line.tensor.scale, line.tensor.zeroPoint),
                   TestOperand::output(TENSOR_INT32)};
  legal.inputs = {std::move(line), TestOperand::int32(wanted)};
  return legal;
}

TEST_P(SizesTest, GreatestOfLongLines) {
  std::mt19937 random(2);
  check(greatestOf(bytesOf(TENSOR_QUANT8_ASYMM, {3, 1001}, 0.5f, 7, random), 70));
  check(greatestOf(bytesOf(TENSOR_QUANT8_ASYMM_SIGNED, {2, 64}, 0.5f, 7, random), 64));
  std::vector<int32_t> integers(2000);
  for (int32_t& value : integers) value = static_cast<int32_t>(random());
  integers[5] = std::numeric_limits<int32_t>::min();
  integers[6] = std::numeric_limits<int32_t>::max();
  check(greatestOf(TestOperand::of<int32_t>(TENSOR_INT32, {2, 1000}, integers), 1000));
}

// A work group computes a channel of 256 positions and more.
TEST_P(SizesTest, LargeInstancesAreNormalised) {
  std::mt19937 random(3);
  const std::pair<uint32_t, bool> kSizes[] = {{150, false}, {150, true}, {17, false}};
  for (const auto& [size, nchw] : kSizes) {
    const Shape dims = nchw ? Shape{2, 3, size, size + 1} : Shape{2, size, size + 1, 3};
    std::vector<float> values(size_t{2} * size * (size + 1) * 3);
    for (float& value : values) value = static_cast<float>(random() % 1000) / 100 + 3;
    LegalCase legal;
    legal.type = OperationType::INSTANCE_NORMALIZATION;
    legal.inputs = {TestOperand::of<float>(TENSOR_FLOAT32, dims, values)};
    for (const float scalar : {1.5f, 0.25f, 1e-3f}) {
      legal.inputs.push_back(TestOperand::of<float>(OperandType::FLOAT32, {}, {scalar}));
    }
    legal.inputs.push_back(TestOperand::boolean(nchw));
    legal.outputs = {TestOperand::output(TENSOR_FLOAT32)};
    check(std::move(legal));
    ASSERT_FALSE(HasFailure()) << size << (nchw ? ", NCHW" : ", NHWC");
  }
}

// One work item computes a line. Mesa's software devices would not reach its end.
TEST_P(SizesTest, LinesOfTooManyElementsAreRefused) {
  for (const uint32_t extent : {65000u, 65001u}) {
    LegalCase legal;
    legal.type = OperationType::REDUCE_SUM;
    legal.inputs = {TestOperand::of<float>(TENSOR_FLOAT32, {extent}, std::vector<float>(extent, 1)),
                    TestOperand::of<int32_t>(TENSOR_INT32, {1}, {0}), TestOperand::boolean(true)};
    legal.outputs = {TestOperand::output(TENSOR_FLOAT32)};
    ASSERT_TRUE(ops::testing::tryCase(*ops::definitionOf(legal.type), legal).ok());
    Model model = ops::testing::toModel(legal);
    Operand& axes = model.main.operands[1];
    axes.lifetime = Lifetime::CONSTANT_COPY;
    axes.location = appendConstant(model, legal.inputs[1].bytes.data(), sizeof(int32_t));
    model.main.inputIndexes = {0};
    std::string refusal;
    EXPECT_EQ(testing::check(*device_, model, legal, &refusal), extent == 65000) << refusal;
    if (extent > 65000) {
      EXPECT_THAT(refusal, HasSubstr("65001 rounds"));
    }
  }
}

TEST_P(SizesTest, PoolsOfTooManyElementsAreRefused) {
  for (const int32_t rows : {251, 256}) {
    LegalCase legal;
    legal.type = OperationType::AVERAGE_POOL_2D;
    const Shape dims = {1, static_cast<uint32_t>(rows), 256, 4};
    const std::vector<float> ones(size_t{4} * 256 * static_cast<size_t>(rows), 1);
    legal.inputs = {TestOperand::of<float>(TENSOR_FLOAT32, dims, ones)};
    for (const int32_t scalar : {2, 1, 1, 256, rows, 0}) {
      legal.inputs.push_back(TestOperand::int32(scalar));
    }
    legal.outputs = {TestOperand::output(TENSOR_FLOAT32)};
    ASSERT_TRUE(ops::testing::tryCase(*ops::definitionOf(legal.type), legal).ok());
    std::string refusal;
    EXPECT_EQ(testing::check(*device_, ops::testing::toModel(legal), legal, &refusal), rows == 251)
        << refusal;
  }
}

TEST_P(SizesTest, ProductsOfTooManyInputsAreRefused) {
  for (const uint32_t depth : {250000u, 262144u}) {
    LegalCase legal;
    legal.type = OperationType::FULLY_CONNECTED;
    const std::vector<float> ones(size_t{2} * depth, 1);
    legal.inputs = {
        TestOperand::of<float>(TENSOR_FLOAT32, {1, depth}, std::vector<float>(depth, 1)),
        TestOperand::of<float>(TENSOR_FLOAT32, {2, depth}, ones),
        TestOperand::of<float>(TENSOR_FLOAT32, {2}, {0, 0}), TestOperand::int32(0)};
    legal.outputs = {TestOperand::output(TENSOR_FLOAT32)};
    ASSERT_TRUE(ops::testing::tryCase(*ops::definitionOf(legal.type), legal).ok());
    Model model = ops::testing::toModel(legal);
    for (const uint32_t i : {1, 2}) {
      Operand& operand = model.main.operands[i];
      const std::vector<uint8_t>& bytes = legal.inputs[i].bytes;
      operand.lifetime = Lifetime::CONSTANT_COPY;
      operand.location = appendConstant(model, bytes.data(), bytes.size());
    }
    model.main.inputIndexes = {0};
    std::string refusal;
    EXPECT_EQ(testing::check(*device_, model, legal, &refusal), depth == 250000) << refusal;
  }
}

// One unit of an RNN, whose products have as many rounds as inputs.
TEST_P(SizesTest, CellsOfTooManyInputsAreRefused) {
  for (const uint32_t depth : {64'990u, 65'003u}) {
    LegalCase legal;
    legal.type = OperationType::RNN;
    const std::vector<float> ones(depth, 1);
    legal.inputs = {TestOperand::of<float>(TENSOR_FLOAT32, {1, depth}, ones),
                    TestOperand::of<float>(TENSOR_FLOAT32, {1, depth}, ones),
                    TestOperand::of<float>(TENSOR_FLOAT32, {1, 1}, {0.5f}),
                    TestOperand::of<float>(TENSOR_FLOAT32, {1}, {0.25f}),
                    TestOperand::of<float>(TENSOR_FLOAT32, {1, 1}, {2}),
                    TestOperand::int32(0)};
    legal.outputs = {TestOperand::output(TENSOR_FLOAT32), TestOperand::output(TENSOR_FLOAT32)};
    ASSERT_TRUE(ops::testing::tryCase(*ops::definitionOf(legal.type), legal).ok());
    std::string refusal;
    EXPECT_EQ(testing::check(*device_, ops::testing::toModel(legal), legal, &refusal),
              depth == 64'990)
        << refusal;
    if (depth > 65'000) {
      EXPECT_THAT(refusal, HasSubstr("rounds"));
    }
  }
}

// Zeros of both signs are equal, and NaNs come last.
TEST_P(SizesTest, GreatestOfSpecialNumbers) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0.0f, -0.0f,   kNan,      1,  -kInfinity, -0.0f, 0.0f,
                                     kNan, -1e-41f, kInfinity, -1, 1e-41f,     1,     -2};
  const Shape dims = {1, static_cast<uint32_t>(values.size())};
  const auto all = static_cast<int32_t>(values.size());
  LegalCase legal = greatestOf(TestOperand::of<float>(TENSOR_FLOAT32, dims, values), all);
  ASSERT_TRUE(ops::testing::tryCase(*ops::definitionOf(legal.type), legal).ok());
  // The comparison of values makes no difference between zeros. The positions decide.
  EXPECT_THAT(legal.outputs[1].values<int32_t>(),
              ::testing::ElementsAre(9, 12, 3, 11, 6, 5, 1, 0, 8, 10, 13, 4, 7, 2));
  check(std::move(legal));
  std::vector<Float16> halves;
  for (const float value : values) halves.push_back(toFloat16(value));
  check(greatestOf(TestOperand::of<Float16>(TENSOR_FLOAT16, dims, halves), all));
}

TEST_P(SizesTest, RegionsOfLargeMaps) {
  std::mt19937 random(3);
  for (const bool isAlign : {false, true}) {
    for (const bool nchw : {false, true}) {
      LegalCase legal;
      legal.type = isAlign ? OperationType::ROI_ALIGN : OperationType::ROI_POOLING;
      const Shape dims = nchw ? Shape{2, 5, 40, 60} : Shape{2, 40, 60, 5};
      legal.inputs = {bytesOf(TENSOR_QUANT8_ASYMM, dims, 0.5f, 3, random),
                      TestOperand::of<uint16_t>(
                          TENSOR_QUANT16_ASYMM, {3, 4},
                          {0, 0, 3840, 2560, 100, 33, 120, 47, 801, 1600, 1607, 2400}, 0.125f, 0),
                      TestOperand::of<int32_t>(TENSOR_INT32, {3}, {0, 1, 1}),
                      TestOperand::int32(7),
                      TestOperand::int32(3),
                      TestOperand::float32(8),
                      TestOperand::float32(8)};
      if (isAlign) legal.inputs.push_back(TestOperand::int32(0));
      if (isAlign) legal.inputs.push_back(TestOperand::int32(4));
      legal.inputs.push_back(TestOperand::boolean(nchw));
      legal.outputs = {TestOperand::output(TENSOR_QUANT8_ASYMM, 0.5f, 3)};
      check(std::move(legal));
    }
  }
}

// A transformation of one box with these corners, in the first of `image + 1` images.
hal::ExecutionResult moveBox(hal::PreparedModel& prepared, std::vector<float> corners,
                             int32_t image) {
  std::vector<float> deltas(4);
  std::vector<float> sizes = {100, 100};
  std::vector<float> moved(4);
  hal::Request request;
  const auto argument = [](void* data, size_t bytes) {
    hal::RequestArgument made;
    made.kind = hal::RequestArgument::Kind::POINTER;
    made.pointer = data;
    made.length = static_cast<uint32_t>(bytes);
    return made;
  };
  constexpr size_t kBox = 4 * sizeof(float);
  request.inputs = {argument(corners.data(), kBox), argument(deltas.data(), kBox),
                    argument(&image, sizeof image), argument(sizes.data(), kBox / 2)};
  request.outputs = {argument(moved.data(), kBox)};
  hal::ExecutionResult result = prepared.executeSynchronously(request, {});
  if (result.status.ok()) {
    EXPECT_EQ(moved, corners);
  }
  return result;
}

TEST_P(SizesTest, FaultsOfBoxesHaveReasonsAndDoNotStay) {
  LegalCase legal;
  legal.type = OperationType::AXIS_ALIGNED_BBOX_TRANSFORM;
  legal.inputs = {TestOperand::of<float>(TENSOR_FLOAT32, {1, 4}, {1, 2, 3, 4}),
                  TestOperand::of<float>(TENSOR_FLOAT32, {1, 4}, {0, 0, 0, 0}),
                  TestOperand::of<int32_t>(TENSOR_INT32, {1}, {0}),
                  TestOperand::of<float>(TENSOR_FLOAT32, {1, 2}, {100, 100})};
  legal.outputs = {TestOperand::output(TENSOR_FLOAT32)};
  ASSERT_TRUE(ops::testing::tryCase(*ops::definitionOf(legal.type), legal).ok());
  Model model = ops::testing::toModel(legal);
  for (uint32_t i = 0; i < 4; ++i) {
    model.main.operands[i].lifetime = Lifetime::SUBGRAPH_INPUT;
    model.main.operands[i].location = {};
  }
  model.main.inputIndexes = {0, 1, 2, 3};
  const auto prepared = device_->prepareModel(validated(model).value(), {});
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  for (int round = 0; round < 2; ++round) {
    Status status = moveBox(**prepared, {5, 2, 3, 4}, 0).status;
    EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
    EXPECT_THAT(status.message(), HasSubstr("corners of a box"));
    status = moveBox(**prepared, {1, 2, 3, 4}, 1).status;
    EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
    EXPECT_THAT(status.message(), HasSubstr("index"));
    status = moveBox(**prepared, {1, 2, 3, 4}, 0).status;
    EXPECT_TRUE(status.ok()) << status.toString();
  }
}

INSTANTIATE_TEST_SUITE_P(Shaders, SizesTest, testing::kShaderForms, testing::shaderFormName);

}  // namespace
}  // namespace halyard::vulkandriver
