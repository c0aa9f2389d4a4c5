// Tests of SHAPE and the chains of operators that exporters build on it. They become constants if
// dimensions are known, and operations if only an execution knows them.
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

int32_t ints(ModelWriter& w, const char* name, std::vector<int32_t> shape,
             Type type = Type::INT32) {
  TensorSpec spec;
  spec.name = name;
  spec.type = type;
  spec.shape = std::move(shape);
  return w.tensor(std::move(spec));
}

int32_t scalarConstant(ModelWriter& w, int32_t value) {
  const int32_t index = ints(w, "scalar", {});
  w.tensors.back().data = bytesOf({value});
  return index;
}

// Returns element `at` of a list as a scalar: list[at].
int32_t element(ModelWriter& w, int32_t list, int32_t at, Type type) {
  const int32_t begin = w.intConstant("begin", {at});
  const int32_t end = w.intConstant("end", {at + 1});
  const int32_t stride = w.intConstant("stride", {1});
  const int32_t y = ints(w, "element", {}, type);
  w.node(Op::STRIDED_SLICE, {list, begin, end, stride}, {y}, Opt::StridedSliceOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateStridedSliceOptions(b, 0, 0, 0, 0, 1); });
  return y;
}

void open(ModelWriter& w, int32_t tensor, std::vector<int32_t> signature) {
  w.tensors[static_cast<size_t>(tensor)].shapeSignature = std::move(signature);
}

// float x [1,2,3] with an open batch: SHAPE -> STRIDED_SLICE of the batch -> PACK with 6 ->
// RESHAPE, followed by RELU.
ModelWriter flattening(Type type = Type::INT32) {
  ModelWriter w;
  const int32_t x = w.floats("x", {1, 2, 3});
  open(w, x, {-1, 2, 3});
  const int32_t shape = ints(w, "shape", {3}, type);
  w.node(Op::SHAPE, {x}, {shape});
  const int32_t batch = element(w, shape, 0, type);
  const int32_t six = ints(w, "six", {}, type);
  w.tensors.back().data = type == Type::INT64 ? bytesOf<int64_t>({6}) : bytesOf<int32_t>({6});
  const int32_t target = ints(w, "target", {2}, type);
  w.node(Op::PACK, {batch, six}, {target}, Opt::PackOptions,
         [](FlatBufferBuilder& b) { return tfl::CreatePackOptions(b, 2, 0); });
  const int32_t flat = w.floats("flat", {1, 6});
  open(w, flat, {-1, 6});
  w.node(Op::RESHAPE, {x, target}, {flat});
  const int32_t y = w.floats("y", {1, 6});
  open(w, y, {-1, 6});
  w.node(Op::RELU, {flat}, {y});
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

Result<ImportedModel> importOpen(const ModelWriter& w) {
  return importTflite(w.bytes(), {.names = OperandNames::KEPT,
                                  .extension = ExtensionUse::WHERE_NEEDED,
                                  .keepsOpenDimensions = true});
}

const std::vector<uint8_t> kSix = bytesOf<float>({-1, 2, -3, 4, -5, 6});

// TensorFlow Lite uses the file's batch of 1 in the same way.
TEST(ShapeChains, AreConstantWhereDimensionsAre) {
  for (const Type type : {Type::INT32, Type::INT64}) {
    const Result<ImportedModel> imported = importModel(flattening(type));
    ASSERT_TRUE(imported.ok()) << imported.status().toString();
    EXPECT_TRUE(validateModel(imported->model).ok());
    EXPECT_THAT(operationsOf(*imported), ElementsAre("RESHAPE", "RELU"));
    EXPECT_THAT(constantOf<int32_t>(*imported, inputOf(*imported, 0, 1)), ElementsAre(1, 6));
    const RunResult result = runWith(imported, {kSix});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(result.dims[0], (Shape{1, 6}));
    EXPECT_THAT(as<float>(result.outputs[0]), ElementsAre(0, 2, 0, 4, 0, 6));
  }
}

// The only open dimension follows from the others, so nothing computes it.
TEST(ShapeChains, LeaveOneOpenDimensionToReshape) {
  const Result<ImportedModel> imported = importOpen(flattening());
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_TRUE(validateModel(imported->model).ok());
  EXPECT_THAT(operationsOf(*imported), ElementsAre("RESHAPE", "RELU"));
  EXPECT_TRUE(imported->model.extensionNameToPrefix.empty());
  EXPECT_THAT(constantOf<int32_t>(*imported, inputOf(*imported, 0, 1)), ElementsAre(-1, 6));
  EXPECT_EQ(imported->inputs[0].dims, (Shape{0, 2, 3}));
  for (const uint32_t batch : {1u, 2u, 3u}) {
    std::vector<uint8_t> x;
    for (uint32_t i = 0; i < batch; ++i) x.insert(x.end(), kSix.begin(), kSix.end());
    const RunResult result = runWith(imported, {x}, {{batch, 2, 3}});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(result.dims[0], (Shape{batch, 6}));
    ASSERT_EQ(as<float>(result.outputs[0]).size(), 6 * batch);
    EXPECT_EQ(as<float>(result.outputs[0])[6 * batch - 1], 6);
  }
}

// With two open dimensions, each execution computes SHAPE and the operators after it.
TEST(ShapeChains, AreComputedWhereOnlyAnExecutionKnows) {
  ModelWriter w;
  const int32_t x = w.floats("x", {1, 1, 2});
  open(w, x, {-1, -1, 2});
  const int32_t shape = ints(w, "shape", {3});
  w.node(Op::SHAPE, {x}, {shape});
  const int32_t rows = element(w, shape, 0, Type::INT32);
  const int32_t columns = element(w, shape, 1, Type::INT32);
  const int32_t target = ints(w, "target", {3});
  // Rows and columns change places.
  w.node(Op::PACK, {columns, rows, scalarConstant(w, 2)}, {target}, Opt::PackOptions,
         [](FlatBufferBuilder& b) { return tfl::CreatePackOptions(b, 3, 0); });
  const int32_t y = w.floats("y", {1, 1, 2});
  open(w, y, {-1, -1, 2});
  w.node(Op::RESHAPE, {x, target}, {y});
  const int32_t whole = ints(w, "whole", {3});
  w.node(Op::SHAPE, {y}, {whole});
  w.inputs = {x};
  w.outputs = {y, whole};
  const Result<ImportedModel> imported = importOpen(w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_TRUE(validateModel(imported->model).ok());
  const std::vector<std::string> names = operationsOf(*imported);
  EXPECT_EQ(std::ranges::count(names, "SHAPE"), 2);
  const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const RunResult result = runWith(imported, {bytesOf(values)}, {{3, 2, 2}});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_EQ(result.dims[0], (Shape{2, 3, 2}));
  EXPECT_EQ(as<float>(result.outputs[0]), values);
  EXPECT_THAT(as<int32_t>(result.outputs[1]), ElementsAre(2, 3, 2));
  // Without the extension there is no such operation.
  const Result<ImportedModel> without = importTflite(w.bytes(), {.keepsOpenDimensions = true});
  ASSERT_FALSE(without.ok());
  EXPECT_THAT(without.status().message(),
              HasSubstr("operator SHAPE of node 0 is not supported: SHAPE is an operation of the "
                        "extension halyard.tflite, which no device of the model offers"));
}

// The shape is an input of the execution.
TEST(ShapeChains, ReshapeToAnInput) {
  ModelWriter w;
  const int32_t x = w.floats("x", {2, 3});
  const int32_t target = ints(w, "target", {2});
  const int32_t y = w.floats("y", {1, 1});
  open(w, y, {-1, -1});
  w.node(Op::RESHAPE, {x, target}, {y});
  const int32_t z = w.floats("z", {1, 1});
  open(w, z, {-1, -1});
  w.node(Op::NEG, {y}, {z});
  w.inputs = {x, target};
  w.outputs = {z};
  const Result<ImportedModel> imported = importModel(w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_EQ(imported->outputs[0].dims, (Shape{0, 0}));
  const RunResult result = runWith(imported, {kSix, bytesOf<int32_t>({3, -1})});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_EQ(result.dims[0], (Shape{3, 2}));
  EXPECT_THAT(as<float>(result.outputs[0]), ElementsAre(1, -2, 3, -4, 5, -6));
  const RunResult wrong = runWith(imported, {kSix, bytesOf<int32_t>({4, 2})});
  EXPECT_EQ(wrong.status.code(), ResultCode::OP_FAILED);
}

// Exporters write a layer of more than two dimensions in this way: a product of some dimensions,
// and a list with others.
TEST(ShapeChains, ProductsAndListsOfDimensions) {
  ModelWriter w;
  const int32_t x = w.floats("x", {2, 3, 4});
  const int32_t shape = ints(w, "shape", {3});
  w.node(Op::SHAPE, {x}, {shape});
  const int32_t first = ints(w, "first", {2});
  w.node(Op::GATHER, {shape, w.intConstant("places", {0, 1})}, {first}, Opt::GatherOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateGatherOptions(b, 0); });
  const int32_t product = ints(w, "product", {});
  w.node(Op::REDUCE_PROD, {first, w.intConstant("axis", {0})}, {product});
  const int32_t twice = ints(w, "twice", {});
  w.node(Op::MUL, {product, scalarConstant(w, 2)}, {twice});
  const int32_t half = ints(w, "half", {});
  w.node(Op::FLOOR_DIV, {twice, scalarConstant(w, 2)}, {half});
  const int32_t list = ints(w, "list", {1});
  w.node(Op::PACK, {half}, {list}, Opt::PackOptions,
         [](FlatBufferBuilder& b) { return tfl::CreatePackOptions(b, 1, 0); });
  const int32_t target = ints(w, "target", {3});
  w.node(Op::CONCATENATION, {list, w.intConstant("rest", {2, 2})}, {target},
         Opt::ConcatenationOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateConcatenationOptions(b, 0); });
  const int32_t y = w.floats("y", {6, 2, 2});
  w.node(Op::RESHAPE, {x, target}, {y});
  w.inputs = {x};
  w.outputs = {y};
  const Result<ImportedModel> imported = importModel(w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_THAT(operationsOf(*imported), ElementsAre("RESHAPE"));
}

// Factors of a size are converted to floats in between.
TEST(ShapeChains, OfFactorsOfASize) {
  ModelWriter w;
  const int32_t x = w.floats("x", {1, 2, 3, 1});
  const int32_t shape = ints(w, "shape", {4});
  w.node(Op::SHAPE, {x}, {shape});
  const int32_t size = ints(w, "size", {2});
  w.node(
      Op::STRIDED_SLICE,
      {shape, w.intConstant("begin", {1}), w.intConstant("end", {3}), w.intConstant("stride", {1})},
      {size}, Opt::StridedSliceOptions,
      [](FlatBufferBuilder& b) { return tfl::CreateStridedSliceOptions(b); });
  const int32_t real = w.floats("real", {2});
  w.node(Op::CAST, {size}, {real});
  const int32_t larger = w.floats("larger", {2});
  w.node(Op::MUL, {real, w.floatConstant("factor", {1}, {2.5f})}, {larger});
  const int32_t whole = ints(w, "whole", {2});
  w.node(Op::CAST, {larger}, {whole});
  const int32_t y = w.floats("y", {1, 5, 7, 1});
  w.node(Op::RESIZE_NEAREST_NEIGHBOR, {x, whole}, {y}, Opt::ResizeNearestNeighborOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateResizeNearestNeighborOptions(b); });
  w.inputs = {x};
  w.outputs = {y};
  const Result<ImportedModel> imported = importModel(w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_THAT(operationsOf(*imported), ElementsAre("RESIZE_NEAREST_NEIGHBOR"));
}

// Values that the importer knows can still be outputs, and so can inputs and constants.
TEST(ShapeChains, KnownOutputsAreGiven) {
  ModelWriter w;
  const int32_t x = w.floats("x", {2, 3});
  const int32_t shape = ints(w, "shape", {2}, Type::INT64);
  w.node(Op::SHAPE, {x}, {shape});
  const int32_t constant = w.floatConstant("constant", {2}, {7, 8});
  w.inputs = {x};
  w.outputs = {shape, constant, x};
  const Result<ImportedModel> imported = importModel(w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_TRUE(validateModel(imported->model).ok());
  const RunResult result = runWith(imported, {kSix});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_EQ(imported->outputs[0].form, ElementForm::INT64);
  EXPECT_THAT(as<int32_t>(result.outputs[0]), ElementsAre(2, 3));
  EXPECT_THAT(as<float>(result.outputs[1]), ElementsAre(7, 8));
  EXPECT_EQ(result.outputs[2], kSix);
}

// Dimensions of tensors between operators follow from others, and the file's values for them do not
// count.
TEST(ShapeChains, OpenDimensionsOfTheFileAreInferred) {
  ModelWriter w;
  const int32_t x = w.floats("x", {4, 3});
  const int32_t y = w.floats("y", {1, 3});
  open(w, y, {-1, 3});
  w.node(Op::RELU, {x}, {y});
  w.inputs = {x};
  w.outputs = {y};
  const Result<ImportedModel> imported = importModel(w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_EQ(imported->outputs[0].dims, (Shape{4, 3}));
  w.tensors[1].shapeSignature.clear();
  EXPECT_THAT(refusalOf(w), HasSubstr("output 0 is [1,3] in the file, its inputs make it [4,3]"));
}

// A shape without elements is that of a scalar.
TEST(ShapeChains, ReshapeToAScalar) {
  ModelWriter w;
  const int32_t x = w.floats("x", {1, 1});
  const int32_t y = w.floats("y", {});
  w.node(Op::RESHAPE, {x, ints(w, "no dimensions", {0})}, {y});
  w.inputs = {x};
  w.outputs = {y};
  const RunResult result = runWith(importModel(w), {bytesOf<float>({3})});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(as<float>(result.outputs[0]), ElementsAre(3));
  w.tensors[0].shape = {1, 2};
  EXPECT_THAT(refusalOf(w), HasSubstr("the new shape does not hold the 2 elements of [1,2]"));
}

// Old files have the shape [0] in the options for a scalar.
TEST(ShapeChains, ReshapeToAScalarByOldOptions) {
  ModelWriter w;
  const int32_t x = w.floats("x", {1, 1});
  const int32_t y = w.floats("y", {});
  w.node(Op::RESHAPE, {x}, {y}, Opt::ReshapeOptions, [](FlatBufferBuilder& b) {
    const std::vector<int32_t> shape = {0};
    return tfl::CreateReshapeOptionsDirect(b, &shape);
  });
  w.inputs = {x};
  w.outputs = {y};
  const RunResult result = runWith(importModel(w), {bytesOf<float>({3})});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(as<float>(result.outputs[0]), ElementsAre(3));
}

TEST(ShapeChains, GivenShapesOfInputsAreKnown) {
  const InputShape four[] = {{"x", {4, 2, 3}}};
  const std::vector<uint8_t> file = flattening().bytes();
  const Result<ImportedModel> imported = importTflite(file, {.inputShapes = four});
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_THAT(imported->inputs[0].dims, ElementsAre(4, 2, 3));
  EXPECT_THAT(imported->outputs[0].dims, ElementsAre(4, 6));
  const auto refusal = [&](const InputShape& shape) {
    return importTflite(file, {.inputShapes = {&shape, 1}}).status().toString();
  };
  EXPECT_EQ(refusal({"y", {4, 2, 3}}),
            "BAD_DATA: no input 'y' for the shape [4,2,3]; the model has x");
  EXPECT_EQ(refusal({"x", {4, 3, 3}}),
            "BAD_DATA: model input 0: tensor 0 'x' has the shape [?,2,3] in the file, and [4,3,3] "
            "does not fit");
  EXPECT_THAT(refusal({"x", {4, 6}}), HasSubstr("and [4,6] does not fit"));
  EXPECT_THAT(refusal({"x", {0, 2, 3}}), HasSubstr("and [?,2,3] does not fit"));
}

TEST(ShapeChains, Refuses) {
  ModelWriter w;
  const int32_t x = w.floats("x", {2, 3});
  const int32_t shape = w.floats("shape", {2});
  w.node(Op::SHAPE, {x}, {shape});
  w.inputs = {x};
  w.outputs = {shape};
  EXPECT_THAT(refusalOf(w), HasSubstr("operator SHAPE of node 0: the output (tensor 1 'shape') is "
                                      "FLOAT32, expected INT32 or INT64"));
  w.tensors[1].type = Type::INT32;
  EXPECT_EQ(refusalOf(w), "");
  // A layer that needs a dimension that only an execution knows.
  ModelWriter unknown = flattening();
  unknown.node(Op::UNPACK, {unknown.outputs[0]}, {unknown.floats("part", {6})}, Opt::UnpackOptions,
               [](FlatBufferBuilder& b) { return tfl::CreateUnpackOptions(b, 1, 0); });
  unknown.outputs = {unknown.nodes.back().outputs[0]};
  EXPECT_EQ(refusalOf(unknown), "");
  const Result<ImportedModel> kept = importOpen(unknown);
  ASSERT_FALSE(kept.ok());
  EXPECT_THAT(kept.status().message(),
              HasSubstr("operator UNPACK of node 5 is not supported: input 0: tensor"));
  EXPECT_THAT(kept.status().message(),
              HasSubstr("has the shape [?,6], which only an execution knows"));
}

}  // namespace
}  // namespace halyard::import
