// Tests of SELECT_V2 against its mapping of coordinates.
#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TEST(SelectV2, TakesElementsOfBroadcastTensors) {
  RandomOperands random(951);
  std::vector<OperandType> types = kFloatInt32AndQuant8;
  types.push_back(TENSOR_BOOL8);
  for (int round = 0; round < 30; ++round) {
    for (const OperandType type : types) {
      const BroadcastShapes shapes = randomBroadcast(random, 5);
      Shape own = shapes.result;
      for (uint32_t& d : own) {
        if (random.coin()) d = 1;
      }
      const TestOperand condition = fewNumbers(random, TENSOR_BOOL8, own);
      const TestOperand x = anyTensor(random, type, shapes.a);
      TestOperand y = anyTensor(random, type, shapes.b);
      y.tensor.scale = x.tensor.scale;
      y.tensor.zeroPoint = x.tensor.zeroPoint;
      const std::vector<double> chosen = numbersOf(condition);
      TestOperand expected = x;
      expected.tensor.dims = shapes.result;
      expected.bytes.clear();
      const size_t size = elementSize(type);
      for (size_t i = 0; i < elementsOf(shapes.result); ++i) {
        const Coordinates at = coordinatesOf(i, shapes.result);
        const TestOperand& from = chosen[sourceIndex(at, own)] != 0 ? x : y;
        const auto element =
            from.bytes.begin() + static_cast<ptrdiff_t>(sourceIndex(at, from.tensor.dims) * size);
        expected.bytes.insert(expected.bytes.end(), element,
                              element + static_cast<ptrdiff_t>(size));
      }
      expectResult(OperationType::SELECT_V2, {condition, x, y}, expected);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SelectV2, RefusesOtherShapesAndScales) {
  RandomOperands random(952);
  const TestOperand condition = fewNumbers(random, TENSOR_BOOL8, {2, 1});
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {2, 3});
  expectFailure(OperationType::SELECT_V2, {fewNumbers(random, TENSOR_BOOL8, {4}), x, x},
                {outputLike(x)}, "[4]");
  TestOperand y = x;
  y.tensor.scale *= 2;
  expectFailure(OperationType::SELECT_V2, {condition, x, y}, {outputLike(x)}, "input 2");
  expectChecksOutputScale(OperationType::SELECT_V2, {condition, x, x}, x);
}

}  // namespace
}  // namespace halyard::ops::testing
