// Mutated models: files of the format still, and what the importer makes of them is valid.
#include "import/tflite/model_mutator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "import/tflite/import_for_test.h"
#include "import/tflite/sample_models.h"
#include "model/validation.h"

namespace halyard::import {
namespace {

void flipOne(std::span<uint8_t> bytes, uint32_t seed) {
  if (!bytes.empty()) bytes[seed % bytes.size()] ^= 0x5a;
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

// The importer refuses most, for a reason of the model's and not the container's, and takes no
// model that is not valid.
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
