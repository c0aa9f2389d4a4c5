// Replays what the fuzzers of this folder keep: their corpora, and inputs that once found a fault.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "hal/testing/fuzz/manifest_fuzz_input.h"
#include "hal/testing/fuzz/server_fuzz_input.h"

namespace halyard::hal::fuzz {
namespace {

// The number of files.
template <typename Run>
size_t replay(const char* fuzzer, Run run) {
  namespace fs = std::filesystem;
  size_t count = 0;
  for (const char* folder : {"fuzz_corpus", "fuzz_regressions"}) {
    const fs::path files = fs::path(HALYARD_SOURCE_DIR) / "src/hal" / folder / fuzzer;
    if (!fs::exists(files)) continue;
    for (const auto& entry : fs::directory_iterator(files)) {
      SCOPED_TRACE(entry.path().string());
      std::ifstream file(entry.path(), std::ios::binary);
      const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), {});
      run(std::span<const uint8_t>(bytes));
      ++count;
    }
  }
  return count;
}

TEST(FuzzReplay, Server) { EXPECT_GT(replay("server_fuzz", runServerFuzzInput), 10u); }
TEST(FuzzReplay, Manifests) { EXPECT_GT(replay("manifest_fuzz", runManifestFuzzInput), 3u); }

}  // namespace
}  // namespace halyard::hal::fuzz
