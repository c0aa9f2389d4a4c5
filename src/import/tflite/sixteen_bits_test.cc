// Tests of operators with activations of INT16.
#include "import/tflite/refusals_for_test.h"
#include "import/tflite/single_operator_for_test.h"

namespace halyard::import {
namespace {

using flatbuffers::FlatBufferBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Type = tfl::TensorType;

void scale(SingleOperator& single, int32_t tensor, std::vector<float> scales) {
  TensorSpec& spec = single.writer.tensors[static_cast<size_t>(tensor)];
  spec.zeroPoints.assign(scales.size(), 0);
  spec.scales = std::move(scales);
}

int32_t shorts(SingleOperator& single, std::vector<int32_t> shape, float step,
               const std::vector<int16_t>& values) {
  const int32_t x = single.input(Type::INT16, std::move(shape), bytesOf(values));
  scale(single, x, {step});
  return x;
}

std::vector<int16_t> shortOutput(const SingleOperator& single) {
  return as<int16_t>(single.outputs()[0]);
}

// (5000 * 3 + 4000) * 0.001 * 0.5 = 9.5, (5000 * -2 + 1) * 0.001 * 0.25 = -2.49975
TEST(SixteenBits, FullyConnectedHasWideBiases) {
  SingleOperator single;
  const int32_t x = shorts(single, {1, 1}, 0.001f, {5000});
  const int32_t w = single.constant(Type::INT8, {2, 1}, bytesOf<int8_t>({3, -2}));
  scale(single, w, {0.5f, 0.25f});
  const int32_t b = single.constant(Type::INT64, {2}, bytesOf<int64_t>({4000, 1}));
  scale(single, b, {0.0005f, 0.00025f});
  const int32_t y = single.output(Type::INT16, {1, 2});
  scale(single, y, {0.01f});
  single.writer.node(Op::FULLY_CONNECTED, {x, w, b}, {y}, Opt::FullyConnectedOptions,
                     [](FlatBufferBuilder& f) { return tfl::CreateFullyConnectedOptions(f); });
  EXPECT_EQ(single.refusal(), "");
  EXPECT_THAT(shortOutput(single), ElementsAre(950, -250));
}

TEST(SixteenBits, SumsHaveScalesOfTheirOwn) {
  SingleOperator single;
  const int32_t a = shorts(single, {2}, 0.5f, {10, -32768});
  const int32_t b = shorts(single, {2}, 0.25f, {3, -32768});
  const int32_t y = single.output(Type::INT16, {2});
  scale(single, y, {0.125f});
  single.writer.node(Op::ADD, {a, b}, {y});
  EXPECT_THAT(shortOutput(single), ElementsAre(46, -32768));
}

// Values that are only moved stay as they are, also those of a scale that is no power of two.
TEST(SixteenBits, MovesKeepEveryValue) {
  std::vector<int16_t> values;
  for (int32_t q = INT16_MIN; q <= INT16_MAX; q += 7) values.push_back(static_cast<int16_t>(q));
  const auto count = static_cast<int32_t>(values.size());
  SingleOperator single;
  const int32_t x = shorts(single, {count}, 0.0123f, values);
  const int32_t y = single.output(Type::INT16, {1, count});
  scale(single, y, {0.0123f});
  single.writer.node(Op::RESHAPE, {x, single.intList({1, count})}, {y});
  EXPECT_EQ(shortOutput(single), values);
}

TEST(SixteenBits, BecomeFloatsAndBytes) {
  SingleOperator real;
  const int32_t x = shorts(real, {2}, 0.5f, {3, -4});
  real.writer.node(Op::DEQUANTIZE, {x}, {real.output(Type::FLOAT32, {2})});
  EXPECT_THAT(real.floatOutput(), ElementsAre(1.5f, -2));
  SingleOperator wide;
  const int32_t q = wide.floats({2}, {1.5f, -2});
  const int32_t y = wide.output(Type::INT16, {2});
  scale(wide, y, {0.25f});
  wide.writer.node(Op::QUANTIZE, {q}, {y});
  EXPECT_THAT(shortOutput(wide), ElementsAre(6, -8));
}

TEST(SixteenBits, RefusesIntegersWithoutAScale) {
  SingleOperator plain;
  const int32_t x = plain.input(Type::INT16, {2}, bytesOf<int16_t>({3, -4}));
  plain.writer.node(Op::CAST, {x}, {plain.output(Type::INT32, {2})});
  EXPECT_THAT(plain.refusal(), HasSubstr("tensor 0 't0' is INT16 without a scale"));
  SingleOperator scaled;
  const int32_t s = shorts(scaled, {2}, 0.5f, {3, -4});
  scaled.writer.node(Op::CAST, {s}, {scaled.output(Type::INT32, {2})});
  EXPECT_THAT(scaled.refusal(), HasSubstr("operator CAST of node 0 is not supported: input 0: "
                                          "tensor 0 't0' is INT16, which"));
}

}  // namespace
}  // namespace halyard::import
