// Tests of DYNAMIC_UPDATE_SLICE against its mapping of coordinates.
#include <algorithm>

#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TEST(DynamicUpdateSlice, ReplacesThePartThatFits) {
  RandomOperands random(971);
  std::vector<OperandType> types = kFloatInt32AndQuant8;
  types.push_back(TENSOR_BOOL8);
  for (int round = 0; round < 30; ++round) {
    for (const OperandType type : types) {
      const TestOperand x = anyTensor(random, type, randomShape(random, 1, 5, 4));
      const Shape& dims = x.tensor.dims;
      Shape part = dims;
      std::vector<int32_t> starts;
      Coordinates first;
      for (size_t d = 0; d < dims.size(); ++d) {
        part[d] = static_cast<uint32_t>(random.between(1, static_cast<int>(dims[d])));
        starts.push_back(random.between(-2, 6));
        const int most = static_cast<int>(dims[d] - part[d]);
        first.push_back(static_cast<size_t>(std::min(std::max(starts[d], 0), most)));
      }
      TestOperand update = anyTensor(random, type, part);
      update.tensor.scale = x.tensor.scale;
      update.tensor.zeroPoint = x.tensor.zeroPoint;
      TestOperand expected = x;
      const size_t size = elementSize(type);
      for (size_t i = 0; i < elementsOf(part); ++i) {
        Coordinates at = coordinatesOf(i, part);
        for (size_t d = 0; d < at.size(); ++d) at[d] += first[d];
        std::copy_n(update.bytes.data() + i * size, size,
                    expected.bytes.data() + indexOf(at, dims) * size);
      }
      expectResult(OperationType::DYNAMIC_UPDATE_SLICE, {x, update, intList(starts)}, expected);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(DynamicUpdateSlice, RefusesALargerUpdateAndOtherScales) {
  RandomOperands random(972);
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {2, 3});
  TestOperand update = x;
  expectFailure(OperationType::DYNAMIC_UPDATE_SLICE,
                {x, random.tensor(TENSOR_QUANT8_ASYMM, {3, 3}), intList({0, 0})}, {outputLike(x)},
                "expected");
  update.tensor.zeroPoint ^= 1;
  expectFailure(OperationType::DYNAMIC_UPDATE_SLICE, {x, update, intList({0, 0})}, {outputLike(x)},
                "expected those of the input");
  expectFailure(OperationType::DYNAMIC_UPDATE_SLICE, {x, x, intList({0})}, {outputLike(x)},
                "starts");
  expectChecksOutputScale(OperationType::DYNAMIC_UPDATE_SLICE, {x, x, intList({0, 0})}, x);
}

}  // namespace
}  // namespace halyard::ops::testing
