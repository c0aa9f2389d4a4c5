// Tests of the choice among instruction sets.
#include "ops/simd.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <cstdlib>
#include <string>

namespace halyard::ops {
namespace {

TEST(SimdLevel, TheNewestOneIsTheLastThatIsThere) {
  SimdLevel last = SimdLevel::BASELINE;
  for (const SimdLevel level : kSimdLevels) {
    if (hasSimdLevel(level)) last = level;
  }
  EXPECT_EQ(newestSimdLevel(), last);
}

// Exits with the newest level that this process has with `name` in HALYARD_INSTRUCTIONS, or with 99
// if hasSimdLevel contradicts it.
void leaveWithLevel(const std::string& name) {
  ::setenv("HALYARD_INSTRUCTIONS", name.c_str(), 1);
  const SimdLevel newest = newestSimdLevel();
  bool agrees = hasSimdLevel(newest);
  for (const SimdLevel level : kSimdLevels) {
    if (level > newest && hasSimdLevel(level)) agrees = false;
  }
  std::_Exit(agrees ? static_cast<int>(newest) : 99);
}

// The variable is read once in a process. So only the predicates, which the tests' own process
// evaluates, may ask for the levels of the machine.
TEST(SimdLevelDeathTest, TheEnvironmentLowersIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const SimdLevel most : kSimdLevels) {
    const auto isTheNewestAllowed = [most](int status) {
      SimdLevel expected = SimdLevel::BASELINE;
      for (const SimdLevel level : kSimdLevels) {
        if (level <= most && hasSimdLevel(level)) expected = level;
      }
      return WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(expected);
    };
    EXPECT_EXIT(leaveWithLevel(std::string(simdLevelName(most))), isTheNewestAllowed, "");
  }
}

TEST(SimdLevelDeathTest, AnUnknownNameIsReportedAndHasNoEffect) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto isTheNewest = [](int status) {
    return WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(newestSimdLevel());
  };
  EXPECT_EXIT(leaveWithLevel("avx3"), isTheNewest, "\"avx3\", but must be one of: baseline, ");
}

#if defined(__x86_64__)
// The system refuses the registers of tiles where a stack for signals has no room for them.
void leaveWithoutTiles() {
  static std::array<char, 4096> memory;
  stack_t stack = {};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  if (::sigaltstack(&stack, nullptr) != 0) std::_Exit(2);
  const bool isLeftOut = newestSimdLevel() == simdLevel() && !hasSimdLevel(SimdLevel::AMX);
  std::_Exit(isLeftOut ? 0 : 1);
}

TEST(SimdLevelDeathTest, IsBelowTilesWhereTheSystemRefusesThem) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the permission is for a whole process
  EXPECT_EXIT(leaveWithoutTiles(), ::testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace halyard::ops
