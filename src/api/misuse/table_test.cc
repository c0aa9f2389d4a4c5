// Checks that the tables of this program leave out no function of the symbol version that they are
// about.
#include <algorithm>
#include <fstream>

#include "api/misuse/table.h"
#include "test_definitions.h"

namespace halyard::api::testing {

namespace {

// Those that return no code.
bool cannotFail(const std::string& function) {
  return function.ends_with("_free") || function.ends_with("LoopTimeout") ||
         function.ends_with("_getRuntimeFeatureLevel");
}

std::vector<std::string> publicFunctions() {
  std::vector<std::string> names;
  std::ifstream list(HALYARD_SOURCE_DIR "/src/api/public_symbols.txt");
  std::string version;
  std::string name;
  while (list >> version >> name) {
    if (version == HALYARD_SYMBOL_VERSION) names.push_back(name);
  }
  return names;
}

TEST(MisuseTables, HaveRowsForEveryFunction) {
  std::vector<std::string> rows;
  const auto& tests = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < tests.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *tests.GetTestSuite(i);
    if (!std::string(suite.name()).ends_with("/MisuseTable")) continue;
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const std::string test = suite.GetTestInfo(j)->name();
      rows.push_back("ANeuralNetworks" + test.substr(test.find('/') + 1));
    }
  }
  const std::vector<std::string> functions = publicFunctions();
  EXPECT_GT(functions.size(), 5u);
  for (const std::string& function : functions) {
    if (cannotFail(function)) continue;
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(),
                            [&](const auto& row) { return row.starts_with(function + "_"); }))
        << "no row misuses " << function;
  }
}

TEST(MisuseTables, NothingIsFreedWithNull) {
  ANeuralNetworksBurst_free(nullptr);
  ANeuralNetworksCompilation_free(nullptr);
  ANeuralNetworksEvent_free(nullptr);
  ANeuralNetworksExecution_free(nullptr);
  ANeuralNetworksMemory_free(nullptr);
  ANeuralNetworksMemoryDesc_free(nullptr);
  ANeuralNetworksModel_free(nullptr);
}

TEST(MisuseTables, WhatReturnsNoCode) {
  EXPECT_EQ(ANeuralNetworks_getRuntimeFeatureLevel(), ANEURALNETWORKS_FEATURE_LEVEL_8);
  EXPECT_EQ(ANeuralNetworks_getDefaultLoopTimeout(), 2'000'000'000u);
  EXPECT_EQ(ANeuralNetworks_getMaximumLoopTimeout(), 15'000'000'000u);
}

}  // namespace
}  // namespace halyard::api::testing
