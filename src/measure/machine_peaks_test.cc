#include "measure/machine_peaks.h"

#include <gtest/gtest.h>

#include "measure/register_loops.h"

namespace halyard::measure {
namespace {

TEST(MachinePeaks, EveryPeakIsFound) {
  const MachinePeaks peaks = measureMachinePeaks();
  EXPECT_GE(peaks.processors, 1u);
  EXPECT_GT(peaks.floatFlopPerNs, 0);
  EXPECT_GT(peaks.byteOpPerNs, 0);
  EXPECT_GT(peaks.cacheBytesPerNs, 0);
  EXPECT_GT(peaks.memoryBytesPerNs, 0);
}

// The loop of a better instruction set is at least as fast. Those with arithmetic of float16 add no
// products of bytes.
TEST(MachinePeaks, EveryInstructionSetHasItsLoop) {
  RegisterLoop floats = floatLoop(ops::SimdLevel::BASELINE);
  RegisterLoop bytes = byteLoop(ops::SimdLevel::BASELINE);
  for (const ops::SimdLevel level : ops::kSimdLevels) {
    EXPECT_GE(floatLoop(level).products, floats.products) << static_cast<int>(level);
    floats = floatLoop(level);
    if (level == ops::SimdLevel::BASELINE) continue;
    if (level == ops::SimdLevel::AVX512_FP16 || level == ops::SimdLevel::NEON_FP16) {
      EXPECT_EQ(byteLoop(level).products, bytes.products) << static_cast<int>(level);
    } else {
      EXPECT_GT(byteLoop(level).products, bytes.products) << static_cast<int>(level);
    }
    bytes = byteLoop(level);
  }
}

TEST(MachinePeaks, TheFloorIsWhatLimits) {
  const MachinePeaks peaks = {.processors = 1,
                              .floatFlopPerNs = 100,
                              .byteOpPerNs = 400,
                              .cacheBytesPerNs = 200,
                              .memoryBytesPerNs = 20};
  EXPECT_DOUBLE_EQ(floorNs(peaks, 1000, 0, false), 10);
  EXPECT_DOUBLE_EQ(floorNs(peaks, 1000, 0, true), 2.5);
  EXPECT_DOUBLE_EQ(floorNs(peaks, 1000, 4000, false), 20);
  EXPECT_DOUBLE_EQ(floorNs(peaks, 0, 2 * kCacheBytes, false), 2 * kCacheBytes / 20);
}

}  // namespace
}  // namespace halyard::measure
