// Tests of functions that become operations of halyard.tflite, or several operations.
#include <numeric>

#include "import/tflite/single_operator_for_test.h"

namespace halyard::import {
namespace {

using flatbuffers::FlatBufferBuilder;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Type = tfl::TensorType;

std::vector<float> floatsOf(Op op, const std::vector<float>& values) {
  SingleOperator single;
  const auto count = static_cast<int32_t>(values.size());
  const int32_t x = single.floats({count}, values);
  single.writer.node(op, {x}, {single.output(Type::FLOAT32, {count})});
  return single.floatOutput();
}

TEST(Functions, OfOneElement) {
  EXPECT_THAT(floatsOf(Op::COS, {0}), ElementsAre(1));
  EXPECT_THAT(floatsOf(Op::ROUND, {2.5f, -1.2f}), ElementsAre(2, -1));
  EXPECT_THAT(floatsOf(Op::SIGN, {-3, 0, 0.5f}), ElementsAre(-1, 0, 1));
  EXPECT_THAT(floatsOf(Op::RELU_0_TO_1, {-3, 0.25f, 7}), ElementsAre(0, 0.25f, 1));
  EXPECT_THAT(floatsOf(Op::GELU, {1}), ElementsAre(FloatNear(0.8413447f, 1e-6f)));
}

TEST(Functions, GeluOfBytes) {
  SingleOperator single;
  const int32_t x = single.writer.quantised("x", Type::INT8, {3}, 0.5f, 0);
  const int32_t y = single.writer.quantised("y", Type::INT8, {3}, 0.25f, -10);
  single.writer.node(Op::GELU, {x}, {y});
  single.writer.inputs = {x};
  single.writer.outputs = {y};
  const RunResult result = runWith(importModel(single.writer), {{0, 2, 0xfc}});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  // gelu(0) = 0, gelu(1) = 0.8413 and gelu(-2) = -0.0455.
  EXPECT_THAT(as<int8_t>(result.outputs[0]), ElementsAre(-10, -7, -10));
}

TEST(Functions, OfTwoElements) {
  const auto intsOf = [](Op op, const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
    SingleOperator single;
    const int32_t x = single.ints({static_cast<int32_t>(a.size())}, a);
    const int32_t y = single.ints({static_cast<int32_t>(b.size())}, b);
    single.writer.node(op, {x, y}, {single.output(Type::INT32)});
    return single.intOutput();
  };
  EXPECT_THAT(intsOf(Op::DIV, {-7, 7}, {2}), ElementsAre(-3, 3));
  EXPECT_THAT(intsOf(Op::FLOOR_DIV, {-7, 7}, {2}), ElementsAre(-4, 3));
  EXPECT_THAT(intsOf(Op::FLOOR_MOD, {-7, 7}, {2}), ElementsAre(1, 1));
  EXPECT_THAT(intsOf(Op::BITWISE_XOR, {5}, {3}), ElementsAre(6));
  EXPECT_THAT(intsOf(Op::RIGHT_SHIFT, {-8}, {1}), ElementsAre(-4));
  EXPECT_THAT(intsOf(Op::STABLEHLO_SHIFT_LEFT, {1, -3, 5, (1 << 30) + 1}, {0, 1, 31, 2}),
              ElementsAre(1, -6, INT32_MIN, 4));
}

TEST(Functions, SumsOfSeveralTensors) {
  SingleOperator single;
  std::vector<int32_t> inputs;
  for (const float value : {1.0f, 2.0f, 4.0f}) inputs.push_back(single.floats({1}, {value}));
  single.writer.node(Op::ADD_N, inputs, {single.output(Type::FLOAT32, {1})});
  EXPECT_THAT(single.floatOutput(), ElementsAre(7));
}

TEST(Functions, CastsOfBooleans) {
  SingleOperator from;
  const int32_t flags = from.input(Type::BOOL, {3}, {1, 0, 1});
  from.writer.node(Op::CAST, {flags}, {from.output(Type::FLOAT32, {3})});
  EXPECT_THAT(from.floatOutput(), ElementsAre(1, 0, 1));
  SingleOperator to;
  const int32_t numbers = to.floats({3}, {0.5f, 0, -2});
  to.writer.node(Op::CAST, {numbers}, {to.output(Type::BOOL, {3})});
  EXPECT_THAT(to.outputs()[0], ElementsAre(1, 0, 1));
}

// TFLite keeps the low 8 bits of an integer.
TEST(Functions, CastsOfIntegersToBytesWrap) {
  SingleOperator single;
  const int32_t x = single.ints({6}, {-1, 300, 0, 255, INT32_MIN, INT32_MAX});
  single.writer.node(Op::CAST, {x}, {single.output(Type::UINT8, {6})});
  EXPECT_THAT(single.outputs()[0], ElementsAre(255, 44, 0, 255, 0, 255));
}

TEST(Functions, SelectionsBroadcast) {
  SingleOperator wide;
  const int32_t condition = wide.input(Type::BOOL, {2, 1}, {1, 0});
  const int32_t x = wide.floats({2, 2}, {1, 2, 3, 4});
  const int32_t rest = wide.floats({1}, {9});
  wide.writer.node(Op::SELECT_V2, {condition, x, rest}, {wide.output(Type::FLOAT32, {2, 2})});
  EXPECT_THAT(wide.floatOutput(), ElementsAre(1, 2, 9, 9));
  SingleOperator rows;
  const int32_t flags = rows.input(Type::BOOL, {2}, {0, 1});
  const int32_t a = rows.ints({2, 2}, {1, 2, 3, 4});
  const int32_t b = rows.ints({2, 2}, {5, 6, 7, 8});
  rows.writer.node(Op::SELECT, {flags, a, b}, {rows.output(Type::INT32, {2, 2})});
  EXPECT_THAT(rows.intOutput(), ElementsAre(5, 6, 3, 4));
}

TEST(Functions, ProductsBroadcastMatrices) {
  SingleOperator single;
  const int32_t a = single.floats({2, 1, 2}, {1, 2, 3, 4});
  const int32_t b = single.floats({2, 1}, {10, 1});
  single.writer.node(Op::BATCH_MATMUL, {a, b}, {single.output(Type::FLOAT32, {2, 1, 1})});
  EXPECT_THAT(single.floatOutput(), ElementsAre(12, 34));
}

SingleOperator fakeQuant(int32_t bits, bool isNarrow) {
  SingleOperator single;
  const int32_t x = single.floats({4}, {-9, 0.3f, 0.6f, 9});
  single.writer.node(
      Op::FAKE_QUANT, {x}, {single.output(Type::FLOAT32, {4})}, Opt::FakeQuantOptions,
      [=](FlatBufferBuilder& b) { return tfl::CreateFakeQuantOptions(b, -1, 2, bits, isNarrow); });
  return single;
}

TEST(Functions, FakeQuantHasAStepAtZero) {
  // Of two bits, the steps are 1 apart: -1, 0, 1 and 2.
  EXPECT_THAT(fakeQuant(2, false).floatOutput(), ElementsAre(-1, 0, 1, 2));
  EXPECT_THAT(fakeQuant(16, false).refusal(), HasSubstr("16 bits, expected 2 to 8"));
  EXPECT_THAT(fakeQuant(8, true).refusal(), HasSubstr("8 bits with a narrow range"));
}

std::vector<int32_t> reduced(Op op, const std::vector<int32_t>& axes, bool keeps) {
  SingleOperator single;
  const int32_t x = single.ints({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, -9});
  single.writer.node(op, {x, single.intList(axes)}, {single.output(Type::INT32)},
                     Opt::ReducerOptions,
                     [keeps](FlatBufferBuilder& b) { return tfl::CreateReducerOptions(b, keeps); });
  return single.intOutput();
}

TEST(Functions, ReductionsOfIntegers) {
  EXPECT_THAT(reduced(Op::SUM, {1}, false), ElementsAre(4, 6, 12, -3));
  EXPECT_THAT(reduced(Op::SUM, {0, 2}, true), ElementsAre(14, 5));
  EXPECT_THAT(reduced(Op::SUM, {0, 1, 2}, false), ElementsAre(19));
  EXPECT_THAT(reduced(Op::REDUCE_PROD, {-1}, false), ElementsAre(2, 12, 30, -63));
  EXPECT_THAT(reduced(Op::REDUCE_MAX, {0}, false), ElementsAre(5, 6, 7, 4));
  EXPECT_THAT(reduced(Op::REDUCE_MIN, {0}, false), ElementsAre(1, 2, 3, -9));
  // The mean of 5, 6, 7 and -9 is 2.25.
  EXPECT_THAT(reduced(Op::MEAN, {1, 2}, false), ElementsAre(2, 2));
}

// The expected values are 64-bit sums divided towards zero.
TEST(Functions, MeansOfIntegersWhoseSumsExceed32Bits) {
  const std::vector<std::vector<int32_t>> rows = {
      {1 << 30, 1 << 30, 1 << 30, 1 << 30},
      {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX},
      {INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN},
      {INT32_MIN, INT32_MAX, 0, 0},
      {INT32_MIN, INT32_MIN, INT32_MIN, INT32_MAX},
      {-1, -1, -1, 0},
      {-1, 0, 0, 0},
      {-3, -2, 0, 0},
      {3, 2, 1, 1},
      {3, 0, 0, -4},
      {-4, -4, 4, 5},
  };
  std::vector<int32_t> values, expected;
  for (const std::vector<int32_t>& row : rows) {
    values.insert(values.end(), row.begin(), row.end());
    expected.push_back(
        static_cast<int32_t>(std::accumulate(row.begin(), row.end(), int64_t{0}) / 4));
  }
  SingleOperator single;
  const auto count = static_cast<int32_t>(rows.size());
  const int32_t x = single.ints({count, 4}, values);
  single.writer.node(Op::MEAN, {x, single.intList({1})}, {single.output(Type::INT32, {count})});
  EXPECT_EQ(single.intOutput(), expected);
}

TEST(Functions, MeansOfIntegersHaveALimit) {
  const auto meanOf = [](int32_t count) {
    SingleOperator single;
    const int32_t x = single.ints({count}, std::vector<int32_t>(static_cast<size_t>(count), -7));
    single.writer.node(Op::MEAN, {x, single.intList({0})}, {single.output(Type::INT32, {1})});
    return single;
  };
  EXPECT_THAT(meanOf(46340).intOutput(), ElementsAre(-7));
  EXPECT_THAT(meanOf(46341).refusal(),
              HasSubstr("operator MEAN of node 0 is not supported: of 46341 integers each, at most "
                        "46340 are supported"));
}

// Of equal values, the one with the smaller index is first.
TEST(Functions, TopOfEqualValues) {
  const auto topOf = [](Type type, std::vector<uint8_t> values, int32_t count) {
    SingleOperator single;
    const int32_t x = single.input(type, {2, 5}, std::move(values));
    const int32_t k = single.constant(Type::INT32, {}, bytesOf<int32_t>({count}));
    const int32_t top = single.output(type, {2, count});
    single.writer.node(Op::TOPK_V2, {x, k}, {top, single.output(Type::INT32, {2, count})});
    return single.outputs();
  };
  const auto floats = topOf(Type::FLOAT32, bytesOf<float>({0, 1, 0, 0, 0, 2, 2, -1, 2, -1}), 3);
  EXPECT_THAT(as<float>(floats[0]), ElementsAre(1, 0, 0, 2, 2, 2));
  EXPECT_THAT(as<int32_t>(floats[1]), ElementsAre(1, 0, 2, 0, 1, 3));
  const auto ints = topOf(Type::INT32, bytesOf<int32_t>({0, 1, 0, 0, 0, 2, 2, -1, 2, -1}), 4);
  EXPECT_THAT(as<int32_t>(ints[0]), ElementsAre(1, 0, 0, 0, 2, 2, 2, -1));
  EXPECT_THAT(as<int32_t>(ints[1]), ElementsAre(1, 0, 2, 3, 0, 1, 3, 2));
}

TEST(Functions, TopOfEqualBytes) {
  for (const Type type : {Type::UINT8, Type::INT8}) {
    ModelWriter w;
    const int32_t x = w.quantised("x", type, {5}, 0.5f, 3);
    const int32_t k = w.tensor({.name = "k", .type = Type::INT32, .data = bytesOf<int32_t>({3})});
    const int32_t values = w.quantised("values", type, {3}, 0.5f, 3);
    const int32_t indices = typed(w, "indices", Type::INT32, {3});
    w.node(Op::TOPK_V2, {x, k}, {values, indices});
    w.inputs = {x};
    w.outputs = {values, indices};
    const RunResult result = runWith(importModel(w), {{4, 9, 4, 9, 4}});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_THAT(result.outputs[0], ElementsAre(9, 9, 4));
    EXPECT_THAT(as<int32_t>(result.outputs[1]), ElementsAre(1, 3, 0));
  }
}

// The number of elements becomes known with the execution.
TEST(Functions, TopOfAnOpenDimension) {
  ModelWriter w;
  const int32_t x = w.floats("x", {2, 1});
  w.tensors[0].shapeSignature = {2, -1};
  const int32_t k = w.tensor({.name = "k", .type = Type::INT32, .data = bytesOf<int32_t>({2})});
  const int32_t values = w.floats("values", {2, 2});
  const int32_t indices = typed(w, "indices", Type::INT32, {2, 2});
  w.node(Op::TOPK_V2, {x, k}, {values, indices});
  w.inputs = {x};
  w.outputs = {values, indices};
  const Result<ImportedModel> imported = importTflite(
      w.bytes(), {.extension = ExtensionUse::WHERE_NEEDED, .keepsOpenDimensions = true});
  const RunResult result = runWith(imported, {bytesOf<float>({0, 0, 0, 5, 5, 7})}, {Shape{2, 3}});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(as<float>(result.outputs[0]), ElementsAre(0, 0, 7, 5));
  EXPECT_THAT(as<int32_t>(result.outputs[1]), ElementsAre(0, 1, 2, 0));
}

}  // namespace
}  // namespace halyard::import
