// Replays the corpus of the API fuzzer and the inputs that have found a fault. Runs random inputs,
// the same in each run. It also checks that inputs of the fuzzer can express real applications: it
// builds, compiles and runs a model of each operation. HALYARD_WRITE_CORPUS=FOLDER writes these
// inputs as a corpus.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "api/fuzz/api_fuzz_input.h"
#include "api/fuzz/sequence_of_model.h"
#include "ops/testing/recipes.h"
#include "test_definitions.h"

namespace halyard::api::fuzz {
namespace {

namespace fs = std::filesystem;

TEST(ApiFuzz, Replay) {
  for (const char* folder : {"fuzz_corpus", "fuzz_regressions"}) {
    const fs::path files = fs::path(HALYARD_SOURCE_DIR) / "src/api/fuzz" / folder;
    if (!fs::exists(files)) continue;
    for (const auto& entry : fs::directory_iterator(files)) {
      SCOPED_TRACE(entry.path().string());
      std::ifstream file(entry.path(), std::ios::binary);
      const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), {});
      runApiFuzzInput(bytes);
    }
  }
}

TEST(ApiFuzz, RandomCalls) {
  for (uint32_t i = 0; i < 300; ++i) {
    std::mt19937 random(i);
    std::vector<uint8_t> bytes(20 + random() % 1500);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    runApiFuzzInput(bytes);
  }
}

TEST(ApiFuzz, RunsEveryOperation) {
  const char* const folder = std::getenv("HALYARD_WRITE_CORPUS");
  std::set<std::string> ran;
  for (const auto& [type, recipe] : ops::testing::allRecipes()) {
    const ops::OperationDefinition* const definition = ops::definitionOf(type);
    const std::string name = operationTypeName(type);
    const auto variants = ops::testing::variantsOf(definition->signature);
    // The buffers of the fuzzer are too small for some cases.
    constexpr size_t kSeeds = 5;
    for (size_t i = 0; i < variants.size() * kSeeds && !ran.contains(name); ++i) {
      const ops::testing::LegalCase legal =
          ops::testing::legalCase(*definition, variants[i % variants.size()], 0,
                                  static_cast<unsigned>(1 + i / variants.size()));
      const Model model = ops::testing::toModel(legal);
      std::vector<std::vector<uint8_t>> inputs;
      for (const uint32_t index : model.main.inputIndexes) {
        inputs.push_back(legal.inputs[index].bytes);
      }
      const auto way = static_cast<uint8_t>(ran.size() % 2);  // 0: compute, 1: startCompute
      const auto sequence = sequenceOf(model, inputs, way);
      if (!sequence) continue;
      SCOPED_TRACE(legal.text());
      if (runApiFuzzInput(*sequence).executed == 0) continue;
      ran.insert(name);
      if (folder == nullptr) continue;
      std::ofstream(fs::path(folder) / name, std::ios::binary)
          .write(reinterpret_cast<const char*>(sequence->data()),
                 static_cast<std::streamsize>(sequence->size()));
    }
    EXPECT_TRUE(ran.contains(name)) << name << " has not been run";
  }
}

// Runs with dependencies, which need outputs of known size: out = in.
TEST(ApiFuzz, RunsWithDependencies) {
  Model model;
  for (const Lifetime lifetime : {Lifetime::SUBGRAPH_INPUT, Lifetime::SUBGRAPH_OUTPUT}) {
    Operand operand;
    operand.type = OperandType::TENSOR_FLOAT32;
    operand.dimensions = {2};
    operand.lifetime = lifetime;
    model.main.operands.push_back(operand);
  }
  model.main.operations.push_back({OperationType::FLOOR, {0}, {1}});
  model.main.inputIndexes = {0};
  model.main.outputIndexes = {1};
  const std::vector<std::vector<uint8_t>> inputs = {std::vector<uint8_t>(8)};
  const auto sequence = sequenceOf(model, inputs, 3);
  ASSERT_TRUE(sequence.has_value());
  EXPECT_EQ(runApiFuzzInput(*sequence).executed, 1);
}

}  // namespace
}  // namespace halyard::api::fuzz
