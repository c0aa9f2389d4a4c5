// Tests that damaged files give errors and do no other harm.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "import/tflite/flat_reader.h"
#include "import/tflite/import_for_test.h"
#include "import/tflite/sample_models.h"
#include "model/dump.h"
#include "model/validation/validation.h"
#include "test_definitions.h"

namespace halyard::import {
namespace {

// Imports arbitrary bytes. An accepted model must be valid.
void tryImport(const std::vector<uint8_t>& bytes, ExtensionUse extension) {
  // Open dimensions are tried with one of the extension's settings.
  const Result<ImportedModel> imported =
      importTflite(bytes, {.names = OperandNames::KEPT,
                           .extension = extension,
                           .keepsOpenDimensions = extension == ExtensionUse::WHERE_NEEDED});
  if (!imported.ok()) {
    ASSERT_EQ(imported.status().code(), ResultCode::BAD_DATA) << imported.status().toString();
    ASSERT_FALSE(imported.status().message().empty());
    return;
  }
  const Result<FeatureLevel> level = validateModel(imported->model);
  ASSERT_TRUE(level.ok()) << level.status().toString();
  ASSERT_FALSE(modelText(imported->model, imported->operandNames).empty());
}

void tryImport(const std::vector<uint8_t>& bytes) {
  for (const ExtensionUse extension :
       {ExtensionUse::NONE, ExtensionUse::WHERE_NEEDED, ExtensionUse::PREFERRED}) {
    ASSERT_NO_FATAL_FAILURE(tryImport(bytes, extension));
  }
}

class Damage : public ::testing::TestWithParam<Sample> {};

TEST_P(Damage, EveryTruncation) {
  const std::vector<uint8_t> good = GetParam().model.bytes();
  for (size_t length = 0; length < good.size(); ++length) {
    // A separate block for each length, so that the address sanitizer detects a read beyond it.
    const std::vector<uint8_t> cut(good.begin(),
                                   good.begin() + static_cast<std::ptrdiff_t>(length));
    ASSERT_NO_FATAL_FAILURE(tryImport(cut)) << "length " << length;
  }
}

TEST_P(Damage, EveryByteOnce) {
  const std::vector<uint8_t> good = GetParam().model.bytes();
  for (size_t i = 0; i < good.size(); ++i) {
    for (uint8_t value : {uint8_t{0x00}, uint8_t{0x7f}, uint8_t{0x80}, uint8_t{0xff},
                          static_cast<uint8_t>(good[i] + 1), static_cast<uint8_t>(good[i] - 1)}) {
      std::vector<uint8_t> bytes = good;
      bytes[i] = value;
      ASSERT_NO_FATAL_FAILURE(tryImport(bytes)) << "byte " << i << " = " << int{value};
    }
  }
}

TEST_P(Damage, RandomFlips) {
  const std::vector<uint8_t> good = GetParam().model.bytes();
  std::mt19937 random(20);  // always the same
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint8_t> bytes = good;
    const unsigned count = 1 + random() % 8;
    for (unsigned i = 0; i < count; ++i) {
      bytes[random() % bytes.size()] ^= static_cast<uint8_t>(1u << (random() % 8));
    }
    ASSERT_NO_FATAL_FAILURE(tryImport(bytes)) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Damage, ::testing::ValuesIn(sampleModels()),
                         [](const auto& sample) { return sample.param.name; });

TEST(Robustness, ReplaysWhatTheFuzzerFound) {
  size_t count = 0;
  const std::filesystem::path folder = HALYARD_SOURCE_DIR "/src/import/tflite/fuzz_regressions";
  ASSERT_TRUE(std::filesystem::is_directory(folder)) << folder;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    ASSERT_NO_FATAL_FAILURE(tryImport(bytes)) << entry.path();
    ++count;
  }
  EXPECT_GT(count, 0u);
}

TEST(Robustness, AForgedFileCannotAskForMuchMemory) {
  // Channels without data: the zeros of the missing bias alone would need 2 GiB.
  ModelWriter w;
  const int32_t x = w.floats("x", {1, 1});
  const int32_t f = w.floats("f", {1 << 29, 1});
  const int32_t y = w.floats("y", {1, 1 << 29});
  w.node(tfl::BuiltinOperator::FULLY_CONNECTED, {x, f}, {y},
         tfl::BuiltinOptions::FullyConnectedOptions,
         [](flatbuffers::FlatBufferBuilder& b) { return tfl::CreateFullyConnectedOptions(b); });
  w.inputs = {x, f};
  w.outputs = {y};
  EXPECT_NE(refusalOf(w).find("needs more memory than a file of its size may"), std::string::npos)
      << refusalOf(w);
}

TEST(Robustness, AForgedFileCannotHaveMoreTablesThanAModelMay) {
  // Each table needs only four bytes of the file, because all offsets may refer to one table.
  for (const size_t extra : {size_t{0}, size_t{1}}) {
    const auto count = static_cast<uint32_t>(FlatReader::kMostTables + extra);
    // The offset of the table; its vtable, for a field at byte 4 of 8; the table; the vector.
    std::vector<uint8_t> bytes = {12, 0, 0, 0, 6, 0, 8, 0, 4, 0, 0, 0, 8, 0, 0, 0, 4, 0, 0, 0};
    const size_t begin = bytes.size();
    bytes.resize(begin + sizeof(count) * (1 + size_t{count}));
    std::memcpy(bytes.data() + begin, &count, sizeof(count));
    ModelFile file = ModelFile::ofMemory(bytes);
    FlatReader reader(file);
    const FlatTables tables = reader.tables(reader.root(), 4);
    EXPECT_EQ(reader.ok(), extra == 0);
    EXPECT_EQ(tables.count, extra == 0 ? count : 0);
  }
}

TEST(Robustness, ManyUsesOfOneBufferStayWithinTheBudget) {
  // 400 tensors convert the same megabyte to four each.
  ModelWriter w;
  TensorSpec first;
  first.name = "first";
  first.type = tfl::TensorType::INT8;
  first.shape = {1 << 20};
  first.data.resize(1 << 20);
  first.scales = {1};
  TensorSpec other = first;
  other.data.clear();
  other.buffer = 1;
  int32_t half = w.tensor(std::move(first));
  for (int i = 0; i < 400; ++i) {
    const int32_t y = w.floats("y", {1 << 20});
    w.node(tfl::BuiltinOperator::DEQUANTIZE, {half}, {y});
    half = w.tensor(other);
  }
  const int32_t y = w.floats("end", {1 << 20});
  w.node(tfl::BuiltinOperator::RELU, {1}, {y});
  w.outputs = {y};
  EXPECT_NE(refusalOf(w).find("needs more memory than a file of its size may"), std::string::npos)
      << refusalOf(w);
}

// The work grows with the number of outputs. With its square, this would take 20 s.
TEST(Robustness, ManyConstantOutputs) {
  constexpr int kOutputs = 300'000;
  ModelWriter w;
  w.inputs = {w.floats("x", {1})};
  const int32_t first = w.floatConstant("", {1}, {5});
  TensorSpec same = w.tensors.back();
  same.data = {};
  same.buffer = 1;  // that of `first`
  const int32_t y = w.floats("y", {1});
  w.node(tfl::BuiltinOperator::RELU, w.inputs, {y});
  w.outputs = {y, first};
  for (int i = 1; i < kOutputs; ++i) w.outputs.push_back(w.tensor(same));
  const std::vector<uint8_t> file = w.bytes();
  const Result<ImportedModel> imported = importTflite(file);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_EQ(imported->outputs.size(), size_t{kOutputs} + 1);
}

}  // namespace
}  // namespace halyard::import
