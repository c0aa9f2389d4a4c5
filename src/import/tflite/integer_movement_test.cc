// Tests of operators on integers, booleans and lines, which NNAPI moves in other forms. Also of
// types that become others: bytes without a scale, halves, weights of 4 bits.
#include "base/float16.h"
#include "import/tflite/single_operator_for_test.h"

namespace halyard::import {
namespace {

using flatbuffers::FlatBufferBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Type = tfl::TensorType;

TEST(IntegerMovement, BooleansMove) {
  SingleOperator slice;
  const int32_t x = slice.input(Type::BOOL, {2, 3}, {0, 1, 0, 1, 0, 1});
  slice.writer.node(Op::SLICE, {x, slice.intList({0, 1}), slice.intList({2, 2})},
                    {slice.output(Type::BOOL, {2, 2})});
  EXPECT_THAT(slice.outputs()[0], ElementsAre(1, 0, 0, 1));
  SingleOperator reshape;
  const int32_t flags = reshape.input(Type::BOOL, {2, 2}, {1, 0, 0, 1});
  reshape.writer.node(Op::RESHAPE, {flags, reshape.intList({4})}, {reshape.output(Type::BOOL)});
  EXPECT_THAT(reshape.outputs()[0], ElementsAre(1, 0, 0, 1));
}

TEST(IntegerMovement, IntegersAreTransposed) {
  SingleOperator ints;
  const int32_t x = ints.ints({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  ints.writer.node(Op::TRANSPOSE, {x, ints.intList({2, 0, 1})}, {ints.output(Type::INT32)});
  EXPECT_THAT(ints.intOutput(), ElementsAre(1, 4, 2, 5, 3, 6));
  SingleOperator bools;
  const int32_t flags = bools.input(Type::BOOL, {2, 2}, {1, 1, 0, 0});
  bools.writer.node(Op::TRANSPOSE, {flags, bools.intList({1, 0})}, {bools.output(Type::BOOL)});
  EXPECT_THAT(bools.outputs()[0], ElementsAre(1, 0, 1, 0));
}

TEST(IntegerMovement, IntegersArePadded) {
  SingleOperator single;
  const int32_t x = single.ints({1, 2}, {7, 8});
  const int32_t pads = single.constant(Type::INT32, {2, 2}, bytesOf<int32_t>({1, 0, 0, 1}));
  const int32_t value = single.constant(Type::INT32, {}, bytesOf<int32_t>({-1}));
  single.writer.node(Op::PADV2, {x, pads, value}, {single.output(Type::INT32, {2, 3})});
  EXPECT_THAT(single.intOutput(), ElementsAre(-1, -1, -1, 7, 8, -1));
  single.writer.tensors[1].data = bytesOf<int32_t>({-1, 0, 0, 1});
  EXPECT_THAT(single.refusal(), HasSubstr("paddings -1 and 0 of dimension 0"));
}

TEST(IntegerMovement, BatchesPickFromTheirOwnPart) {
  SingleOperator single;
  const int32_t x = single.floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const int32_t indices = single.ints({2, 2}, {2, 0, 0, 1});
  single.writer.node(Op::GATHER, {x, indices}, {single.output(Type::FLOAT32)}, Opt::GatherOptions,
                     [](FlatBufferBuilder& b) { return tfl::CreateGatherOptions(b, 1, 1); });
  EXPECT_THAT(single.floatOutput(), ElementsAre(3, 1, 4, 5));
}

TEST(IntegerMovement, BatchesDoNotPickFromOtherParts) {
  for (const int32_t outside : {-1, 3, 4, INT32_MIN, INT32_MAX}) {
    for (const size_t batch : {0, 1}) {
      std::vector<int32_t> picks = {0, 0};
      picks[batch] = outside;
      ModelWriter w;
      const int32_t x = w.floats("x", {2, 3});
      const int32_t indices = typed(w, "indices", Type::INT32, {2, 1});
      const int32_t y = w.floats("y", {2, 1});
      w.node(Op::GATHER, {x, indices}, {y}, Opt::GatherOptions,
             [](FlatBufferBuilder& b) { return tfl::CreateGatherOptions(b, 1, 1); });
      w.inputs = {x, indices};
      w.outputs = {y};
      const RunResult result =
          runWith(importModel(w), {bytesOf<float>({1, 2, 3, 4, 5, 6}), bytesOf(picks)});
      EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED) << outside << " in " << batch;
      EXPECT_THAT(result.status.message(), HasSubstr("of indices is -")) << outside;
    }
  }
}

TEST(IntegerMovement, LinesToBatchesAndBack) {
  SingleOperator to;
  const int32_t x = to.floats({1, 3, 1}, {1, 2, 3});
  const int32_t pads = to.constant(Type::INT32, {1, 2}, bytesOf<int32_t>({0, 1}));
  to.writer.node(Op::SPACE_TO_BATCH_ND, {x, to.intList({2}), pads}, {to.output(Type::FLOAT32)});
  EXPECT_THAT(to.floatOutput(), ElementsAre(1, 3, 2, 0));
  SingleOperator from;
  const int32_t y = from.floats({2, 2, 1}, {1, 3, 2, 0});
  const int32_t crops = from.constant(Type::INT32, {1, 2}, bytesOf<int32_t>({0, 1}));
  from.writer.node(Op::BATCH_TO_SPACE_ND, {y, from.intList({2}), crops},
                   {from.output(Type::FLOAT32, {1, 3, 1})});
  EXPECT_THAT(from.floatOutput(), ElementsAre(1, 2, 3));
}

TEST(IntegerMovement, BytesWithoutAScale) {
  for (const Type type : {Type::UINT8, Type::INT8}) {
    SingleOperator cast;
    const int32_t x = cast.input(type, {2}, {3, 100});
    cast.writer.node(Op::CAST, {x}, {cast.output(Type::FLOAT32, {2})});
    EXPECT_THAT(cast.floatOutput(), ElementsAre(3, 100));
    SingleOperator sum;
    const int32_t y = sum.input(type, {2}, {3, 100});
    sum.writer.node(Op::ADD, {y, y}, {sum.output(type, {2})});
    EXPECT_THAT(sum.refusal(), HasSubstr("without a scale"));
  }
}

TEST(IntegerMovement, HalvesBecomeFloats) {
  SingleOperator single;
  const int32_t x =
      single.input(Type::FLOAT16, {2}, bytesOf<Float16>({toFloat16(0.5f), toFloat16(-3)}));
  single.writer.node(Op::DEQUANTIZE, {x}, {single.output(Type::FLOAT32, {2})});
  EXPECT_THAT(single.floatOutput(), ElementsAre(0.5f, -3));
}

// One unit of three weights, or two units with a scale each: 7, -8 and 1, then -1, 2 and 3.
ModelWriter denseOf4Bits(int32_t units) {
  ModelWriter w;
  const int32_t x = w.quantised("x", Type::INT8, {1, 3}, 1, 0);
  TensorSpec weights;
  weights.name = "weights";
  weights.type = Type::INT4;
  weights.shape = {units, 3};
  weights.data =
      units == 1 ? std::vector<uint8_t>{0x87, 0x01} : std::vector<uint8_t>{0x87, 0xf1, 0x32};
  weights.scales = units == 1 ? std::vector<float>{0.5f} : std::vector<float>{0.5f, 2};
  weights.zeroPoints.assign(static_cast<size_t>(units), 0);
  const int32_t f = w.tensor(weights);
  const int32_t y = w.quantised("y", Type::INT8, {1, units}, 0.5f, 0);
  w.node(Op::FULLY_CONNECTED, {x, f}, {y}, Opt::FullyConnectedOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateFullyConnectedOptions(b); });
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

TEST(IntegerMovement, WeightsOf4Bits) {
  for (const int32_t units : {1, 2}) {
    const RunResult result = runWith(importModel(denseOf4Bits(units)), {{2, 1, 3}});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    // (2 * 7 - 8 + 3) * 0.5 / 0.5 and (-2 + 2 + 9) * 2 / 0.5
    EXPECT_EQ(as<int8_t>(result.outputs[0]),
              units == 1 ? std::vector<int8_t>{9} : (std::vector<int8_t>{9, 36}));
  }
  // Activations of floats are rounded to 255 steps.
  ModelWriter real = denseOf4Bits(2);
  for (const int32_t tensor : {0, 2}) {
    real.tensors[static_cast<size_t>(tensor)].type = Type::FLOAT32;
    real.tensors[static_cast<size_t>(tensor)].scales.clear();
  }
  const RunResult result = runWith(importModel(real), {bytesOf<float>({2, 1, 3})});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(as<float>(result.outputs[0]),
              ElementsAre(::testing::FloatNear(4.5f, 0.05f), ::testing::FloatNear(18, 0.1f)));
  ModelWriter damaged = denseOf4Bits(1);
  damaged.tensors[1].data.pop_back();
  const Result<ImportedModel> imported = importModel(damaged);
  ASSERT_FALSE(imported.ok());
  EXPECT_THAT(imported.status().message(), HasSubstr("has 1 bytes, 3 elements of 4 bits need 2"));
}

}  // namespace
}  // namespace halyard::import
