// What the processors of this machine can do at most, measured.
// Thread safety: any thread. Ownership: none.
#pragma once

#include <cstdint>

namespace halyard::measure {

// With all processors that the process may use, at the same time.
struct MachinePeaks {
  unsigned processors = 0;
  double floatFlopPerNs = 0;    // float32: a product and a sum are two
  double byteOpPerNs = 0;       // 8 bits into sums of 32
  double cacheBytesPerNs = 0;   // reading what fits the second-level cache
  double memoryBytesPerNs = 0;  // reading what fits no cache
};

// By loops for the best instructions that kernels are compiled for (register_loops.h); takes about
// 0.2 s.
MachinePeaks measureMachinePeaks();

// Nanoseconds that this work takes at least. Bytes of up to kCacheBytes count as cached.
inline constexpr double kCacheBytes = 2 << 20;
double floorNs(const MachinePeaks& peaks, double flop, double bytes, bool is8Bit);

}  // namespace halyard::measure
