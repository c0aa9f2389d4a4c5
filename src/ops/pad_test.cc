// Tests of PAD, PAD_V2 and MIRROR_PAD against elementwise copying by coordinates.
#include <gtest/gtest.h>

#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TestOperand paddingsOf(const std::vector<int32_t>& values) {
  return TestOperand::of<int32_t>(TENSOR_INT32, {static_cast<uint32_t>(values.size() / 2), 2},
                                  values);
}

TEST(Pad, AgreesWithDefinition) {
  RandomOperands random(61);
  for (int round = 0; round < 60; ++round) {
    for (OperandType type :
         {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      const TestOperand x = random.tensor(type, randomShape(random, 1, 4, 4));
      std::vector<int32_t> paddings;
      Shape shape;
      for (uint32_t d : x.tensor.dims) {
        const bool some = random.coin();
        paddings.push_back(some ? random.between(0, 3) : 0);
        paddings.push_back(some ? random.between(0, 3) : 0);
        shape.push_back(d + static_cast<uint32_t>(paddings.rbegin()[0] + paddings.rbegin()[1]));
      }
      const std::vector<double> from = realValues(x);
      std::vector<double> expected(elementsOf(shape), 0);
      for (size_t i = 0; i < from.size(); ++i) {
        std::vector<size_t> at = coordinatesOf(i, x.tensor.dims);
        for (size_t d = 0; d < at.size(); ++d) at[d] += static_cast<size_t>(paddings[2 * d]);
        expected[indexOf(at, shape)] = from[i];
      }
      std::vector<TestOperand> inputs = {x, paddingsOf(paddings)};
      std::vector<TestOperand> outputs = {outputLike(x)};
      const Status status = runOperation(OperationType::PAD, inputs, outputs);
      ASSERT_TRUE(status.ok()) << status.toString();
      EXPECT_EQ(outputs[0].tensor.dims, shape);
      EXPECT_EQ(realValues(outputs[0]), expected)
          << operandTypeName(type) << " " << fmt::format("{}", fmt::join(paddings, ","));
    }
  }
}

TEST(Pad, Refuses) {
  RandomOperands random(62);
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {2, 3});
  const auto refuses = [&](const TestOperand& paddings, const std::string& text) {
    expectFailure(OperationType::PAD, {x, paddings}, {outputLike(x)}, text);
  };
  refuses(paddingsOf({1, 1}), "the shape of paddings is [1,2], expected [2,2]");
  refuses(intList({1, 1, 1, 1}), "the shape of paddings is [4]");
  refuses(TestOperand::of<int32_t>(TENSOR_INT32, {0, 2}, {}), "the shape of paddings is [0,2]");
  refuses(paddingsOf({0, 0, -1, 0}), "paddings of dimension 1 are -1 and 0");
  refuses(paddingsOf({kIntMax, kIntMax, 0, 0}), "dimension 0 of the output would be 4294967296");
  refuses(paddingsOf({kIntMax, 0, kIntMax, 0}), "more than 4294967295 bytes");
  expectFailure(OperationType::PAD, {random.tensor(TENSOR_FLOAT32, {0}), paddingsOf({1, 1})},
                {outputLike(x)}, "zero-sized");
}

struct Padded {
  Shape shape;
  std::vector<int32_t> paddings;
};
// `most` returns the maximum padding for the size of a dimension.
template <typename Most>
Padded randomPaddings(RandomOperands& random, const Shape& dims, Most most) {
  Padded result;
  for (uint32_t d : dims) {
    const int before = random.coin() ? random.between(0, most(static_cast<int>(d))) : 0;
    const int after = random.coin() ? random.between(0, most(static_cast<int>(d))) : 0;
    result.paddings.insert(result.paddings.end(), {before, after});
    result.shape.push_back(d + static_cast<uint32_t>(before + after));
  }
  return result;
}

TEST(PadV2, AgreesWithDefinition) {
  RandomOperands random(63);
  for (int round = 0; round < 40; ++round) {
    for (OperandType type : kFloatAndQuant8) {
      const TestOperand x = random.tensor(type, randomShape(random, 1, 4, 4));
      const Padded padded = randomPaddings(random, x.tensor.dims, [](int) { return 3; });
      TestOperand value = realScalar(type, random.realBetween(-9, 9));
      if (type == TENSOR_QUANT8_ASYMM) value = TestOperand::int32(random.between(0, 255));
      if (type == TENSOR_QUANT8_ASYMM_SIGNED) value = TestOperand::int32(random.between(-128, 127));
      const TestOperand expected = moved(
          x, padded.shape,
          [&](Coordinates at) -> MaybeCoordinates {
            for (size_t d = 0; d < at.size(); ++d) {
              at[d] -= static_cast<size_t>(padded.paddings[2 * d]);
              if (at[d] >= x.tensor.dims[d]) return std::nullopt;  // below 0, too, by wrapping
            }
            return at;
          },
          value.bytes);
      expectResult(OperationType::PAD_V2, {x, paddingsOf(padded.paddings), value}, expected);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(PadV2, KeepsTheBitsOfTheValue) {
  // A signalling NaN with a payload, and -0.
  for (const uint32_t bits : {0x7fa12345u, 0x80000000u}) {
    const auto x = TestOperand::of<uint32_t>(TENSOR_FLOAT32, {1}, {0x3f800000u});
    expectResult(OperationType::PAD_V2,
                 {x, paddingsOf({1, 2}), TestOperand::of<uint32_t>(FLOAT32, {}, {bits})},
                 TestOperand::of<uint32_t>(TENSOR_FLOAT32, {4}, {bits, 0x3f800000u, bits, bits}));
  }
}

TEST(PadV2, Refuses) {
  RandomOperands random(64);
  const auto refuses = [&](OperandType type, int value, const std::string& text) {
    const TestOperand x = random.tensor(type, {3});
    expectFailure(OperationType::PAD_V2, {x, paddingsOf({1, 1}), TestOperand::int32(value)},
                  {outputLike(x)}, text);
  };
  refuses(TENSOR_QUANT8_ASYMM, -1, "pad value is -1, expected 0 to 255");
  refuses(TENSOR_QUANT8_ASYMM, 256, "pad value is 256");
  refuses(TENSOR_QUANT8_ASYMM_SIGNED, 128, "pad value is 128, expected -128 to 127");
  refuses(TENSOR_QUANT8_ASYMM_SIGNED, kIntMin, "pad value is -2147483648");
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {3});
  const TestOperand zero = TestOperand::int32(0);
  expectFailure(OperationType::PAD_V2, {x, paddingsOf({-1, 1}), zero}, {outputLike(x)},
                "paddings of dimension 0 are -1 and 1");
  expectFailure(OperationType::PAD_V2, {x, paddingsOf({1, 1, 1, 1}), zero}, {outputLike(x)},
                "the shape of paddings is [2,2], expected [1,2]");
  const TestOperand deep = random.tensor(TENSOR_QUANT8_ASYMM, {1, 1, 1, 1, 1});
  expectFailure(OperationType::PAD_V2, {deep, paddingsOf(std::vector<int32_t>(10, 0)), zero},
                {outputLike(deep)}, "rank 5");
  expectChecksOutputScale(OperationType::PAD_V2, {x, paddingsOf({1, 1}), zero}, x);
  // The shape depends on the paddings, but not on the value.
  EXPECT_TRUE(inferenceOf(OperationType::PAD_V2, {x, paddingsOf({1, 1}), unknownValue(INT32)},
                          {outputLike(x)})
                  .ok());
  EXPECT_EQ(inferenceOf(OperationType::PAD_V2, {x, unknownValue(TENSOR_INT32, {1, 2}), zero},
                        {outputLike(x)})
                .code(),
            ResultCode::INCOMPLETE);
}

// Walks from the first element on and reverses at each end.
size_t mirrored(int64_t at, int64_t size, bool reflect) {
  const int64_t skip = reflect ? 1 : 0;
  if (at < 0) at = -at - 1 + skip;
  if (at >= size) at = 2 * size - 1 - skip - at;
  return static_cast<size_t>(at);
}

TEST(MirrorPad, AgreesWithDefinition) {
  RandomOperands random(65);
  for (int round = 0; round < 40; ++round) {
    for (OperandType type : kFloatInt32AndQuant8) {
      const TestOperand x = anyTensor(random, type, randomShape(random, 1, 6, 3));
      const bool reflect = random.coin();
      const Padded padded = randomPaddings(random, x.tensor.dims,
                                           [&](int size) { return reflect ? size - 1 : size; });
      const TestOperand expected = moved(x, padded.shape, [&](Coordinates at) -> MaybeCoordinates {
        for (size_t d = 0; d < at.size(); ++d) {
          at[d] = mirrored(static_cast<int64_t>(at[d]) - padded.paddings[2 * d], x.tensor.dims[d],
                           reflect);
        }
        return at;
      });
      expectResult(OperationType::MIRROR_PAD,
                   {x, paddingsOf(padded.paddings), TestOperand::int32(reflect ? 0 : 1)}, expected,
                   fmt::format("reflect {}: {}", reflect, fmt::join(padded.paddings, ",")));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(MirrorPad, ByHand) {
  const auto x = TestOperand::of<float>(TENSOR_FLOAT32, {3}, {1, 2, 3});
  expectResult(OperationType::MIRROR_PAD, {x, paddingsOf({0, 2}), TestOperand::int32(0)},
               TestOperand::of<float>(TENSOR_FLOAT32, {5}, {1, 2, 3, 2, 1}));
  expectResult(OperationType::MIRROR_PAD, {x, paddingsOf({3, 2}), TestOperand::int32(1)},
               TestOperand::of<float>(TENSOR_FLOAT32, {8}, {3, 2, 1, 1, 2, 3, 3, 2}));
}

TEST(MirrorPad, Refuses) {
  RandomOperands random(66);
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {2, 3});
  const auto refuses = [&](const std::vector<int32_t>& paddings, int mode,
                           const std::string& text) {
    expectFailure(OperationType::MIRROR_PAD, {x, paddingsOf(paddings), TestOperand::int32(mode)},
                  {outputLike(x)}, text);
  };
  refuses({0, 0, 0, 0}, 2, "mode is 2, expected 0 (reflect) or 1 (symmetric)");
  refuses({0, 0, 0, 0}, -1, "mode is -1");
  refuses({2, 0, 0, 0}, 0,
          "paddings of dimension 0 of the input [2,3] are 2 and 0, expected 0 to 1");
  refuses({0, 0, 0, 3}, 0, "paddings of dimension 1 of the input [2,3] are 0 and 3");
  refuses({0, 0, 0, 4}, 1, "are 0 and 4, expected 0 to 3");
  refuses({0, 0, kIntMax, 0}, 1, "are 2147483647 and 0");
  refuses({0, -1, 0, 0}, 1, "paddings of dimension 0 are 0 and -1");
  refuses({kIntMin, 0, 0, 0}, 1, "are -2147483648 and 0");
  refuses({0, 0}, 1, "the shape of paddings is [1,2], expected [2,2]");
  const TestOperand mode = TestOperand::int32(1);
  expectChecksOutputScale(OperationType::MIRROR_PAD, {x, paddingsOf({1, 1, 1, 1}), mode}, x);
  EXPECT_TRUE(inferenceOf(OperationType::MIRROR_PAD,
                          {x, paddingsOf({1, 1, 1, 1}), unknownValue(INT32)}, {outputLike(x)})
                  .ok());
  EXPECT_EQ(inferenceOf(OperationType::MIRROR_PAD, {x, unknownValue(TENSOR_INT32, {2, 2}), mode},
                        {outputLike(x)})
                .code(),
            ResultCode::INCOMPLETE);
}

}  // namespace
}  // namespace halyard::ops::testing
