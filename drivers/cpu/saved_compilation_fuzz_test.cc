// Replays what the fuzzer of saved compilations keeps, and runs random inputs, the same each time.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "test_definitions.h"
#include "testing/saved_compilation_input.h"

namespace halyard::cpudriver::fuzz {
namespace {

TEST(SavedCompilationFuzz, Corpus) {
  namespace fs = std::filesystem;
  size_t count = 0;
  for (const char* folder : {"fuzz_corpus", "fuzz_regressions"}) {
    const fs::path files = fs::path(HALYARD_SOURCE_DIR) / "drivers/cpu" / folder;
    if (!fs::exists(files)) continue;
    for (const auto& entry : fs::directory_iterator(files)) {
      SCOPED_TRACE(entry.path().string());
      std::ifstream file(entry.path(), std::ios::binary);
      const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), {});
      runSavedCompilationInput(bytes);
      ++count;
    }
  }
  EXPECT_GT(count, 5u);
}

TEST(SavedCompilationFuzz, RandomInputs) {
  std::mt19937 random(1);
  for (const uint8_t kind : {0x00, 0x01, 0x02, 0x03, 0x41, 0x43}) {
    for (int i = 0; i < 300; ++i) {
      std::vector<uint8_t> bytes(2 + random() % 20);
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
      bytes[0] = kind;
      runSavedCompilationInput(bytes);
    }
  }
}

}  // namespace
}  // namespace halyard::cpudriver::fuzz
