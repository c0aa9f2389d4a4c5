// Tests of the file's INT64 as TENSOR_INT32. It is allowed where values are only moved, compared or
// counted.
#include <gmock/gmock.h>

#include "import/tflite/run_imported_for_test.h"
#include "model/validation/validation.h"

namespace halyard::import {
namespace {

using flatbuffers::FlatBufferBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Type = tfl::TensorType;

int32_t wideConstant(ModelWriter& w, const char* name, std::vector<int32_t> shape,
                     const std::vector<int64_t>& values) {
  const int32_t index = typed(w, name, Type::INT64, std::move(shape));
  w.tensors.back().data = bytesOf(values);
  return index;
}

// float [2,3] -> ARG_MAX (or ARG_MIN) of INT64, along an axis of INT64.
ModelWriter argument(Op op) {
  ModelWriter w;
  const int32_t x = w.floats("x", {2, 3});
  const int32_t axis = wideConstant(w, "axis", {}, {-1});
  const int32_t y = typed(w, "y", Type::INT64, {2});
  if (op == Op::ARG_MAX) {
    w.node(op, {x, axis}, {y}, Opt::ArgMaxOptions,
           [](FlatBufferBuilder& b) { return tfl::CreateArgMaxOptions(b, Type::INT64); });
  } else {
    w.node(op, {x, axis}, {y}, Opt::ArgMinOptions,
           [](FlatBufferBuilder& b) { return tfl::CreateArgMinOptions(b, Type::INT64); });
  }
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

const std::vector<uint8_t> kTwoRows = bytesOf<float>({0.5f, 2, 1, 7, -3, 7});

TEST(WideIntegers, ArgMaxOfInt64) {
  const Result<ImportedModel> imported = importModel(argument(Op::ARG_MAX));
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_EQ(imported->outputs[0].type, OperandType::TENSOR_INT32);
  EXPECT_EQ(imported->outputs[0].form, ElementForm::INT64);
  EXPECT_EQ(imported->inputs[0].form, ElementForm::SAME);
  const RunResult result = runWith(imported, {kTwoRows});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(as<int32_t>(result.outputs[0]), ElementsAre(1, 0));
  const RunResult least = runWith(importModel(argument(Op::ARG_MIN)), {kTwoRows});
  ASSERT_TRUE(least.status.ok()) << least.status.toString();
  EXPECT_THAT(as<int32_t>(least.outputs[0]), ElementsAre(0, 1));
}

// The readers of such values: casts, comparisons, and operators that pick by index.
TEST(WideIntegers, AreReadByWhatCountsWithThem) {
  ModelWriter w = argument(Op::ARG_MAX);
  const int32_t best = w.outputs[0];
  const int32_t narrow = typed(w, "narrow", Type::INT32, {2});
  w.node(Op::CAST, {best}, {narrow});
  const int32_t real = w.floats("real", {2});
  w.node(Op::CAST, {best}, {real});
  const int32_t table = w.floatConstant("table", {3, 2}, {1, 2, 3, 4, 5, 6});
  const int32_t rows = w.floats("rows", {2, 2});
  w.node(Op::GATHER, {table, best}, {rows}, Opt::GatherOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateGatherOptions(b, 0); });
  const int32_t one = wideConstant(w, "one", {1}, {1});
  const int32_t equal = typed(w, "equal", Type::BOOL, {2});
  w.node(Op::EQUAL, {best, one}, {equal});
  const int32_t wider = typed(w, "wider", Type::INT64, {2});
  w.node(Op::CAST, {narrow}, {wider});
  w.outputs = {best, narrow, real, rows, equal, wider};
  const Result<ImportedModel> imported = importModel(w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_TRUE(validateModel(imported->model).ok());
  EXPECT_EQ(imported->outputs[1].form, ElementForm::SAME);
  EXPECT_EQ(imported->outputs[5].form, ElementForm::INT64);
  const RunResult result = runWith(imported, {kTwoRows});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(as<int32_t>(result.outputs[1]), ElementsAre(1, 0));
  EXPECT_THAT(as<float>(result.outputs[2]), ElementsAre(1, 0));
  EXPECT_THAT(as<float>(result.outputs[3]), ElementsAre(3, 4, 1, 2));
  EXPECT_THAT(result.outputs[4], ElementsAre(1, 0));
  EXPECT_THAT(as<int32_t>(result.outputs[5]), ElementsAre(1, 0));
}

TEST(WideIntegers, AsInputs) {
  ModelWriter w;
  const int32_t ids = typed(w, "ids", Type::INT64, {3});
  const int32_t table = w.floatConstant("table", {4, 1}, {10, 11, 12, 13});
  const int32_t y = w.floats("y", {3, 1});
  w.node(Op::GATHER, {table, ids}, {y}, Opt::GatherOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateGatherOptions(b, 0); });
  w.inputs = {ids};
  w.outputs = {y};
  const Result<ImportedModel> imported = importModel(w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_EQ(imported->inputs[0].form, ElementForm::INT64);
  const RunResult result = runWith(imported, {bytesOf<int32_t>({3, 0, 2})});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(as<float>(result.outputs[0]), ElementsAre(13, 10, 12));
}

// A constant that does not fit 32 bits, and results that might not fit.
TEST(WideIntegers, RefusesWhatNeedsThem) {
  ModelWriter large = argument(Op::ARG_MAX);
  const int32_t limit = wideConstant(large, "limit", {1}, {int64_t{1} << 40});
  const int32_t less = typed(large, "less", Type::BOOL, {2});
  large.node(Op::LESS, {2, limit}, {less});
  large.outputs = {less};
  EXPECT_THAT(refusalOf(large),
              HasSubstr("operator LESS of node 1 is not supported: input 1: tensor 3 'limit' is "
                        "INT64 and has the value 1099511627776, NNAPI's integers have 32 bits"));
  ModelWriter sum = argument(Op::ARG_MAX);
  const int32_t y = typed(sum, "sum", Type::INT64, {2});
  sum.node(Op::ADD, {2, 2}, {y});
  sum.outputs = {y};
  EXPECT_THAT(refusalOf(sum),
              HasSubstr("operator ADD of node 1 is not supported: input 0: tensor 2 'y' is INT64: "
                        "NNAPI's integers have 32 bits, results may need more"));
  ModelWriter cast = argument(Op::ARG_MAX);
  cast.nodes.clear();
  cast.node(Op::CAST, {0}, {typed(cast, "cast", Type::INT64, {2, 3})});
  cast.outputs = {3};
  EXPECT_THAT(refusalOf(cast), HasSubstr("operator CAST of node 0 is not supported: of floats to "
                                         "INT64 (tensor 3 'cast')"));
}

// Constants of INT64 are computed with 64 bits, and the result must fit 32.
TEST(WideIntegers, ConstantsAreComputedExactly) {
  for (const int64_t factor : {int64_t{2}, int64_t{1} << 20}) {
    ModelWriter w = argument(Op::ARG_MAX);
    const int32_t a = wideConstant(w, "a", {2}, {3, 1 << 20});
    const int32_t b = wideConstant(w, "b", {1}, {factor});
    const int32_t product = typed(w, "product", Type::INT64, {2});
    w.node(Op::MUL, {a, b}, {product});
    const int32_t less = typed(w, "less", Type::BOOL, {2});
    w.node(Op::LESS, {2, product}, {less});
    w.outputs = {less};
    if (factor == 2) {
      EXPECT_EQ(refusalOf(w), "");
      EXPECT_THAT(operationsOf(*importModel(w)), ElementsAre("ARGMAX", "LESS"));
    } else {
      EXPECT_THAT(refusalOf(w), HasSubstr("operator MUL of node 1 is not supported: the constant "
                                          "result 1099511627776 needs more than 32 bits"));
    }
  }
}

}  // namespace
}  // namespace halyard::import
