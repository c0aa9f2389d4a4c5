// Replays the saved inputs of the cache fuzzer, and runs random inputs, the same each time.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "cache/testing/fuzz/cache_fuzz_input.h"
#include "test_definitions.h"

namespace halyard::cache::fuzz {
namespace {

TEST(CacheFuzzReplay, Corpus) {
  namespace fs = std::filesystem;
  size_t count = 0;
  for (const char* folder : {"fuzz_corpus", "fuzz_regressions"}) {
    const fs::path files = fs::path(HALYARD_SOURCE_DIR) / "src/cache" / folder;
    if (!fs::exists(files)) continue;
    for (const auto& entry : fs::directory_iterator(files)) {
      SCOPED_TRACE(entry.path().string());
      std::ifstream file(entry.path(), std::ios::binary);
      const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), {});
      runCacheFuzzInput(bytes);
      ++count;
    }
  }
  EXPECT_GT(count, 10u);
}

TEST(CacheFuzzReplay, RandomInputs) {
  std::mt19937 random(1);
  for (uint8_t kind = 0; kind < 4; ++kind) {
    for (int i = 0; i < 500; ++i) {
      std::vector<uint8_t> bytes(2 + random() % 300);
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
      bytes[0] = kind;
      runCacheFuzzInput(bytes);
    }
  }
}

}  // namespace
}  // namespace halyard::cache::fuzz
