// Measures the peak performance of the processors of this machine.
// Thread safety: any thread. Ownership: none.
#pragma once

#include <cstdint>

namespace halyard::measure {

// The sums over all processors that the process may use, all busy at the same time.
struct MachinePeaks {
  unsigned processors = 0;
  double floatFlopPerNs = 0;    // float32; a multiply-add counts as two
  double byteOpPerNs = 0;       // 8-bit values with sums of 32 bits; a multiply-add counts as two
  double cacheBytesPerNs = 0;   // reads from the second-level cache
  double memoryBytesPerNs = 0;  // reads from memory, outside all caches
};

// Runs loops of the best instructions that kernels are compiled for (register_loops.h). Takes about
// 0.2 s.
MachinePeaks measureMachinePeaks();

// The least time for this work, in nanoseconds. Up to kCacheBytes bytes count as cached.
inline constexpr double kCacheBytes = 2 << 20;
double floorNs(const MachinePeaks& peaks, double flop, double bytes, bool is8Bit);

}  // namespace halyard::measure
