// Tests of the importer as a whole: files, ports, names, constants.
#include "import/tflite/importer.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/temporary_folder_for_test.h"
#include "import/tflite/import_for_test.h"
#include "import/tflite/sample_models.h"
#include "model/dump.h"
#include "model/validation/validation.h"
#include "test_definitions.h"

namespace halyard::import {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SampleModels : public ::testing::TestWithParam<Sample> {};

TEST_P(SampleModels, AreImportedAndValid) {
  const Result<ImportedModel> imported = importModel(GetParam().model);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  const Result<FeatureLevel> level = validateModel(imported->model);
  EXPECT_TRUE(level.ok()) << level.status().toString();
  EXPECT_EQ(imported->operandNames.size(), imported->model.main.operands.size());
  EXPECT_EQ(imported->inputs.size(), GetParam().model.inputs.size());
  EXPECT_EQ(imported->outputs.size(), GetParam().model.outputs.size());
  EXPECT_FALSE(modelText(imported->model, imported->operandNames).empty());
  for (const Operand& operand : imported->model.main.operands) {
    if (isScalarType(operand.type) || operand.lifetime == Lifetime::NO_VALUE) continue;
    EXPECT_TRUE(knownByteSize(operand.type, operand.dimensions)) << operandText(operand);
  }
}

TEST_P(SampleModels, AreTheSeedsOfTheFuzzer) {
  const std::string path = std::string(HALYARD_SOURCE_DIR "/src/import/tflite/fuzz_corpus/") +
                           GetParam().name + ".tflite";
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing; run write_fuzz_corpus";
  const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(bytes, GetParam().model.bytes()) << path << " is outdated; run write_fuzz_corpus";
}

INSTANTIATE_TEST_SUITE_P(All, SampleModels, ::testing::ValuesIn(sampleModels()),
                         [](const auto& sample) { return sample.param.name; });

TEST(Importer, DescribesPorts) {
  const Result<ImportedModel> imported = importModel(uint8Arithmetic());
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  ASSERT_EQ(imported->inputs.size(), 2u);
  ASSERT_EQ(imported->outputs.size(), 2u);
  const ModelPort& a = imported->inputs[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.type, OperandType::TENSOR_QUANT8_ASYMM);
  EXPECT_EQ(a.dims, (Shape{1, 2, 2, 1}));
  EXPECT_EQ(a.scale, 0.5f);
  EXPECT_EQ(a.zeroPoint, 100);
  EXPECT_EQ(imported->inputs[1].name, "b");
  EXPECT_EQ(imported->outputs[0].name, "product");
  EXPECT_EQ(imported->outputs[1].name, "sum");
  EXPECT_EQ(imported->description, "made by a test");
  const Subgraph& main = imported->model.main;
  EXPECT_EQ(imported->operandNames[main.outputIndexes[1]], "sum");
  EXPECT_EQ(main.operands[main.outputIndexes[1]].lifetime, Lifetime::SUBGRAPH_OUTPUT);
  EXPECT_EQ(main.operands[main.inputIndexes[1]].lifetime, Lifetime::SUBGRAPH_INPUT);
}

// x + 0.5, with `count` floats.
ModelWriter sumWithConstant(int32_t count) {
  ModelWriter w;
  const int32_t x = w.floats("x", {1, count});
  const int32_t half =
      w.floatConstant("half", {1, count}, std::vector<float>(static_cast<size_t>(count), 0.5f));
  const int32_t y = w.floats("y", {1, count});
  w.node(tfl::BuiltinOperator::ADD, {x, half}, {y});
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

TEST(Importer, PutsConstantsInAPoolThatAreMoreThanAPage) {
  for (const int32_t count : {20, 1024, 1040}) {
    const Result<ImportedModel> imported = importModel(sumWithConstant(count));
    ASSERT_TRUE(imported.ok()) << imported.status().toString();
    const bool isInPool = count > 1024;
    EXPECT_EQ(imported->model.pools.size(), isInPool ? 1u : 0u) << count;
    const Operand& half = inputOf(*imported, 0, 1);
    EXPECT_EQ(half.lifetime, isInPool ? Lifetime::CONSTANT_REFERENCE : Lifetime::CONSTANT_COPY);
    EXPECT_EQ(constantOf<float>(*imported, half),
              std::vector<float>(static_cast<size_t>(count), 0.5f));
  }
}

TEST(Importer, ErrorsNameTensorsWhoseNamesAreNotKept) {
  ModelWriter large = sumWithConstant(20);
  large.tensors[0].shape = {65536, 65536};
  EXPECT_THAT(importTflite(large.bytes()).status().message(), ::testing::HasSubstr("tensor 0 'x'"));
  ModelWriter cut = sumWithConstant(20);
  cut.tensors[1].data.pop_back();
  EXPECT_THAT(importTflite(cut.bytes()).status().message(),
              ::testing::HasSubstr("tensor 1 'half'"));
}

TEST(Importer, KeepsFewConstantsInTheModel) {
  const Result<ImportedModel> imported = importModel(floatConvolution());
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  ASSERT_TRUE(imported->model.pools.empty());
  const Operand& filter = inputOf(*imported, 0, 1);
  EXPECT_EQ(filter.lifetime, Lifetime::CONSTANT_COPY);
  const std::vector<float> values = constantOf<float>(*imported, filter);
  ASSERT_EQ(values.size(), 54u);
  EXPECT_EQ(values[0], -1.0f);
  EXPECT_EQ(values[53], 53 * 0.05f - 1.0f);
  const Operand& bias = inputOf(*imported, 0, 2);
  EXPECT_EQ(bias.lifetime, Lifetime::CONSTANT_COPY);
  EXPECT_THAT(constantOf<float>(*imported, bias), ElementsAre(0, 0, 0));
}

TEST(Importer, StoresSharedBuffersOnce) {
  ModelWriter w;
  const int32_t x = w.floats("x", {1, 2000});
  const int32_t first = w.floatConstant("first", {1, 2000}, std::vector<float>(2000, 2.0f));
  const int32_t second = w.floats("second", {1, 2000});
  w.tensors.back().buffer = 1;
  const int32_t h = w.floats("h", {1, 2000});
  const int32_t y = w.floats("y", {1, 2000});
  w.node(tfl::BuiltinOperator::ADD, {x, first}, {h});
  w.node(tfl::BuiltinOperator::ADD, {h, second}, {y});
  w.inputs = {x};
  w.outputs = {y};
  const Result<ImportedModel> imported = importModel(w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_EQ(inputOf(*imported, 0, 1).location.offset, inputOf(*imported, 1, 1).location.offset);
  ASSERT_EQ(imported->model.pools.size(), 1u);
  EXPECT_LT(imported->model.pools[0]->size(), 2u * 8000);
}

TEST(Importer, SharesSmallConstantsBetweenOperations) {
  ModelWriter w;
  const int32_t x = w.floats("x", {1, 4});
  const int32_t weights = w.quantisedConstant("weights", tfl::TensorType::INT8, {4, 4},
                                              std::vector<uint8_t>(16, 3), 0.5f, 0);
  const int32_t h = w.floats("h", {1, 4});
  const int32_t y = w.floats("y", {1, 4});
  for (const auto& [from, to] : {std::pair{x, h}, std::pair{h, y}}) {
    w.node(tfl::BuiltinOperator::FULLY_CONNECTED, {from, weights, -1}, {to},
           tfl::BuiltinOptions::FullyConnectedOptions,
           [](flatbuffers::FlatBufferBuilder& b) { return tfl::CreateFullyConnectedOptions(b); });
  }
  w.inputs = {x};
  w.outputs = {y};
  const Result<ImportedModel> imported = importModel(w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  // The rounding of the first layer's activations has the same constant operands as the second's.
  const Subgraph& main = imported->model.main;
  const size_t half = main.operations.size() / 2;
  ASSERT_EQ(main.operations[half - 1].type, OperationType::FULLY_CONNECTED);
  size_t constants = 0;
  for (size_t i = 0; i < half; ++i) {
    const OperandIndexes& first = main.operations[i].inputs;
    const OperandIndexes& second = main.operations[half + i].inputs;
    ASSERT_EQ(first.size(), second.size()) << i;
    for (size_t k = 0; k < first.size(); ++k) {
      if (main.operands[first[k]].lifetime != Lifetime::CONSTANT_COPY) continue;
      if (main.operations[i].type == OperationType::FULLY_CONNECTED) continue;
      EXPECT_EQ(first[k], second[k]) << "operation " << i << ", input " << k;
      ++constants;
    }
  }
  EXPECT_GT(constants, 8u);
}

TEST(Importer, TakesAModelWithoutInputs) {
  ModelWriter w;
  const int32_t a = w.floatConstant("a", {2}, {1, 2});
  const int32_t y = w.floats("y", {2});
  w.node(tfl::BuiltinOperator::RELU, {a}, {y});
  w.outputs = {y};
  const Result<ImportedModel> imported = importModel(w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_TRUE(imported->inputs.empty());
}

TEST(Importer, AllowsFloat16OnRequest) {
  const std::vector<uint8_t> bytes = uint8Arithmetic().bytes();
  EXPECT_FALSE(importTflite(bytes)->model.relaxComputationFloat32toFloat16);
  EXPECT_TRUE(importTflite(bytes, {.allowFloat16 = true})->model.relaxComputationFloat32toFloat16);
}

TEST(Importer, TakesBytesAtAnyAddress) {
  const std::vector<uint8_t> bytes = denseFloat().bytes();
  for (size_t shift = 0; shift < 9; ++shift) {
    std::vector<uint8_t> moved(shift);
    moved.insert(moved.end(), bytes.begin(), bytes.end());
    const auto imported = importTflite(std::span(moved).subspan(shift));
    EXPECT_TRUE(imported.ok()) << shift << ": " << imported.status().toString();
  }
}

TEST(Importer, MakesNamesPrintable) {
  ModelWriter w = denseFloat();
  w.tensors[0].name = "a\n\xff\xc3\xa9\xed\xa0\x80z";
  w.tensors[3].name = std::string(5000, 'n');
  const Result<ImportedModel> imported = importModel(w);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_EQ(imported->inputs[0].name, "a??\xc3\xa9???z");
  EXPECT_EQ(imported->outputs[0].name, std::string(200, 'n') + "...");
}

TEST(Importer, ReadsAFile) {
  const TemporaryFolder folder("importer");
  const std::string path = folder.path() + "/model.tflite";
  const std::vector<uint8_t> bytes = denseFloat().bytes();
  {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  const Result<ImportedModel> imported = importTfliteFile(path);
  EXPECT_TRUE(imported.ok()) << imported.status().toString();
  std::filesystem::resize_file(path, bytes.size() / 2);
  EXPECT_THAT(importTfliteFile(path).status().message(), StartsWith(path + ": is damaged"));
  std::filesystem::remove(path);
  EXPECT_THAT(importTfliteFile(path).status().message(), StartsWith(path + ": cannot be opened"));
  EXPECT_THAT(importTfliteFile(folder.path()).status().message(),
              HasSubstr("is not a regular file"));
  // Opening must not wait for a writer of the FIFO.
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(importTfliteFile(path).status().message(), HasSubstr("is not a regular file"));
}

TEST(Importer, NumbersOperatorsAsTheFormatDoes) {
  // One name at each end and at the changes of numbering; the schema's list has no numbers.
  EXPECT_EQ(static_cast<int>(tfl::BuiltinOperator::CUSTOM), 32);
  EXPECT_EQ(static_cast<int>(tfl::BuiltinOperator::SOFTMAX), 25);
  EXPECT_EQ(static_cast<int>(tfl::BuiltinOperator::MEAN), 40);
  EXPECT_EQ(static_cast<int>(tfl::BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM), 44);
  EXPECT_EQ(static_cast<int>(tfl::BuiltinOperator::RESIZE_NEAREST_NEIGHBOR), 97);
  EXPECT_EQ(static_cast<int>(tfl::BuiltinOperator::QUANTIZE), 114);
  EXPECT_EQ(static_cast<int>(tfl::BuiltinOperator::PLACEHOLDER_FOR_GREATER_OP_CODES), 127);
  EXPECT_EQ(static_cast<int>(tfl::BuiltinOperator::GELU), 150);
  EXPECT_EQ(static_cast<int>(tfl::BuiltinOperator::STABLEHLO_CASE), 209);
}

// A part of a graph names its nodes by their numbers in the whole.
TEST(Importer, GivesNodesTheirNumbers) {
  ModelWriter w = denseFloat();
  w.nodes[0].inputs = {0};
  const int32_t numbers[] = {7};
  const Result<ImportedModel> damaged = importTflite(w.bytes(), {.nodeNumbers = numbers});
  EXPECT_THAT(damaged.status().toString(),
              HasSubstr("operator FULLY_CONNECTED of node 7: has 1 inputs"));
  w.nodes[0].op = tfl::BuiltinOperator::HASHTABLE;
  const Result<ImportedModel> unknown = importTflite(w.bytes(), {.nodeNumbers = numbers});
  EXPECT_THAT(unknown.status().toString(), HasSubstr("operator HASHTABLE of node 7 is not"));
}

}  // namespace
}  // namespace halyard::import
