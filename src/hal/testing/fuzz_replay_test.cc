// Replays the corpora of the fuzzers of this folder, and the inputs that have found a fault. For
// builds without a fuzzer it also runs random inputs, the same in each run. In the environment,
// HALYARD_FUZZ_INPUTS is the number of these inputs, and HALYARD_FUZZ_SEED is the first seed.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "hal/testing/fuzz/manifest_fuzz_input.h"
#include "hal/testing/fuzz/manifest_mutator.h"
#include "hal/testing/fuzz/ring_fuzz_input.h"
#include "hal/testing/fuzz/server_fuzz_input.h"
#include "test_definitions.h"

namespace halyard::hal::fuzz {
namespace {

// Runs all files of a fuzzer and returns their number.
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

unsigned long numberFrom(const char* variable, unsigned long otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::stoul(text) : otherwise;
}

TEST(FuzzReplay, RandomCalls) {
  const unsigned long count = numberFrom("HALYARD_FUZZ_INPUTS", 200);
  const unsigned long first = numberFrom("HALYARD_FUZZ_SEED", 0);
  for (unsigned long i = first; i < first + count; ++i) {
    std::mt19937 random(static_cast<uint32_t>(i));
    std::vector<uint8_t> bytes(20 + random() % 1500);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    bytes[0] = 1;  // a session, not raw bytes
    // If the process ends, the output shows the number of the input.
    if (first != 0 || count != 200) std::fprintf(stderr, "\rinput %lu ", i);
    runServerFuzzInput(bytes);
  }
}

TEST(FuzzReplay, Server) { EXPECT_GT(replay("server_fuzz", runServerFuzzInput), 10u); }
TEST(FuzzReplay, Ring) { EXPECT_GT(replay("ring_fuzz", runRingFuzzInput), 10u); }
TEST(FuzzReplay, Manifests) { EXPECT_GT(replay("manifest_fuzz", runManifestFuzzInput), 3u); }

TEST(FuzzReplay, MutatedManifests) {
  size_t mutated = 0;
  replay("manifest_fuzz", [&](std::span<const uint8_t> bytes) {
    std::string text(bytes.begin(), bytes.end());
    for (uint32_t seed = 0; seed < 200; ++seed) {
      const std::string other = mutateManifest(text, seed);
      EXPECT_EQ(other, mutateManifest(text, seed)) << "seed " << seed;
      if (other.empty()) break;
      ++mutated;
      runManifestFuzzInput({reinterpret_cast<const uint8_t*>(other.data()), other.size()});
      // The next mutation continues with the result of this one.
      if (seed % 4 != 0) text = other;
    }
  });
  EXPECT_GT(mutated, 500u);
  EXPECT_EQ(mutateManifest("{", 1), "");
  EXPECT_EQ(mutateManifest(std::string(100'000, '['), 1), "");
}

}  // namespace
}  // namespace halyard::hal::fuzz
