// Tests of mutated models: they keep the file format, and the importer makes only valid models of
// them.
#include "import/tflite/model_mutator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "import/tflite/import_for_test.h"
#include "import/tflite/sample_models.h"
#include "import/tflite/tflite_objects_generated.h"
#include "model/validation/validation.h"

namespace halyard::import {
namespace {

void flipOne(std::span<uint8_t> bytes, uint32_t seed) {
  if (!bytes.empty()) bytes[seed % bytes.size()] ^= 0x5a;
}

// Returns the places in a file's operator tables that refer to their options.
std::vector<uint32_t> optionsEntries(std::span<const uint8_t> file) {
  std::vector<uint32_t> entries;
  for (const auto* graph : *tfl_objects::GetModel(file.data())->subgraphs()) {
    if (graph->operators() == nullptr) continue;
    for (const auto* operation : *graph->operators()) {
      if (operation->builtin_options() == nullptr) continue;
      const auto* const table = reinterpret_cast<const uint8_t*>(operation);
      const uint8_t* const vtable = table - flatbuffers::ReadScalar<flatbuffers::soffset_t>(table);
      entries.push_back(static_cast<uint32_t>(vtable - file.data()) +
                        tfl_objects::Operator::VT_BUILTIN_OPTIONS);
    }
  }
  return entries;
}

TEST(ModelMutator, WhatIsNoModelIsLeftAlone) {
  EXPECT_TRUE(mutateModel({}, 1, flipOne).empty());
  const std::vector<uint8_t> bytes(100, 7);
  EXPECT_TRUE(mutateModel(bytes, 1, flipOne).empty());
}

TEST(ModelMutator, TheSeedSaysEverything) {
  const std::vector<uint8_t> good = sampleModels().front().model.bytes();
  std::set<std::vector<uint8_t>> different;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const std::vector<uint8_t> mutated = mutateModel(good, seed, flipOne);
    EXPECT_EQ(mutated, mutateModel(good, seed, flipOne)) << "seed " << seed;
    different.insert(mutated);
  }
  EXPECT_GT(different.size(), 50u);
}

// Found by the fuzzer: the kind of the options is set, but there are no options.
TEST(ModelMutator, OptionsThatOnlySayTheirKind) {
  std::vector<uint8_t> file;
  size_t withoutOptions = 0;
  for (const Sample& sample : sampleModels()) {
    file = sample.model.bytes();
    for (uint32_t at : optionsEntries(file)) {
      std::fill_n(file.begin() + at, sizeof(flatbuffers::voffset_t), uint8_t{0});
      ++withoutOptions;
    }
    for (uint32_t seed = 0; seed < 100; ++seed) {
      SCOPED_TRACE(sample.name + ", seed " + std::to_string(seed));
      ASSERT_FALSE(mutateModel(file, seed, flipOne).empty());
    }
  }
  EXPECT_GT(withoutOptions, 10u);
}

// Found by the fuzzer: numbers of eight bytes that do not lie at a multiple of eight.
TEST(ModelMutator, NumbersThatAreNotAlignedAreLeftAlone) {
  size_t tried = 0;
  for (const Sample& sample : sampleModels()) {
    if (!sample.name.starts_with("dense_int8") && !sample.name.starts_with("int8_")) continue;
    const std::vector<uint8_t> file = sample.model.bytes();
    std::vector<uint64_t> memory(file.size() / sizeof(uint64_t) + 2);
    uint8_t* const between = reinterpret_cast<uint8_t*>(memory.data()) + 4;
    std::ranges::copy(file, between);
    EXPECT_TRUE(mutateModel({between, file.size()}, 1, flipOne).empty()) << sample.name;
    ++tried;
  }
  EXPECT_GT(tried, 2u);
}

// The importer refuses most of them because of the model, not because of the container. It accepts
// only valid models.
TEST(ModelMutator, TheImporterTakesWhatIsValid) {
  size_t taken = 0;
  size_t refused = 0;
  std::set<std::string> reasons;
  for (const Sample& sample : sampleModels()) {
    std::vector<uint8_t> file = sample.model.bytes();
    for (uint32_t seed = 0; seed < 300; ++seed) {
      SCOPED_TRACE(sample.name + ", seed " + std::to_string(seed));
      const std::vector<uint8_t> mutated = mutateModel(file, seed, flipOne);
      ASSERT_FALSE(mutated.empty());
      const Result<ImportedModel> imported = importTflite(mutated);
      if (imported.ok()) {
        const Result<FeatureLevel> level = validateModel(imported->model);
        ASSERT_TRUE(level.ok()) << level.status().toString();
        ++taken;
        continue;
      }
      ASSERT_EQ(imported.status().code(), ResultCode::BAD_DATA) << imported.status().toString();
      reasons.insert(std::string(imported.status().message()));
      ++refused;
    }
  }
  EXPECT_GT(taken, refused / 10) << "nothing but refusals";
  EXPECT_GT(refused, taken / 10) << "nothing is changed";
  EXPECT_GT(reasons.size(), 100u);
}

}  // namespace
}  // namespace halyard::import
