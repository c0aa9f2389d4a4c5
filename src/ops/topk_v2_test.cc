// Tests of TOPK_V2 against a full sort of each row, with ties and NaN.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

std::vector<TestOperand> outputsFor(const TestOperand& x) {
  return {outputLike(x), TestOperand::output(TENSOR_INT32)};
}

TEST(TopkV2, AgreesWithSort) {
  RandomOperands random(261);
  for (int round = 0; round < 40; ++round) {
    for (OperandType type : {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
                             TENSOR_QUANT8_ASYMM_SIGNED}) {
      Shape dims = randomShape(random, 1, 5, 4);
      dims.back() = static_cast<uint32_t>(random.between(1, 40));
      const TestOperand x = random.coin() && type != TENSOR_INT32 ? random.tensor(type, dims)
                                                                  : fewNumbers(random, type, dims);
      const int k = random.between(1, static_cast<int>(dims.back()));
      std::vector<TestOperand> inputs = {x, TestOperand::int32(k)};
      std::vector<TestOperand> outputs = outputsFor(x);
      const Status status = runOperation(OperationType::TOPK_V2, inputs, outputs);
      ASSERT_TRUE(status.ok()) << status.toString();
      const std::vector<double> reals = numbersOf(x);
      std::vector<int32_t> indices;
      std::vector<uint8_t> bytes;
      const size_t size = elementSize(type);
      for (size_t row = 0; row < reals.size(); row += dims.back()) {
        std::vector<int32_t> order(dims.back());
        for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
        std::reverse(order.begin(), order.end());
        std::stable_sort(order.begin(), order.end(), [&](int32_t i, int32_t j) {
          return reals[row + size_t(i)] > reals[row + size_t(j)];
        });
        for (size_t i = 0; i < size_t(k); ++i) {
          indices.push_back(order[i]);
          const auto* element = &x.bytes[(row + size_t(order[i])) * size];
          bytes.insert(bytes.end(), element, element + size);
        }
      }
      dims.back() = static_cast<uint32_t>(k);
      EXPECT_EQ(outputs[0].tensor.dims, dims);
      EXPECT_EQ(outputs[1].tensor.dims, dims);
      ASSERT_EQ(outputs[1].values<int32_t>(), indices) << operandTypeName(type) << " k " << k;
      ASSERT_EQ(outputs[0].bytes, bytes) << operandTypeName(type) << " k " << k;
    }
  }
}

TEST(TopkV2, EqualOnesLaterFirst) {
  for (const auto& [k, expected] : std::vector<std::pair<int, std::vector<int32_t>>>{
           {1, {4}}, {2, {4, 1}}, {3, {4, 1, 5}}, {6, {4, 1, 5, 3, 0, 2}}}) {
    std::vector<TestOperand> inputs = {
        TestOperand::of<int32_t>(TENSOR_INT32, {6}, {5, 7, 1, 5, 7, 5}), TestOperand::int32(k)};
    std::vector<TestOperand> outputs = outputsFor(inputs[0]);
    ASSERT_TRUE(runOperation(OperationType::TOPK_V2, inputs, outputs).ok());
    EXPECT_EQ(outputs[1].values<int32_t>(), expected);
  }
}

TEST(TopkV2, NanComesLast) {
  std::vector<float> x = {kNan, 2, kNan, -kInfinity, kInfinity, -kNan, 3};
  std::vector<TestOperand> inputs = {TestOperand::of<float>(TENSOR_FLOAT32, {7}, x),
                                     TestOperand::int32(7)};
  std::vector<TestOperand> outputs = outputsFor(inputs[0]);
  ASSERT_TRUE(runOperation(OperationType::TOPK_V2, inputs, outputs).ok());
  EXPECT_THAT(outputs[1].values<int32_t>(), ::testing::ElementsAre(4, 6, 1, 3, 5, 2, 0));
  EXPECT_TRUE(std::isnan(outputs[0].values<float>()[6]));
  // Long rows with NaN: with an inconsistent order, a sort would leave its range.
  x.assign(5000, kNan);
  for (size_t i = 0; i < x.size(); i += 3) x[i] = static_cast<float>(i % 100);
  inputs = {TestOperand::of<float>(TENSOR_FLOAT32, {5000}, x), TestOperand::int32(2000)};
  ASSERT_TRUE(runOperation(OperationType::TOPK_V2, inputs, outputs).ok());
  const std::vector<float> values = outputs[0].values<float>();
  EXPECT_TRUE(std::is_sorted(values.begin(), values.begin() + 1667, std::greater<float>()));
  EXPECT_TRUE(std::all_of(values.begin() + 1667, values.end(), [](float v) { return v != v; }));
}

// Outputs may lie in memory that other processes write at any time, so nothing is read back from
// there. The test puts the outputs in the place of the inputs. Everything must be computed before
// anything is stored.
TEST(TopkV2, KeepsItsIndicesToItself) {
  std::vector<float> row = {3, 1, 2, 5, 4};
  int32_t k = 5;
  std::vector<float> values(5);
  std::vector<Tensor> inputs = {TestOperand::output(TENSOR_FLOAT32).tensor,
                                TestOperand::output(INT32).tensor};
  inputs[0].dims = {5};
  inputs[0].data = row.data();
  inputs[1].data = &k;
  std::vector<Tensor> outputs = {TestOperand::output(TENSOR_FLOAT32).tensor,
                                 TestOperand::output(TENSOR_INT32).tensor};
  InlineServices services;
  OperationContext context(inputs, outputs, &services);
  const OperationDefinition& definition = *definitionOf(OperationType::TOPK_V2);
  ASSERT_TRUE(inferShapes(definition, context).ok());
  outputs[0].data = values.data();
  outputs[1].data = row.data();
  ASSERT_TRUE(runReference(definition, context).ok());
  EXPECT_EQ(values, (std::vector<float>{5, 4, 3, 2, 1}));
  std::vector<int32_t> indices(5);
  std::memcpy(indices.data(), row.data(), sizeof(int32_t) * indices.size());
  EXPECT_EQ(indices, (std::vector<int32_t>{3, 4, 0, 2, 1}));
}

TEST(TopkV2, TypeLevels) {
  expectTypeLevels(OperationType::TOPK_V2, {{TENSOR_FLOAT32, 3},
                                            {TENSOR_FLOAT16, 3},
                                            {TENSOR_QUANT8_ASYMM, 3},
                                            {TENSOR_QUANT8_ASYMM_SIGNED, 4},
                                            {TENSOR_INT32, 3}});
}

TEST(TopkV2, Refuses) {
  RandomOperands random(262);
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {2, 3});
  const auto refuses = [&](const TestOperand& input, int k, const TestOperand& values,
                           const std::string& text) {
    expectFailure(OperationType::TOPK_V2, {input, TestOperand::int32(k)},
                  {values, TestOperand::output(TENSOR_INT32)}, text);
  };
  refuses(x, 0, outputLike(x), "k is 0, expected 1 to 3 as the input is [2,3]");
  refuses(x, -1, outputLike(x), "k is -1");
  refuses(x, 4, outputLike(x), "k is 4");
  refuses(x, 1, TestOperand::output(TENSOR_QUANT8_ASYMM, 9, 0), "expected those of the input");
  refuses(random.tensor(TENSOR_FLOAT32, {0, 3}), 1, TestOperand::output(TENSOR_FLOAT32),
          "zero-sized");
}

}  // namespace
}  // namespace halyard::ops::testing
