// Tests of GATHER_ND, products finer than NNAPI's, and transforms, which become operations of
// halyard.tflite. Also of single indices, packed scalars and slices of integers, which NNAPI
// expresses in other forms.
#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "import/tflite/run_imported_for_test.h"
#include "model/validation/validation.h"
#include "ops/fixed_point.h"

namespace halyard::import {
namespace {

using flatbuffers::FlatBufferBuilder;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Type = tfl::TensorType;

Result<ImportedModel> importPlain(const ModelWriter& w) { return importTflite(w.bytes()); }

// x [2,3] of a type at indices [2,2] of another type; the indices are an input.
ModelWriter gatherNd(Type type, Type indexType) {
  ModelWriter w;
  const bool isQuantised = type == Type::INT8 || type == Type::UINT8;
  const int32_t x =
      isQuantised ? w.quantised("x", type, {2, 3}, 0.5f, 3) : typed(w, "x", type, {2, 3});
  const int32_t indices = typed(w, "indices", indexType, {2, 2});
  const int32_t y = isQuantised ? w.quantised("y", type, {2}, 0.5f, 3) : typed(w, "y", type, {2});
  w.node(Op::GATHER_ND, {x, indices}, {y});
  w.inputs = {x, indices};
  w.outputs = {y};
  return w;
}

TEST(Picking, GatherNdOfEveryType) {
  const std::vector<uint8_t> indices = bytesOf<int32_t>({1, 2, 0, 1});
  for (const Type indexType : {Type::INT32, Type::INT64}) {
    const RunResult floats = runWith(importModel(gatherNd(Type::FLOAT32, indexType)),
                                     {bytesOf<float>({1, 2, 3, 4, 5, 6}), indices});
    ASSERT_TRUE(floats.status.ok()) << floats.status.toString();
    EXPECT_THAT(as<float>(floats.outputs[0]), ElementsAre(6, 2));
    for (const Type type : {Type::INT32, Type::INT64}) {
      const RunResult result = runWith(importModel(gatherNd(type, indexType)),
                                       {bytesOf<int32_t>({1, 2, 3, 4, 5, 6}), indices});
      ASSERT_TRUE(result.status.ok()) << result.status.toString();
      EXPECT_THAT(as<int32_t>(result.outputs[0]), ElementsAre(6, 2));
    }
    for (const Type type : {Type::UINT8, Type::INT8, Type::BOOL}) {
      const RunResult result =
          runWith(importModel(gatherNd(type, indexType)), {{1, 2, 3, 4, 5, 6}, indices});
      ASSERT_TRUE(result.status.ok()) << result.status.toString();
      EXPECT_THAT(result.outputs[0], ElementsAre(6, 2));
    }
  }
}

TEST(Picking, GatherNdOutside) {
  const RunResult result =
      runWith(importModel(gatherNd(Type::FLOAT32, Type::INT32)),
              {bytesOf<float>({1, 2, 3, 4, 5, 6}), bytesOf<int32_t>({0, 0, 1, 3})});
  EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(result.status.message(), HasSubstr("tuple 1 of indices has 3 at 1, expected 0 to 2"));
  const Result<ImportedModel> without = importPlain(gatherNd(Type::FLOAT32, Type::INT32));
  ASSERT_FALSE(without.ok());
  EXPECT_THAT(without.status().message(),
              HasSubstr("operator GATHER_ND of node 0 is not supported: GATHER_ND is an operation "
                        "of the extension halyard.tflite, which no device of the model offers"));
}

// a * b of 8 bits, [4] each.
ModelWriter product(Type type, float scaleA, float scaleB, float scaleOut) {
  ModelWriter w;
  const int32_t a = w.quantised("a", type, {4}, scaleA, 5);
  const int32_t b = w.quantised("b", type, {4}, scaleB, -3 & 0x7f);
  const int32_t y = w.quantised("y", type, {4}, scaleOut, 7);
  w.node(Op::MUL, {a, b}, {y});
  w.inputs = {a, b};
  w.outputs = {y};
  return w;
}

// The output is as fine as the product of the scales, or finer.
TEST(Picking, ProductsFinerThanTheirScales) {
  const std::vector<uint8_t> a = {5, 6, 9, 120}, b = {120, 127, 110, 126};
  for (const float scale : {0.004f, 0.0025f, 0.0007f}) {
    const float ratio = 0.05f * 0.05f / scale;
    for (const Type type : {Type::UINT8, Type::INT8}) {
      const Result<ImportedModel> imported = importModel(product(type, 0.05f, 0.05f, scale));
      ASSERT_TRUE(imported.ok()) << imported.status().toString();
      const bool isFine = scale <= 0.05f * 0.05f;
      EXPECT_THAT(operationsOf(*imported), ElementsAre(isFine ? "QUANTIZED_MUL" : "MUL"));
      if (!isFine) continue;  // NNAPI's own operation
      const RunResult result = runWith(imported, {a, b});
      ASSERT_TRUE(result.status.ok()) << result.status.toString();
      const int least = type == Type::INT8 ? -128 : 0;
      for (size_t i = 0; i < a.size(); ++i) {
        const int32_t units =
            ops::multiplyByFixed((a[i] - 5) * (b[i] - 125), ops::toFixedMultiplier(double{ratio}));
        EXPECT_EQ(result.outputs[0][i],
                  static_cast<uint8_t>(std::clamp(units + 7, least, least + 255)))
            << scale << " " << i;
      }
    }
  }
  const Result<ImportedModel> without = importPlain(product(Type::INT8, 0.05f, 0.05f, 0.0007f));
  ASSERT_FALSE(without.ok());
  EXPECT_THAT(without.status().message(),
              HasSubstr("operator MUL of node 0 is not supported: QUANTIZED_MUL is an operation"));
}

TEST(Picking, SquaresFinerThanTheirScale) {
  ModelWriter w = product(Type::INT8, 0.05f, 0.05f, 0.0007f);
  w.nodes[0].op = Op::SQUARE;
  w.nodes[0].inputs = {0};
  w.inputs = {0};
  const Result<ImportedModel> imported = importModel(w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_THAT(operationsOf(*imported), ElementsAre("QUANTIZED_MUL"));
}

// float [1,2,1,6] -> RFFT2D of [1,8] -> COMPLEX64 [1,2,1,5], as for frames of sound.
struct Spectrum {
  ModelWriter w;
  int32_t x = w.floats("x", {1, 2, 1, 6});
  int32_t y = typed(w, "y", Type::COMPLEX64, {1, 2, 1, 5});

  explicit Spectrum(bool isComputed = false) {
    const int32_t length =
        isComputed ? typed(w, "length", Type::INT32, {2}) : w.intConstant("length", {1, 8});
    w.node(Op::RFFT2D, {x, length}, {y});
    w.inputs = {x};
    if (isComputed) w.inputs.push_back(length);
    w.outputs = {y};
  }
};

const std::vector<float> kWave = {1, -2, 3, 0.5f, 0, 1, 0, 1, 0, -1, 0, 2};

// Returns the real and imaginary parts of all bins, computed as sums.
std::vector<float> binsOf(const std::vector<float>& x) {
  std::vector<float> bins;
  for (size_t row = 0; row < 2; ++row) {
    for (int k = 0; k < 5; ++k) {
      double real = 0, imaginary = 0;
      for (size_t i = 0; i < 6; ++i) {
        const double angle = -2 * std::numbers::pi * k * static_cast<double>(i) / 8;
        real += double{x[row * 6 + i]} * std::cos(angle);
        imaginary += double{x[row * 6 + i]} * std::sin(angle);
      }
      bins.push_back(static_cast<float>(real));
      bins.push_back(static_cast<float>(imaginary));
    }
  }
  return bins;
}

TEST(Picking, TransformAndItsParts) {
  Spectrum s;
  // The dimension of one row is removed.
  const int32_t bins = typed(s.w, "bins", Type::COMPLEX64, {1, 2, 5});
  s.w.node(Op::SQUEEZE, {s.y}, {bins}, Opt::SqueezeOptions, [](FlatBufferBuilder& b) {
    const std::vector<int32_t> axes = {2};
    return tfl::CreateSqueezeOptionsDirect(b, &axes);
  });
  for (const Op op : {Op::COMPLEX_ABS, Op::REAL, Op::IMAG, Op::CAST}) {
    const int32_t part = s.w.floats("part", {1, 2, 5});
    s.w.node(op, {bins}, {part});
    s.w.outputs.push_back(part);
  }
  const Result<ImportedModel> imported = importModel(s.w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_TRUE(validateModel(imported->model).ok());
  EXPECT_EQ(imported->outputs[0].form, ElementForm::COMPLEX64);
  EXPECT_EQ(imported->outputs[0].dims, (Shape{1, 2, 1, 10}));
  EXPECT_EQ(imported->outputs[1].dims, (Shape{1, 2, 5}));
  const RunResult result = runWith(imported, {bytesOf(kWave)});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  const std::vector<float> expected = binsOf(kWave);
  EXPECT_THAT(as<float>(result.outputs[0]), Pointwise(FloatNear(1e-5f), expected));
  for (size_t i = 0; i < 10; ++i) {
    const float re = expected[2 * i], im = expected[2 * i + 1];
    EXPECT_NEAR(as<float>(result.outputs[1])[i], std::hypot(re, im), 1e-5f);
    EXPECT_NEAR(as<float>(result.outputs[2])[i], re, 1e-5f);
    EXPECT_NEAR(as<float>(result.outputs[3])[i], im, 1e-5f);
    EXPECT_NEAR(as<float>(result.outputs[4])[i], re, 1e-5f) << "a cast keeps the real part";
  }
}

TEST(Picking, TransformOfAComputedLength) {
  Spectrum s(/*isComputed=*/true);
  s.w.tensors[static_cast<size_t>(s.y)].shapeSignature = {1, 2, -1, -1};
  const Result<ImportedModel> imported = importModel(s.w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_EQ(imported->outputs[0].dims, (Shape{1, 2, 0, 0}));
  const RunResult result = runWith(imported, {bytesOf(kWave), bytesOf<int32_t>({1, 8})});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_EQ(result.dims[0], (Shape{1, 2, 1, 10}));
  EXPECT_THAT(as<float>(result.outputs[0]), Pointwise(FloatNear(1e-5f), binsOf(kWave)));
  const RunResult wrong = runWith(imported, {bytesOf(kWave), bytesOf<int32_t>({1, 6})});
  EXPECT_THAT(wrong.status.message(), HasSubstr("is 1 and 6, expected powers of two"));
  // The result would have more bytes than the address space.
  const RunResult huge = runWith(imported, {bytesOf(kWave), bytesOf<int32_t>({1 << 30, 1 << 30})});
  EXPECT_FALSE(huge.status.ok());
}

TEST(Picking, ComplexNumbersAreNoOthers) {
  Spectrum s;
  const int32_t sum = typed(s.w, "sum", Type::COMPLEX64, {1, 2, 1, 5});
  s.w.node(Op::ADD, {s.y, s.y}, {sum});
  s.w.outputs = {sum};
  EXPECT_THAT(refusalOf(s.w), HasSubstr("operator ADD of node 1 is not supported: input 0: tensor "
                                        "1 'y' is COMPLEX64, expected real numbers"));
  Spectrum of;
  of.w.node(Op::REAL, {of.x}, {of.w.floats("real", {1, 2, 1, 6})});
  EXPECT_THAT(refusalOf(of.w), HasSubstr("operator REAL of node 1 is not supported: tensor 0 'x' "
                                         "is FLOAT32, expected COMPLEX64"));
  Spectrum cast;
  cast.w.node(Op::CAST, {cast.x}, {typed(cast.w, "wide", Type::COMPLEX64, {1, 2, 1, 6})});
  EXPECT_THAT(refusalOf(cast.w),
              HasSubstr("operator CAST of node 1 is not supported: of FLOAT32 to COMPLEX64"));
}

TEST(Picking, OneIndexTakesItsDimensionAway) {
  ModelWriter w;
  const int32_t x = w.floats("x", {2, 3});
  const int32_t index = typed(w, "index", Type::INT32, {});
  w.tensors.back().data = bytesOf<int32_t>({2});
  const int32_t y = w.floats("y", {2});
  w.node(Op::GATHER, {x, index}, {y}, Opt::GatherOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateGatherOptions(b, 1); });
  w.inputs = {x};
  w.outputs = {y};
  const RunResult result = runWith(importPlain(w), {bytesOf<float>({1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_EQ(result.dims[0], Shape{2});
  EXPECT_THAT(as<float>(result.outputs[0]), ElementsAre(3, 6));
  w.tensors[static_cast<size_t>(y)].shape = {};  // only the operator knows it
  const RunResult inferred = runWith(importPlain(w), {bytesOf<float>({1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(inferred.status.ok()) << inferred.status.toString();
  EXPECT_EQ(inferred.dims[0], Shape{2});
}

TEST(Picking, ScalarsArePacked) {
  ModelWriter w;
  const int32_t x = w.floats("x", {3});
  std::vector<int32_t> parts;
  for (int32_t at : {2, 0}) {
    const int32_t index = typed(w, "index", Type::INT32, {});
    w.tensors.back().data = bytesOf<int32_t>({at});
    parts.push_back(w.floats("part", {}));
    w.node(Op::GATHER, {x, index}, {parts.back()}, Opt::GatherOptions,
           [](FlatBufferBuilder& b) { return tfl::CreateGatherOptions(b, 0); });
  }
  const int32_t y = w.floats("y", {2});
  w.node(Op::PACK, parts, {y}, Opt::PackOptions,
         [](FlatBufferBuilder& b) { return tfl::CreatePackOptions(b, 2, 0); });
  w.inputs = {x};
  w.outputs = {y};
  const RunResult result = runWith(importPlain(w), {bytesOf<float>({7, 8, 9})});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_EQ(result.dims[0], Shape{2});
  EXPECT_THAT(as<float>(result.outputs[0]), ElementsAre(9, 7));
}

struct Slice {
  std::vector<int32_t> begin, end, strides;
  int32_t beginMask, endMask, ellipsisMask, newAxisMask, shrinkMask;
  std::vector<int32_t> shape;
  std::vector<int32_t> expected;  // positions in x [2,3,4]
};

ModelWriter slicing(const Slice& slice, Type type) {
  ModelWriter w;
  const int32_t x = typed(w, "x", type, {2, 3, 4});
  const int32_t begin = w.intConstant("begin", slice.begin);
  const int32_t end = w.intConstant("end", slice.end);
  const int32_t strides = w.intConstant("strides", slice.strides);
  const int32_t y = typed(w, "y", type, slice.shape);
  w.node(Op::STRIDED_SLICE, {x, begin, end, strides}, {y}, Opt::StridedSliceOptions,
         [=](FlatBufferBuilder& b) {
           return tfl::CreateStridedSliceOptions(b, slice.beginMask, slice.endMask,
                                                 slice.ellipsisMask, slice.newAxisMask,
                                                 slice.shrinkMask);
         });
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

TEST(Picking, SlicesOfFloatsAndIntegers) {
  const Slice slices[] = {
      // x[1, ::2, -1]
      {{1, 0, -1}, {2, 3, 0}, {1, 2, 1}, 0, 0, 0, 0, 5, {2}, {15, 23}},
      // x[:, ::-1, 1:3]
      {{0, 0, 1},
       {0, 0, 3},
       {1, -1, 1},
       3,
       3,
       0,
       0,
       0,
       {2, 3, 2},
       {9, 10, 5, 6, 1, 2, 21, 22, 17, 18, 13, 14}},
      // x[..., 3]
      {{0, 3}, {0, 4}, {1, 1}, 0, 0, 1, 0, 2, {2, 3}, {3, 7, 11, 15, 19, 23}},
      // x[newaxis, 1, 2, newaxis, 0:2]
      {{0, 1, 2, 0, 0}, {0, 2, 3, 0, 2}, {1, 1, 1, 1, 1}, 0, 0, 0, 9, 6, {1, 1, 2}, {20, 21}},
      // x[1]
      {{1}, {2}, {1}, 0, 0, 0, 0, 1, {3, 4}, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
      // x[0, 1, 2]
      {{0, 1, 2}, {1, 2, 3}, {1, 1, 1}, 0, 0, 0, 0, 7, {}, {6}},
  };
  std::vector<int32_t> places(24);
  for (int32_t i = 0; i < 24; ++i) places[static_cast<size_t>(i)] = i;
  const std::vector<float> reals(places.begin(), places.end());
  for (const Slice& slice : slices) {
    for (const Type type : {Type::INT32, Type::INT64}) {
      const RunResult result = runWith(importPlain(slicing(slice, type)), {bytesOf(places)});
      ASSERT_TRUE(result.status.ok()) << result.status.toString();
      EXPECT_EQ(as<int32_t>(result.outputs[0]), slice.expected);
    }
    const RunResult result = runWith(importPlain(slicing(slice, Type::FLOAT32)), {bytesOf(reals)});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(as<float>(result.outputs[0]),
              std::vector<float>(slice.expected.begin(), slice.expected.end()));
  }
}

TEST(Picking, ListsWithoutElementsAreSplitOffAndConcatenated) {
  ModelWriter w;
  const int32_t x = typed(w, "x", Type::INT32, {3});
  const int32_t sizes = w.intConstant("sizes", {1, 2, 0});
  const int32_t axis = w.intConstant("axis", {0});
  const int32_t first = typed(w, "first", Type::INT32, {1});
  const int32_t rest = typed(w, "rest", Type::INT32, {2});
  const int32_t none = typed(w, "none", Type::INT32, {0});
  const int32_t y = typed(w, "y", Type::INT32, {3});
  w.node(Op::SPLIT_V, {x, sizes, axis}, {first, rest, none}, Opt::SplitVOptions,
         [](FlatBufferBuilder& f) { return tfl::CreateSplitVOptions(f, 3); });
  w.node(Op::CONCATENATION, {none, rest, first}, {y}, Opt::ConcatenationOptions,
         [](FlatBufferBuilder& f) { return tfl::CreateConcatenationOptions(f, 0); });
  w.inputs = {x};
  w.outputs = {y};
  const RunResult result = runWith(importPlain(w), {bytesOf<int32_t>({7, 8, 9})});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(as<int32_t>(result.outputs[0]), ElementsAre(8, 9, 7));
  w.nodes[1].inputs = {none, none};
  EXPECT_THAT(importPlain(w).status().message(),
              HasSubstr("all inputs are lists without elements"));
  w.nodes[1] = w.nodes[0];
  w.nodes[1].inputs[0] = none;
  EXPECT_THAT(importPlain(w).status().message(), HasSubstr("'none'"));
}

TEST(Picking, IntegersAreConcatenated) {
  ModelWriter w;
  const int32_t a = typed(w, "a", Type::INT32, {2, 1});
  const int32_t b = typed(w, "b", Type::INT32, {2, 1});
  const int32_t y = typed(w, "y", Type::INT32, {2, 2});
  w.node(Op::CONCATENATION, {a, b}, {y}, Opt::ConcatenationOptions,
         [](FlatBufferBuilder& f) { return tfl::CreateConcatenationOptions(f, 1); });
  w.inputs = {a, b};
  w.outputs = {y};
  const RunResult result =
      runWith(importPlain(w), {bytesOf<int32_t>({1, 2}), bytesOf<int32_t>({3, 4})});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(as<int32_t>(result.outputs[0]), ElementsAre(1, 3, 2, 4));
  w.tensors[1].shape = {2, 2};
  w.tensors[2].shape = {2, 3};
  const RunResult parts =
      runWith(importModel(w), {bytesOf<int32_t>({1, 2}), bytesOf<int32_t>({3, 4, 5, 6})});
  ASSERT_TRUE(parts.status.ok()) << parts.status.toString();
  EXPECT_THAT(as<int32_t>(parts.outputs[0]), ElementsAre(1, 3, 4, 2, 5, 6));
  const Result<ImportedModel> without = importPlain(w);
  ASSERT_FALSE(without.ok());
  EXPECT_THAT(without.status().message(),
              HasSubstr("DYNAMIC_UPDATE_SLICE is an operation of the extension halyard.tflite"));
}

}  // namespace
}  // namespace halyard::import
