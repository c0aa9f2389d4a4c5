// Tests of BATCH_MATMUL against the definition in plain loops, and of its errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/conv_for_test.h"
#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum OperandType;

struct MatmulCase {
  Shape batch;
  uint32_t rows;
  uint32_t depth;
  uint32_t columns;
  bool adjointX;
  bool adjointY;

  Shape shape(uint32_t first, uint32_t second, bool swapped) const {
    Shape result = batch;
    result.push_back(swapped ? second : first);
    result.push_back(swapped ? first : second);
    return result;
  }
  std::string text() const {
    return fmt::format("[{}] x {}x{}x{}, adjoint {} {}", fmt::join(batch, ","), rows, depth,
                       columns, adjointX, adjointY);
  }
};

// A double represents int32 results exactly while the sums stay below 2^53.
std::vector<double> product(const MatmulCase& test, const std::vector<double>& x,
                            const std::vector<double>& y) {
  std::vector<double> result;
  for (size_t b = 0; b < elementsOf(test.batch); ++b) {
    for (size_t i = 0; i < test.rows; ++i) {
      for (size_t j = 0; j < test.columns; ++j) {
        double sum = 0;
        for (size_t k = 0; k < test.depth; ++k) {
          const size_t left = test.adjointX ? k * test.rows + i : i * test.depth + k;
          const size_t right = test.adjointY ? j * test.depth + k : k * test.columns + j;
          sum += x[b * test.rows * test.depth + left] * y[b * test.columns * test.depth + right];
        }
        result.push_back(sum);
      }
    }
  }
  return result;
}

TestOperand randomSide(RandomOperands& random, OperandType type, const Shape& shape) {
  if (type != TENSOR_INT32) return random.tensor(type, shape);
  std::vector<int32_t> values(elementsOf(shape));
  for (int32_t& value : values) value = random.between(-1000, 1000);
  TestOperand side = TestOperand::of<int32_t>(type, shape, values);
  side.tensor.scale = 1;  // for realValues
  return side;
}

void checkOne(RandomOperands& random, OperandType type, const MatmulCase& test) {
  std::vector<TestOperand> inputs = {
      randomSide(random, type, test.shape(test.rows, test.depth, test.adjointX)),
      randomSide(random, type, test.shape(test.depth, test.columns, test.adjointY)),
      TestOperand::boolean(test.adjointX), TestOperand::boolean(test.adjointY)};
  const std::vector<double> expected = product(test, realValues(inputs[0]), realValues(inputs[1]));
  std::vector<TestOperand> outputs = {random.output(type, largest(expected))};
  const std::string what = operandTypeName(type) + " " + test.text();
  const Status status = runOperation(OperationType::BATCH_MATMUL, inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.toString() << "\n" << what;
  EXPECT_EQ(outputs[0].tensor.dims, test.shape(test.rows, test.columns, false)) << what;
  if (type == TENSOR_INT32) {
    const auto actual = outputs[0].values<int32_t>();
    EXPECT_EQ(std::vector<double>(actual.begin(), actual.end()), expected) << what;
  } else {
    expectReals(outputs[0], expected, what, 0x1p-24 * test.depth);
  }
}

constexpr OperandType kMatmulTypes[] = {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM_SIGNED,
                                        TENSOR_INT32};

TEST(BatchMatmul, AgreesWithDefinition) {
  RandomOperands random(102);
  const auto size = [&](int high) { return static_cast<uint32_t>(random.between(1, high)); };
  for (int round = 0; round < 200; ++round) {
    for (OperandType type : kMatmulTypes) {
      checkOne(
          random, type,
          {randomShape(random, 0, 2, 4), size(9), size(20), size(9), random.coin(), random.coin()});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(BatchMatmul, AgreesWithDefinitionOnLargerMatrices) {
  RandomOperands random(103);
  for (OperandType type : kMatmulTypes) {
    for (const bool adjoint : {false, true}) {
      checkOne(random, type, {{2}, 150, 70, 130, adjoint, adjoint});
      checkOne(random, type, {{2, 40}, 17, 33, 9, adjoint, !adjoint});
      checkOne(random, type, {{}, 1, 500, 300, adjoint, !adjoint});
    }
  }
  checkOne(random, TENSOR_FLOAT32, {{2}, 240, 220, 230, false, false});
}

TEST(BatchMatmul, IntegersWrapAround) {
  std::vector<TestOperand> inputs = {
      TestOperand::of<int32_t>(TENSOR_INT32, {1, 2}, {INT32_MAX, INT32_MIN}),
      TestOperand::of<int32_t>(TENSOR_INT32, {2, 2}, {2, INT32_MAX, 1, -1}),
      TestOperand::boolean(false), TestOperand::boolean(false)};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_INT32)};
  ASSERT_TRUE(runOperation(OperationType::BATCH_MATMUL, inputs, outputs).ok());
  // 2 * (2^31 - 1) - 2^31 = 2^31 - 2; (2^31 - 1)^2 + 2^31 = 1 + 2^31 modulo 2^32.
  EXPECT_THAT(outputs[0].values<int32_t>(), ElementsAre(INT32_MAX - 1, INT32_MIN + 1));
}

TEST(BatchMatmul, ErrorsNameTheShapes) {
  RandomOperands random(4);
  const auto errorOf = [&](Shape x, Shape y, bool adjointX = false, bool adjointY = false) {
    std::vector<TestOperand> inputs = {
        random.tensor(TENSOR_FLOAT32, x), random.tensor(TENSOR_FLOAT32, y),
        TestOperand::boolean(adjointX), TestOperand::boolean(adjointY)};
    std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
    return runOperation(OperationType::BATCH_MATMUL, inputs, outputs).toString();
  };
  EXPECT_EQ(errorOf({2, 3, 4}, {2, 4, 5}), "OK");
  EXPECT_EQ(errorOf({3}, {3}), "OP_FAILED: x has rank 1 [3], expected rank 2 to 4");
  EXPECT_THAT(errorOf({1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}), HasSubstr("x has rank 5"));
  EXPECT_EQ(errorOf({2, 3, 4}, {4, 5}), "OP_FAILED: y has rank 2 [4,5], expected rank 3");
  EXPECT_EQ(errorOf({2, 3, 4}, {1, 4, 5}),
            "OP_FAILED: x is [2,3,4] and y is [1,4,5], expected the same dimension 0");
  EXPECT_EQ(errorOf({3, 4}, {3, 4}),
            "OP_FAILED: x [3,4] has rows of 4 values, y [3,4] has columns of 3");
  EXPECT_EQ(errorOf({3, 4}, {3, 4}, true), "OK");
  EXPECT_EQ(errorOf({3, 4}, {3, 4}, true, true),
            "OP_FAILED: x [3,4], adjoint, has rows of 3 values, y [3,4], adjoint, has columns of "
            "4");
  EXPECT_THAT(errorOf({0, 3, 4}, {0, 4, 5}), HasSubstr("zero-sized"));
  EXPECT_THAT(errorOf({3, 0}, {0, 4}), HasSubstr("zero-sized"));
  for (OperandType type : kMatmulTypes) {
    expectFailure(OperationType::BATCH_MATMUL,
                  {random.tensor(type, {2, 3}), random.tensor(type, {3, 0}),
                   TestOperand::boolean(false), TestOperand::boolean(false)},
                  {random.output(type, 10)}, "zero-sized");
  }
}

TEST(BatchMatmulSignature, FeatureLevels) {
  const auto levelOf = [](OperandType x, OperandType y, size_t flags, size_t rank = 0) {
    Model model;
    Operation operation;
    operation.type = OperationType::BATCH_MATMUL;
    for (OperandType type : {x, y, BOOL, BOOL, x}) {
      Operand operand;
      operand.type = type;
      if (type != BOOL) operand.dimensions = Shape(rank, 2);
      model.main.operands.push_back(operand);
    }
    operation.inputs = {0, 1};
    for (uint32_t i = 0; i < flags; ++i) operation.inputs.push_back(2 + i);
    operation.outputs = {4};
    const Result<FeatureLevel> level = checkSignature(definitionOf(operation.type)->signature,
                                                      OperationView(model, model.main, operation));
    return level.ok() ? static_cast<int>(level.value()) : 0;
  };
  for (OperandType type : kMatmulTypes) EXPECT_EQ(levelOf(type, type, 2), 6);
  EXPECT_EQ(levelOf(TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM, 2), 0);
  EXPECT_EQ(levelOf(TENSOR_FLOAT32, TENSOR_FLOAT16, 2), 0);
  EXPECT_EQ(levelOf(TENSOR_FLOAT32, TENSOR_FLOAT32, 0), 0);
  EXPECT_EQ(levelOf(TENSOR_FLOAT32, TENSOR_FLOAT32, 1), 0);
  EXPECT_EQ(levelOf(TENSOR_FLOAT32, TENSOR_FLOAT32, 2, 1), 0);
  EXPECT_EQ(levelOf(TENSOR_FLOAT32, TENSOR_FLOAT32, 2, 4), 6);
  EXPECT_EQ(levelOf(TENSOR_FLOAT32, TENSOR_FLOAT32, 2, 5), 0);
}

}  // namespace
}  // namespace halyard::ops::testing
