// Large constants stay in the file: what is there of it, that results are those of the same bytes
// in memory, that shared and folded constants are right, and what becomes of files that change.
#include "import/tflite/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/float16.h"
#include "import/tflite/importer.h"
#include "import/tflite/run_imported_for_test.h"
#include "import/tflite/sample_models.h"

namespace halyard::import {
namespace {

using Act = tfl::ActivationFunctionType;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Type = tfl::TensorType;

constexpr int32_t kRows = 400;
constexpr int32_t kDepth = 100;
constexpr size_t kLarge = size_t{kRows} * kDepth * sizeof(float);
static_assert(kLarge / 2 >= ModelFile::kLeastLeft);

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

// Two full connections with large weights of their own, one with the first one's, and one whose
// weights are stored as halves.
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

// How much of the file is not there. What is there must be right, what is not zeros.
size_t left(const ModelFile& file, const std::vector<uint8_t>& bytes) {
  size_t count = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto part = file.bytes().subspan(i, 1);
    const bool isThere = file.isThere(part);
    EXPECT_EQ(file.offsetOf(part), i);
    EXPECT_EQ(part[0], isThere ? bytes[i] : 0) << i;
    if (::testing::Test::HasFailure()) break;
    count += isThere ? 0 : 1;
  }
  return count;
}

// That of `constants` large ones of so many bytes together all but a page or less at either end is
// left in the file.
void expectLeft(size_t found, size_t bytes, size_t constants) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_LE(found, bytes);
  EXPECT_GE(found, bytes - constants * 2 * page);
  EXPECT_EQ(found % page, 0u);
}

TEST_F(ModelFileTest, LargeConstantsAreNotRead) {
  const std::vector<uint8_t> bytes = largeModel().bytes();
  write(bytes);
  const Result<ModelFile> file = ModelFile::open(path_);
  ASSERT_TRUE(file.ok()) << file.status().toString();
  ASSERT_EQ(file->bytes().size(), bytes.size());
  expectLeft(left(*file, bytes), 2 * kLarge + kLarge / 2, 3);
  EXPECT_FALSE(file->isThere(file->bytes()));
  const auto all = file->read(file->bytes());
  ASSERT_TRUE(all.ok()) << all.status().toString();
  EXPECT_EQ(*all, bytes);
  EXPECT_FALSE(file->offsetOf(bytes).has_value());
  EXPECT_FALSE(file->read(bytes).ok());
}

// `layers` full connections, one behind the other, each with weights of [width, width].
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

// Filters of a few pages are read by the driver alone, those of one or two, and all of a small
// file, by the importer too.
TEST_F(ModelFileTest, WhatIsSmallIsRead) {
  struct Case {
    size_t layers;
    int32_t width;
    bool isLeft;
  };
  for (const auto& [layers, width, isLeft] :
       {Case{1, 80, false}, {40, 80, true}, {40, 40, false}}) {
    const std::vector<uint8_t> bytes = layersOf(layers, width);
    write(bytes);
    const Result<ModelFile> file = ModelFile::open(path_);
    ASSERT_TRUE(file.ok()) << file.status().toString();
    EXPECT_EQ(bytes.size() <= ModelFile::kMostWhole, layers == 1);
    if (isLeft) {
      const size_t weights = static_cast<size_t>(width) * static_cast<size_t>(width) * 4;
      expectLeft(left(*file, bytes), layers * weights, layers);
    } else {
      EXPECT_EQ(left(*file, bytes), 0u);
      EXPECT_TRUE(file->isThere(file->bytes()));
    }
    EXPECT_EQ(run(importTfliteFile(path_)), run(importTflite(bytes)));
  }
}

TEST_F(ModelFileTest, ModelsAreAsThoseOfTheSameBytes) {
  const std::vector<uint8_t> bytes = largeModel().bytes();
  write(bytes);
  const Result<ImportedModel> fromFile = importTfliteFile(path_);
  ASSERT_TRUE(fromFile.ok()) << fromFile.status().toString();
  // The file; and what was folded to floats, and one for three biases that the model does not have.
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
    const Result<ModelFile> file = ModelFile::open(path_);
    ASSERT_TRUE(file.ok()) << sample.name << ": " << file.status().toString();
    EXPECT_TRUE(file->isThere(file->bytes())) << sample.name;
    EXPECT_EQ(run(importTfliteFile(path_)), run(importTflite(bytes))) << sample.name;
  }
}

TEST_F(ModelFileTest, AFileThatIsCutLaterIsAnError) {
  write(largeModel().bytes());
  const Result<ModelFile> file = ModelFile::open(path_);
  ASSERT_TRUE(file.ok());
  const Result<ImportedModel> imported = importTfliteFile(path_);
  ASSERT_TRUE(imported.ok());
  std::filesystem::resize_file(path_, 100);
  EXPECT_EQ(file->read(file->bytes()).status().code(), ResultCode::BAD_DATA);
  const auto executor =
      cpu::Executor::create(std::make_shared<const Model>(imported->model), nullptr);
  EXPECT_EQ(executor.status().code(), ResultCode::UNMAPPABLE);
}

// Whatever stands where tables are looked for, what is read is right, or the file is damaged.
TEST_F(ModelFileTest, DamagedFilesAreReadAsFarAsTheyAre) {
  const std::vector<uint8_t> good = largeModel().bytes();
  std::vector<size_t> places;
  for (size_t at = 0; at < 64; ++at) places.push_back(at);
  // Tables that the writer puts behind the constants.
  for (size_t at = good.size() - std::min<size_t>(good.size(), 256); at < good.size(); ++at) {
    places.push_back(at);
  }
  for (const size_t at : places) {
    std::vector<uint8_t> bytes = good;
    bytes[at] ^= 0xff;
    write(bytes);
    const Result<ModelFile> file = ModelFile::open(path_);
    ASSERT_TRUE(file.ok()) << at;
    for (size_t i = 0; i < bytes.size(); i += 61) {
      const auto part = file->bytes().subspan(i, 1);
      if (file->isThere(part)) {
        ASSERT_EQ(part[0], bytes[i]) << at << " " << i;
      }
    }
    (void)importTfliteFile(path_);
  }
}

// A small buffer within a large one would be read where nothing is.
TEST_F(ModelFileTest, AFileWhoseBuffersOverlapIsThereAsAWhole) {
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
      if (field > target) continue;  // offsets lead on
      const auto offset = static_cast<uint32_t>(target - field);
      const uint32_t length = 8;
      std::memcpy(bytes.data() + (field - bytes.data()), &offset, sizeof(offset));
      std::memcpy(bytes.data() + (target - bytes.data()), &length, sizeof(length));
      ++moved;
    }
  }
  ASSERT_EQ(moved, 1u);
  write(bytes);
  const Result<ModelFile> file = ModelFile::open(path_);
  ASSERT_TRUE(file.ok()) << file.status().toString();
  EXPECT_TRUE(file->isThere(file->bytes()));
  EXPECT_TRUE(std::ranges::equal(file->bytes(), bytes));
}

TEST_F(ModelFileTest, WhatIsNoModelIsThereAsAWhole) {
  for (const size_t size : {size_t{0}, size_t{3}, size_t{8}, size_t{5000}, size_t{200'000}}) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 256);
    write(bytes);
    const Result<ModelFile> file = ModelFile::open(path_);
    ASSERT_TRUE(file.ok()) << size;
    EXPECT_TRUE(std::ranges::equal(file->bytes(), bytes)) << size;
    EXPECT_EQ(importTfliteFile(path_).status().code(), ResultCode::BAD_DATA) << size;
  }
}

}  // namespace
}  // namespace halyard::import
