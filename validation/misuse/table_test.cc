// Misuses the runtime on its CPU device in every way of the table. Tests that the table has rows
// for every function.
#include <algorithm>
#include <fstream>

#include "test_definitions.h"
#include "validation/misuse/misuse_for_test.h"

namespace halyard::misuse {

TEST_P(MisuseTable, HasItsCodeAndText) {
  const Status status = tryMisuse(GetParam(), deviceNamed(kCpuDevice), /*checksDriversText=*/true);
  EXPECT_TRUE(status.ok()) << status.toString();
}

namespace {

// Whether the function returns no code.
bool cannotFail(const std::string& function) {
  return function.ends_with("_free") || function.ends_with("LoopTimeout") ||
         function.ends_with("_getRuntimeFeatureLevel") || function.ends_with("_getSLDriverImpl") ||
         function.starts_with("SL_ANeuralNetworksDiagnostic");
}

std::vector<std::string> publicFunctions(const std::string& symbolVersion) {
  std::vector<std::string> names;
  std::ifstream list(HALYARD_SOURCE_DIR "/src/api/public_symbols.txt");
  std::string version;
  std::string name;
  while (list >> version >> name) {
    if (version == symbolVersion) names.push_back(name);
  }
  return names;
}

}  // namespace

void expectRowsForEveryFunction(const std::vector<Misuse>& rows, const std::string& version) {
  const std::vector<std::string> functions = publicFunctions(version);
  EXPECT_GT(functions.size(), 5u);
  for (const std::string& function : functions) {
    if (cannotFail(function)) continue;
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(),
                            [&](const Misuse& row) { return row.function() == function; }))
        << "no row misuses " << function;
  }
}

}  // namespace halyard::misuse
