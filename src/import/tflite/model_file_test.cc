// Tests with large constants that stay in the file. They check the parts that are read, and that
// results equal those of the same bytes in memory. They also cover shared and folded constants, and
// files that change.
#include "import/tflite/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/float16.h"
#include "import/tflite/importer.h"
#include "import/tflite/run_imported_for_test.h"
#include "import/tflite/sample_models.h"
#include "import/tflite/verified_file.h"
#include "model/validation/validation.h"

namespace halyard::import {
namespace {

using Act = tfl::ActivationFunctionType;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Type = tfl::TensorType;

constexpr int32_t kRows = 400;
constexpr int32_t kDepth = 100;
constexpr size_t kLarge = size_t{kRows} * kDepth * sizeof(float);

std::vector<float> values(size_t count, float step) {
  std::vector<float> made(count);
  for (size_t i = 0; i < count; ++i) made[i] = step * static_cast<float>(i % 97) - 1;
  return made;
}

void addDense(ModelWriter* w, int32_t x, int32_t weights, int32_t y) {
  w->node(Op::FULLY_CONNECTED, {x, weights}, {y}, Opt::FullyConnectedOptions,
          [](flatbuffers::FlatBufferBuilder& b) {
            return tfl::CreateFullyConnectedOptions(b, Act::NONE);
          });
  w->outputs.push_back(y);
}

// Two full connections with large weights of their own, one with the weights of the first, and one
// with weights stored as float16.
ModelWriter largeModel() {
  ModelWriter w;
  const int32_t x = w.floats("x", {1, kDepth});
  w.inputs = {x};
  const int32_t first = w.floatConstant("first", {kRows, kDepth}, values(kLarge / 4, 0.01f));
  const int32_t second = w.floatConstant("second", {kRows, kDepth}, values(kLarge / 4, 0.02f));
  TensorSpec shared = w.tensors[static_cast<size_t>(first)];
  shared.name = "shared";
  shared.data.clear();
  shared.buffer = 1 + static_cast<uint32_t>(first);
  std::vector<Float16> halves;
  for (const float value : values(kLarge / 4, 0.03f)) halves.push_back(toFloat16(value));
  TensorSpec half;
  half.name = "half";
  half.type = Type::FLOAT16;
  half.shape = {kRows, kDepth};
  half.data = bytesOf(halves);
  const int32_t stored = w.tensor(half);
  const int32_t folded = w.floats("folded", {kRows, kDepth});
  w.node(Op::DEQUANTIZE, {stored}, {folded});
  addDense(&w, x, first, w.floats("y0", {1, kRows}));
  addDense(&w, x, second, w.floats("y1", {1, kRows}));
  addDense(&w, x, folded, w.floats("y2", {1, kRows}));
  return w;
}

class ModelFileTest : public ::testing::Test {
 protected:
  ModelFileTest() : path_(::testing::TempDir() + "model_file_" + std::to_string(::getpid())) {}
  ~ModelFileTest() override {
    std::error_code error;
    std::filesystem::remove(path_, error);
  }
  void write(const std::vector<uint8_t>& bytes) const {
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  const std::string path_;
};

// Returns the number of bytes of the file that an import reads.
size_t readOf(const std::string& path) {
  Result<ModelFile> file = ModelFile::open(path);
  EXPECT_TRUE(file.ok()) << file.status().toString();
  const Result<VerifiedFile> verified = VerifiedFile::create(*file);
  EXPECT_TRUE(verified.ok()) << verified.status().toString();
  for (size_t i = 0; i < verified->tensorCount(); ++i) {
    const Result<FileTensor> tensor = verified->tensor(static_cast<int32_t>(i));
    EXPECT_TRUE(tensor.ok()) << tensor.status().toString();
  }
  return file->bytesInMemory();
}

// Compares the bytes of a part with the file's.
bool isPart(ModelFile& file, const std::vector<uint8_t>& bytes, size_t offset, size_t length) {
  const uint8_t* const part = file.at(offset, length);
  return part != nullptr &&
         std::equal(part, part + length, bytes.begin() + static_cast<ptrdiff_t>(offset));
}

TEST_F(ModelFileTest, LargeConstantsAreNotRead) {
  const std::vector<uint8_t> bytes = largeModel().bytes();
  write(bytes);
  EXPECT_LT(readOf(path_), kLarge / 4);
}

// Reads in any order, across earlier pieces, and repeatedly.
TEST_F(ModelFileTest, PartsAreThoseOfTheFile) {
  const std::vector<uint8_t> bytes = largeModel().bytes();
  write(bytes);
  for (uint32_t seed = 0; seed < 20; ++seed) {
    Result<ModelFile> file = ModelFile::open(path_);
    ASSERT_TRUE(file.ok()) << file.status().toString();
    std::mt19937 random(seed);
    std::vector<std::pair<const uint8_t*, std::vector<uint8_t>>> kept;
    for (int i = 0; i < 400; ++i) {
      const size_t offset = random() % bytes.size();
      const size_t limit = random() % 8 == 0 ? size_t{40'000} : size_t{100};
      const size_t length = std::min(random() % limit, bytes.size() - offset);
      ASSERT_TRUE(isPart(*file, bytes, offset, length)) << seed << " " << i;
      const auto begin = bytes.begin() + static_cast<ptrdiff_t>(offset);
      kept.emplace_back(file->at(offset, length),
                        std::vector<uint8_t>(begin, begin + static_cast<ptrdiff_t>(length)));
      const size_t few = std::min<size_t>(random() % 300, bytes.size() - offset);
      const uint8_t* const passing = file->passing(offset, few);
      ASSERT_NE(passing, nullptr);
      ASSERT_TRUE(std::equal(passing, passing + few, begin)) << seed << " " << i;
    }
    for (const auto& [part, wanted] : kept) {
      ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), part)) << seed;
    }
    // For any order of reads, the memory is at most twice the file.
    EXPECT_LE(file->bytesInMemory(), 2 * bytes.size() + (size_t{1} << 20));
  }
}

TEST_F(ModelFileTest, WhatIsNotInTheFileIsAnError) {
  for (const size_t size : {size_t{1000}, size_t{200'000}}) {
    write(std::vector<uint8_t>(size, 1));
    Result<ModelFile> file = ModelFile::open(path_);
    ASSERT_TRUE(file.ok()) << file.status().toString();
    EXPECT_NE(file->at(size - 8, 8), nullptr);
    EXPECT_EQ(file->at(size - 8, 9), nullptr);
    EXPECT_EQ(file->passing(size - 8, 9), nullptr);
    EXPECT_EQ(file->at(size + 1, 0), nullptr);
    EXPECT_EQ(file->at(UINT64_MAX, 1), nullptr);
    EXPECT_EQ(file->at(1, UINT64_MAX), nullptr);
    EXPECT_EQ(file->whyNot().code(), ResultCode::BAD_DATA);
    EXPECT_NE(file->at(0, size), nullptr);
  }
}

// `layers` full connections in sequence, each with weights of [width, width].
std::vector<uint8_t> layersOf(size_t layers, int32_t width) {
  ModelWriter w;
  int32_t x = w.floats("x", {1, width});
  w.inputs = {x};
  const auto count = static_cast<size_t>(width) * static_cast<size_t>(width);
  for (size_t i = 0; i < layers; ++i) {
    const int32_t weights = w.floatConstant("weights", {width, width},
                                            values(count, 0.001f * static_cast<float>(i + 1)));
    const int32_t y = w.floats("y", {1, width});
    addDense(&w, x, weights, y);
    x = y;
  }
  return w.bytes();
}

// A small file is read completely. Of a large one, only the description of its layers is read.
TEST_F(ModelFileTest, WhatIsSmallIsRead) {
  struct Case {
    size_t layers;
    int32_t width;
    bool isLeft;
  };
  for (const auto& [layers, width, isLeft] :
       {Case{1, 80, false}, {40, 80, true}, {4, 200, true}, {1, 300, true}}) {
    const std::vector<uint8_t> bytes = layersOf(layers, width);
    write(bytes);
    EXPECT_EQ(bytes.size() <= ModelFile::kMostWhole, !isLeft);
    const size_t read = readOf(path_);
    if (isLeft) {
      EXPECT_LT(read, bytes.size() / 2) << layers;
    } else {
      EXPECT_EQ(read, bytes.size());
    }
    EXPECT_EQ(run(importTfliteFile(path_)), run(importTflite(bytes)));
  }
}

TEST_F(ModelFileTest, ModelsAreAsThoseOfTheSameBytes) {
  const std::vector<uint8_t> bytes = largeModel().bytes();
  write(bytes);
  const Result<ImportedModel> fromFile = importTfliteFile(path_);
  ASSERT_TRUE(fromFile.ok()) << fromFile.status().toString();
  // The file's size, the folded floats, and the memory for three biases that the model does not
  // have.
  constexpr size_t kBias = size_t{kRows} * sizeof(float);
  ASSERT_EQ(fromFile->model.pools.size(), 2u);
  EXPECT_EQ(fromFile->model.pools[0]->kind(), MemoryKind::MMAP_FD);
  EXPECT_EQ(fromFile->model.pools[0]->size(), bytes.size());
  EXPECT_EQ(fromFile->model.pools[1]->size(), kLarge + kBias);
  const auto results = run(fromFile);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results, run(importTflite(bytes)));
}

TEST_F(ModelFileTest, SmallConstantsAreOfTheFileToo) {
  for (const Sample& sample : sampleModels()) {
    const std::vector<uint8_t> bytes = sample.model.bytes();
    write(bytes);
    const ImportOptions options = {.extension = ExtensionUse::WHERE_NEEDED};
    EXPECT_EQ(run(importTfliteFile(path_, options)), run(importTflite(bytes, options)))
        << sample.name;
  }
}

TEST_F(ModelFileTest, AFileThatIsCutLaterIsAnError) {
  write(largeModel().bytes());
  Result<ModelFile> file = ModelFile::open(path_);
  ASSERT_TRUE(file.ok());
  const Result<ImportedModel> imported = importTfliteFile(path_);
  ASSERT_TRUE(imported.ok());
  std::filesystem::resize_file(path_, 100);
  EXPECT_EQ(file->at(kLarge, 8), nullptr);
  EXPECT_THAT(file->whyNot().message(), ::testing::HasSubstr("truncated"));
  const auto executor =
      cpu::Executor::create(std::make_shared<const Model>(imported->model), nullptr);
  EXPECT_EQ(executor.status().code(), ResultCode::UNMAPPABLE);
}

// A damaged file is refused, or gives the same model as the same bytes in memory.
TEST_F(ModelFileTest, DamagedFilesAreAsTheSameBytes) {
  const std::vector<uint8_t> good = largeModel().bytes();
  std::vector<size_t> places;
  for (size_t at = 0; at < 64; ++at) places.push_back(at);
  // The writer puts these tables after the constants.
  for (size_t at = good.size() - std::min<size_t>(good.size(), 1500); at < good.size(); at += 3) {
    places.push_back(at);
  }
  size_t refused = 0;
  for (const size_t at : places) {
    std::vector<uint8_t> bytes = good;
    bytes[at] ^= static_cast<uint8_t>(1u << at % 8);
    write(bytes);
    const Result<ImportedModel> fromFile = importTfliteFile(path_);
    const Result<ImportedModel> fromMemory = importTflite(bytes);
    ASSERT_EQ(fromFile.ok(), fromMemory.ok()) << at << ": " << fromFile.status().toString();
    if (fromFile.ok()) {
      ASSERT_TRUE(validateModel(fromFile->model).ok()) << at;
    } else {
      ASSERT_THAT(fromFile.status().message(), ::testing::EndsWith(fromMemory.status().message()));
      ++refused;
    }
  }
  EXPECT_GT(refused, 20u);
}

// A small buffer inside a large one.
TEST_F(ModelFileTest, BuffersMayOverlap) {
  std::vector<uint8_t> bytes = largeModel().bytes();
  const auto& buffers = *tfl::GetModel(bytes.data())->buffers();
  size_t moved = 0;
  for (const tfl::Buffer* large : buffers) {
    if (large->data() == nullptr || large->data()->size() < kLarge / 2) continue;
    for (const tfl::Buffer* other : buffers) {
      const uint8_t* const field =
          reinterpret_cast<const flatbuffers::Table*>(other)->GetAddressOf(tfl::Buffer::VT_DATA);
      if (moved != 0 || other == large || field == nullptr) continue;
      const uint8_t* const target = large->data()->data() + kLarge / 4;
      if (field > target || other->data()->size() != large->data()->size()) continue;
      const auto offset = static_cast<uint32_t>(target - field);
      const uint32_t length = other->data()->size() / 4;
      std::memcpy(bytes.data() + (field - bytes.data()), &offset, sizeof(offset));
      std::memcpy(bytes.data() + (target - bytes.data()), &length, sizeof(length));
      ++moved;
    }
  }
  ASSERT_EQ(moved, 1u);
  write(bytes);
  EXPECT_EQ(importTfliteFile(path_).ok(), importTflite(bytes).ok());
}

TEST_F(ModelFileTest, WhatIsNoModelIsRefused) {
  for (const size_t size : {size_t{0}, size_t{3}, size_t{8}, size_t{5000}, size_t{200'000}}) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 256);
    write(bytes);
    EXPECT_EQ(importTfliteFile(path_).status().code(), ResultCode::BAD_DATA) << size;
  }
}

}  // namespace
}  // namespace halyard::import
