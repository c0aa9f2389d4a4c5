// Tests of the REDUCE_ operations over every set of axes against loops by coordinates, and of
// special values with rules of their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/reduction_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using enum OperationType;

constexpr float kLargest = std::numeric_limits<float>::max();

using Combine = std::function<double(const std::vector<double>&)>;

void expectAgreement(OperationType op, std::initializer_list<OperandType> types,
                     const Combine& combine) {
  RandomOperands random(73);
  for (OperandType type : types) {
    const auto input = [&](const Shape& dims) {
      if (type != TENSOR_BOOL8) return random.tensor(type, dims);
      // True values are rare enough that results differ, and have several representations.
      std::vector<uint8_t> values(elementsOf(dims));
      const bool rare = random.coin();
      for (uint8_t& value : values) {
        const bool odd = random.between(0, 9) == 0;
        value = odd == rare ? random.oneOf<uint8_t>({1, 2, 128, 255}) : uint8_t{0};
      }
      return TestOperand::of<uint8_t>(type, dims, values);
    };
    expectReductions(op, random, input,
                     {{TestOperand::boolean(false), false},
                      {TestOperand::boolean(true), true},
                      {TestOperand::of<uint8_t>(BOOL, {}, {2}), true}},
                     combine);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Reduce, AgreesWithDefinition) {
  const Combine largest = [](const std::vector<double>& x) {
    return *std::max_element(x.begin(), x.end());
  };
  const Combine smallest = [](const std::vector<double>& x) {
    return *std::min_element(x.begin(), x.end());
  };
  const auto common = {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM,
                       TENSOR_QUANT8_ASYMM_SIGNED};
  expectAgreement(REDUCE_ALL, {TENSOR_BOOL8}, smallest);
  expectAgreement(REDUCE_ANY, {TENSOR_BOOL8}, largest);
  expectAgreement(REDUCE_MAX, common, largest);
  expectAgreement(REDUCE_MIN, common, smallest);
  expectAgreement(REDUCE_PROD, {TENSOR_FLOAT32, TENSOR_FLOAT16}, [](const std::vector<double>& x) {
    return std::accumulate(x.begin(), x.end(), 1.0, std::multiplies<double>());
  });
  expectAgreement(REDUCE_SUM, {TENSOR_FLOAT32, TENSOR_FLOAT16}, [](const std::vector<double>& x) {
    return std::accumulate(x.begin(), x.end(), 0.0);
  });
}

float reduceAll(OperationType op, const std::vector<float>& x,
                const std::vector<int32_t>& axes = {0}) {
  std::vector<TestOperand> inputs = {
      TestOperand::of<float>(TENSOR_FLOAT32, {static_cast<uint32_t>(x.size())}, x), intList(axes),
      TestOperand::boolean(false)};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  const Status status = runOperation(op, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.toString();
  return status.ok() ? outputs[0].values<float>()[0] : kNan;
}

// Returns values in many positions, so that they meet in each kind of merge of partial results.
std::vector<float> repeated(std::vector<float> values, size_t times) {
  std::vector<float> result;
  for (size_t i = 0; i < times; ++i) result.insert(result.end(), values.begin(), values.end());
  return result;
}

TEST(Reduce, ExtremesStartFromFiniteNumbers) {
  EXPECT_EQ(reduceAll(REDUCE_MAX, {-kInfinity, -kInfinity}), -kLargest);
  EXPECT_EQ(reduceAll(REDUCE_MIN, {kInfinity}), kLargest);
  EXPECT_EQ(reduceAll(REDUCE_MAX, {-kInfinity}, {}), -kLargest);  // also without axes
  EXPECT_EQ(reduceAll(REDUCE_MAX, {1, kInfinity}), kInfinity);
  EXPECT_EQ(reduceAll(REDUCE_MIN, {1, -kInfinity}), -kInfinity);
  for (size_t times : {1, 2, 7, 30}) {
    EXPECT_EQ(reduceAll(REDUCE_MAX, repeated({kNan, -3, kNan, -2, kNan}, times)), -2);
    EXPECT_EQ(reduceAll(REDUCE_MIN, repeated({kNan, 3, kNan, 2, kNan}, times)), 2);
  }
}

TEST(Reduce, ProductsWithZero) {
  for (float special : {kInfinity, -kInfinity, kNan}) {
    EXPECT_EQ(reduceAll(REDUCE_PROD, {special, 0}), 0);
    EXPECT_EQ(reduceAll(REDUCE_PROD, {0, special, 3}), 0);
    for (size_t at = 0; at < 40; ++at) {
      std::vector<float> x(40, special);
      x[at] = -0.0f;
      EXPECT_EQ(reduceAll(REDUCE_PROD, x), 0) << at;
    }
  }
  EXPECT_EQ(reduceAll(REDUCE_PROD, {kInfinity, -2}), -kInfinity);
  EXPECT_TRUE(std::isnan(reduceAll(REDUCE_PROD, {2, kNan, 3})));
}

TEST(Reduce, ProductsBeyondTheRangeOfTheirResult) {
  EXPECT_FLOAT_EQ(reduceAll(REDUCE_PROD, {1e30f, 1e30f, 1e-30f, 3e-30f}), 3);
  // 2^(100 * 20) and its inverse exceed even double's range.
  std::vector<float> x = repeated({0x1p100f}, 20);
  const std::vector<float> inverse = repeated({0x1p-100f}, 20);
  x.insert(x.end(), inverse.begin(), inverse.end());
  x.push_back(-5);
  EXPECT_EQ(reduceAll(REDUCE_PROD, x), -5);
  std::sort(x.begin(), x.end());
  EXPECT_EQ(reduceAll(REDUCE_PROD, x), -5);
  x.push_back(kNan);  // no zero yet, although the factors before it would underflow
  EXPECT_TRUE(std::isnan(reduceAll(REDUCE_PROD, x)));
  EXPECT_EQ(reduceAll(REDUCE_PROD, repeated({0x1p-100f}, 100)), 0);
  EXPECT_EQ(reduceAll(REDUCE_PROD, repeated({-0x1p100f}, 101)), -kInfinity);
}

TEST(Reduce, LongSumsStayPrecise) {
  EXPECT_EQ(reduceAll(REDUCE_SUM, std::vector<float>(20000000, 1.0f)), 20000000.0f);
  EXPECT_EQ(reduceAll(REDUCE_SUM, repeated({1e12f, 1, -1e12f}, 1)), 1);
  // The same along the first axis, where each result gets one element at a time.
  std::vector<TestOperand> inputs = {
      TestOperand::of<float>(TENSOR_FLOAT32, {17000000, 2}, std::vector<float>(34000000, 1.0f)),
      intList({0}), TestOperand::boolean(true)};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  ASSERT_TRUE(runOperation(REDUCE_SUM, inputs, outputs).ok());
  EXPECT_EQ(outputs[0].tensor.dims, (Shape{1, 2}));
  EXPECT_EQ(outputs[0].values<float>(), (std::vector<float>(2, 17000000.0f)));
}

TEST(Reduce, TypeLevels) {
  for (OperationType op : {REDUCE_MAX, REDUCE_MIN}) {
    expectTypeLevels(op, {{TENSOR_FLOAT32, 3},
                          {TENSOR_FLOAT16, 3},
                          {TENSOR_QUANT8_ASYMM, 3},
                          {TENSOR_QUANT8_ASYMM_SIGNED, 4}});
  }
  for (OperationType op : {REDUCE_PROD, REDUCE_SUM}) {
    expectTypeLevels(op, {{TENSOR_FLOAT32, 3}, {TENSOR_FLOAT16, 3}});
  }
  for (OperationType op : {REDUCE_ALL, REDUCE_ANY}) expectTypeLevels(op, {{TENSOR_BOOL8, 3}});
}

TEST(Reduce, Refuses) {
  RandomOperands random(74);
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {2, 3});
  const auto refuses = [&](const TestOperand& input, const std::vector<int32_t>& axes,
                           const TestOperand& output, const std::string& text) {
    expectFailure(REDUCE_MAX, {input, intList(axes), TestOperand::boolean(false)}, {output}, text);
  };
  refuses(x, {2}, outputLike(x), "axis is 2, expected -2 to 1 for a tensor of rank 2");
  refuses(x, {0, -3}, outputLike(x), "axis is -3");
  refuses(random.tensor(TENSOR_FLOAT32, {0, 3}), {0}, outputLike(x), "zero-sized");
  refuses(random.tensor(TENSOR_FLOAT32, {1, 2, 1, 2, 1}), {0}, outputLike(x),
          "input has rank 5 [1,2,1,2,1], expected rank 1 to 4");
  refuses(random.tensor(TENSOR_QUANT8_ASYMM, {3}), {0},
          TestOperand::output(TENSOR_QUANT8_ASYMM, 9, 0), "expected those of the input");
}

}  // namespace
}  // namespace halyard::ops::testing
