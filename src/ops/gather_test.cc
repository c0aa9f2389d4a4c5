// Tests of GATHER, EMBEDDING_LOOKUP and HASHTABLE_LOOKUP against their mappings of coordinates.
#include <algorithm>

#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TestOperand randomIndices(RandomOperands& random, const Shape& shape, uint32_t size) {
  std::vector<int32_t> values(elementsOf(shape));
  for (int32_t& value : values) value = random.between(0, static_cast<int>(size) - 1);
  return intTensor(shape, values);
}

TEST(Gather, AgreesWithDefinition) {
  RandomOperands random(261);
  for (int round = 0; round < 30; ++round) {
    for (OperandType type : kFloatInt32AndQuant8) {
      const TestOperand x = anyTensor(random, type, randomShape(random, 1, 5, 4));
      const Shape& dims = x.tensor.dims;
      const int rank = static_cast<int>(dims.size());
      const int axis = random.between(-rank, rank - 1);
      const int d = axis < 0 ? axis + rank : axis;
      const TestOperand indices =
          randomIndices(random, randomShape(random, 1, 3, 3), dims[static_cast<size_t>(d)]);
      const Shape& list = indices.tensor.dims;
      Shape shape(dims.begin(), dims.begin() + d);
      shape.insert(shape.end(), list.begin(), list.end());
      shape.insert(shape.end(), dims.begin() + d + 1, dims.end());
      const TestOperand expected = moved(x, shape, [&](Coordinates at) -> MaybeCoordinates {
        const auto begin = at.begin() + d;
        const auto end = begin + static_cast<ptrdiff_t>(list.size());
        *begin =
            static_cast<size_t>(indices.values<int32_t>()[indexOf(Coordinates(begin, end), list)]);
        at.erase(begin + 1, end);
        return at;
      });
      expectResult(OperationType::GATHER, {x, TestOperand::int32(axis), indices}, expected,
                   fmt::format("axis {}", axis));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Gather, Refuses) {
  RandomOperands random(262);
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {2, 4});
  const auto refuses = [&](int axis, const std::vector<int32_t>& indices, const std::string& text) {
    expectFailure(OperationType::GATHER, {x, TestOperand::int32(axis), intList(indices)},
                  {outputLike(x)}, text);
  };
  refuses(1, {0, 4}, "element 1 of indices is 4, expected 0 to 3");
  refuses(0, {-1}, "element 0 of indices is -1, expected 0 to 1");
  refuses(0, {0, 1, kIntMin}, "element 2 of indices is -2147483648");
  refuses(0, {kIntMax}, "element 0 of indices is 2147483647");
  refuses(2, {0}, "axis is 2, expected -2 to 1");
  refuses(kIntMin, {0}, "axis is -2147483648");
  expectChecksOutputScale(OperationType::GATHER, {x, TestOperand::int32(0), intList({0})}, x);
  EXPECT_EQ(
      inferenceOf(OperationType::GATHER, {x, unknownValue(INT32), intList({0})}, {outputLike(x)})
          .code(),
      ResultCode::INCOMPLETE);
  // The shape does not depend on the indices' values.
  EXPECT_TRUE(inferenceOf(OperationType::GATHER,
                          {x, TestOperand::int32(0), unknownValue(TENSOR_INT32, {3, 2})},
                          {outputLike(x)})
                  .ok());
}

TEST(EmbeddingLookup, AgreesWithDefinition) {
  RandomOperands random(263);
  for (int round = 0; round < 20; ++round) {
    for (OperandType type : kFloatInt32AndQuant8) {
      const TestOperand values = anyTensor(random, type, randomShape(random, 2, 5, 4));
      Shape shape = values.tensor.dims;
      const TestOperand lookups =
          randomIndices(random, {static_cast<uint32_t>(random.between(1, 5))}, shape[0]);
      shape[0] = lookups.tensor.dims[0];
      const TestOperand expected = moved(values, shape, [&](Coordinates at) -> MaybeCoordinates {
        at[0] = static_cast<size_t>(lookups.values<int32_t>()[at[0]]);
        return at;
      });
      expectResult(OperationType::EMBEDDING_LOOKUP, {lookups, values}, expected);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(EmbeddingLookup, Refuses) {
  RandomOperands random(264);
  const TestOperand values = random.tensor(TENSOR_QUANT8_ASYMM, {3, 2});
  const auto refuses = [&](const TestOperand& lookups, const TestOperand& table,
                           const std::string& text) {
    expectFailure(OperationType::EMBEDDING_LOOKUP, {lookups, table}, {outputLike(table)}, text);
  };
  refuses(intList({0, 3}), values, "element 1 of lookups is 3, expected 0 to 2");
  refuses(intList({-1}), values, "element 0 of lookups is -1");
  refuses(intTensor({1, 1}, {0}), values, "lookups has rank 2 [1,1], expected rank 1");
  refuses(intList({}), values, "zero-sized");
  refuses(intList({0}), random.tensor(TENSOR_QUANT8_ASYMM, {3}),
          "values has rank 1 [3], expected rank 2 or more");
  TestOperand output = outputLike(values);
  output.tensor.zeroPoint ^= 1;
  expectFailure(OperationType::EMBEDDING_LOOKUP, {intList({0}), values}, {output},
                "expected those of the input");
}

std::vector<TestOperand> hashtableOutputs(const TestOperand& values) {
  return {outputLike(values), TestOperand::output(TENSOR_QUANT8_ASYMM, 1, 0)};
}

TEST(HashtableLookup, AgreesWithDefinition) {
  RandomOperands random(265);
  for (int round = 0; round < 30; ++round) {
    for (OperandType type : {TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM}) {
      const TestOperand values = anyTensor(random, type, randomShape(random, 1, 4, 6));
      Shape shape = values.tensor.dims;
      std::vector<int32_t> keys;
      while (keys.size() < shape[0]) {
        const int key = random.oneOf({kIntMin, kIntMax, 0, random.between(-9, 9)});
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
      }
      std::sort(keys.begin(), keys.end());
      std::vector<int32_t> lookups;
      for (int count = random.between(1, 7); count > 0; --count) {
        lookups.push_back(
            random.coin()
                ? keys[static_cast<size_t>(random.between(0, static_cast<int>(keys.size()) - 1))]
                : random.between(-9, 9));
      }
      shape[0] = static_cast<uint32_t>(lookups.size());
      std::vector<uint8_t> hits;
      for (int32_t lookup : lookups) {
        hits.push_back(std::find(keys.begin(), keys.end(), lookup) != keys.end() ? 1 : 0);
      }
      const TestOperand expected = moved(values, shape,
                                         [&](Coordinates at) -> MaybeCoordinates {
                                           const auto key =
                                               std::find(keys.begin(), keys.end(), lookups[at[0]]);
                                           if (key == keys.end()) return std::nullopt;
                                           at[0] = static_cast<size_t>(key - keys.begin());
                                           return at;
                                         },
                                         {0, 0, 0, 0});
      std::vector<TestOperand> inputs = {intList(lookups), intList(keys), values};
      std::vector<TestOperand> outputs = hashtableOutputs(values);
      const Status status = runOperation(OperationType::HASHTABLE_LOOKUP, inputs, outputs);
      ASSERT_TRUE(status.ok()) << status.toString();
      EXPECT_EQ(outputs[0].tensor.dims, shape);
      EXPECT_EQ(outputs[0].bytes, expected.bytes) << operandTypeName(type);
      EXPECT_EQ(outputs[1].tensor.dims, (Shape{shape[0]}));
      EXPECT_EQ(outputs[1].bytes, hits);
    }
  }
}

TEST(HashtableLookup, Refuses) {
  RandomOperands random(266);
  const TestOperand values = random.tensor(TENSOR_QUANT8_ASYMM, {3, 2});
  const TestOperand keys = intList({1, 2, 3});
  const auto refuses = [&](const TestOperand& lookups, const TestOperand& list,
                           const std::vector<TestOperand>& outputs, const std::string& text) {
    expectFailure(OperationType::HASHTABLE_LOOKUP, {lookups, list, values}, outputs, text);
  };
  std::vector<TestOperand> outputs = hashtableOutputs(values);
  refuses(intList({1}), intList({1, 2}), outputs,
          "there are 2 keys, expected 3, one for each row of the values [3,2]");
  refuses(intList({1}), intList({}), outputs, "there are 0 keys");
  refuses(intList({1}), intTensor({3, 1}, {1, 2, 3}), outputs, "keys has rank 2");
  refuses(intTensor({1, 1}, {1}), keys, outputs, "lookups has rank 2");
  outputs[1].tensor.zeroPoint = 1;
  refuses(intList({1}), keys, outputs, "hits have scale 1 and zero point 1, expected 1 and 0");
  outputs[1].tensor.zeroPoint = 0;
  outputs[1].tensor.scale = 0.5f;
  refuses(intList({1}), keys, outputs, "hits have scale 0.5");
  outputs = hashtableOutputs(values);
  outputs[0].tensor.scale *= 2;
  refuses(intList({1}), keys, outputs, "expected those of the input");
}

}  // namespace
}  // namespace halyard::ops::testing
