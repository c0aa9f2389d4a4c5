// Sizes and values that random cases do not have: long lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <random>

#include "base/float16.h"
#include "case_for_test.h"
#include "ops/testing/searched_case.h"
#include "vulkan_driver.h"

namespace halyard::vulkandriver {
namespace {

using ops::testing::LegalCase;
using ops::testing::TestOperand;
using ::testing::HasSubstr;
using enum OperandType;

class SizesTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::vector<std::string> arguments = {"--software"};
    if (!GetParam().empty()) arguments.push_back(GetParam());
    const auto made = makeVulkanDriver(arguments);
    if (!made.ok()) {
      GTEST_SKIP() << "NO VULKAN DEVICE, NOTHING IS TESTED: " << made.status().toString();
    }
    device_ = *made;
  }

  void check(LegalCase legal) {
    const Status tried = ops::testing::tryCase(*ops::definitionOf(legal.type), legal);
    ASSERT_TRUE(tried.ok()) << tried.toString();
    std::string refusal;
    EXPECT_TRUE(testing::check(*device_, ops::testing::toModel(legal), legal, &refusal)) << refusal;
  }

  std::shared_ptr<hal::Device> device_;
};

TestOperand bytesOf(OperandType type, const Shape& dims, float scale, int32_t zeroPoint,
                    std::mt19937& random) {
  size_t count = 1;
  for (const uint32_t extent : dims) count *= extent;
  std::vector<uint8_t> values(count);
  for (uint8_t& value : values) value = static_cast<uint8_t>(random());
  return TestOperand::of<uint8_t>(type, dims, values, scale, zeroPoint);
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

// One work item computes a line. Mesa's software devices would not reach its end.
TEST_P(SizesTest, LinesOfTooManyElementsAreRefused) {
  for (const uint32_t extent : {65535u, 65536u}) {
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
    EXPECT_EQ(testing::check(*device_, model, legal, &refusal), extent == 65535) << refusal;
    if (extent > 65535) EXPECT_THAT(refusal, HasSubstr("65536 rounds"));
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

INSTANTIATE_TEST_SUITE_P(Shaders, SizesTest, ::testing::Values("", "--gpu-shaders"),
                         [](const auto& info) { return info.param.empty() ? "Software" : "Gpu"; });

}  // namespace
}  // namespace halyard::vulkandriver
