// Tests of the choice among instruction sets.
#include "ops/simd.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstdlib>

namespace halyard::ops {
namespace {

TEST(SimdLevel, TheNewestOneIsTheLastThatIsThere) {
  SimdLevel last = SimdLevel::BASELINE;
  for (const SimdLevel level : kSimdLevels) {
    if (hasSimdLevel(level)) last = level;
  }
  EXPECT_EQ(newestSimdLevel(), last);
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
