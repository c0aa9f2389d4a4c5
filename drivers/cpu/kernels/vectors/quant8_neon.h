// Vectors of bytes and of their products for every aarch64, and for those with dot products of
// bytes: see quant8_vectors.h.
// Thread safety: pure functions, values.
// Ownership: none.
#pragma once

#if defined(__aarch64__)
#include <arm_neon.h>

#include <cstring>

#include "kernels/vectors/quant8_result.h"
#include "ops/small_copy.h"

namespace halyard::cpudriver::neon {

inline constexpr size_t kIntLanes = 4;
inline constexpr size_t kQuant8Rows = 6;
inline constexpr size_t kQuant8HalfRows = 6;
inline constexpr Quant8Factors kFactors = Quant8Factors::WIDE;

using Ints = int32x4_t;
// Of the products of pairs of the lower and of the upper lanes.
struct Sums {
  int32x4_t low;
  int32x4_t high;
};
using Block = uint8x16_t;
using Shorts = int16x8_t;

HALYARD_ALWAYS_INLINE Ints loadInts(const void* from) {
  return vreinterpretq_s32_u8(vld1q_u8(static_cast<const uint8_t*>(from)));
}
// Signed bytes as values of 16 bits.
HALYARD_ALWAYS_INLINE Ints loadWidened(const void* from) {
  return vreinterpretq_s32_s16(vmovl_s8(vld1_s8(static_cast<const int8_t*>(from))));
}
HALYARD_ALWAYS_INLINE void storeInts(void* to, Ints v) {
  vst1q_u8(static_cast<uint8_t*>(to), vreinterpretq_u8_s32(v));
}
HALYARD_ALWAYS_INLINE Ints fillInts(int32_t value) { return vdupq_n_s32(value); }
HALYARD_ALWAYS_INLINE Ints addInts(Ints a, Ints b) { return vaddq_s32(a, b); }
HALYARD_ALWAYS_INLINE Ints broadcastUnit(const void* from) {
  int32_t unit;
  std::memcpy(&unit, from, sizeof unit);
  return vdupq_n_s32(unit);
}

// Lanes 0 and 2 of each half have the start, lanes 1 and 3 zero: finishSums adds pairs.
HALYARD_ALWAYS_INLINE Sums startSums(const int32_t* from) {
  const int32x4_t start = vld1q_s32(from);
  const int32x4_t zero = vdupq_n_s32(0);
  return {vzip1q_s32(start, zero), vzip2q_s32(start, zero)};
}
HALYARD_ALWAYS_INLINE Ints finishSums(const Sums& sums) { return vpaddq_s32(sums.low, sums.high); }
template <bool kSignedLeft>
HALYARD_ALWAYS_INLINE Sums addProducts(const Sums& sums, Ints left, Ints packed) {
  const int16x8_t a = vreinterpretq_s16_s32(left);
  const int16x8_t b = vreinterpretq_s16_s32(packed);
  return {vmlal_s16(sums.low, vget_low_s16(a), vget_low_s16(b)), vmlal_high_s16(sums.high, a, b)};
}

HALYARD_ALWAYS_INLINE Block loadBlock(const uint8_t* from) { return vld1q_u8(from); }
HALYARD_ALWAYS_INLINE Block loadFirstBytes(const uint8_t* from, size_t count) {
  alignas(16) std::byte bytes[sizeof(Block)] = {};
  ops::copySmall<sizeof(Block) - 1>(bytes, reinterpret_cast<const std::byte*>(from), count);
  return vld1q_u8(reinterpret_cast<const uint8_t*>(bytes));
}
HALYARD_ALWAYS_INLINE Block fillBlock(uint8_t byte) { return vdupq_n_u8(byte); }
HALYARD_ALWAYS_INLINE Block flipBlock(Block block, Block flip) { return veorq_u8(block, flip); }
HALYARD_ALWAYS_INLINE Ints asUnits(Block block) { return vreinterpretq_s32_u8(block); }
HALYARD_ALWAYS_INLINE void makeUnits(const Block* taps, Ints* units) {
  const auto widen = [](uint8x8_t bytes) { return vreinterpretq_s32_u16(vmovl_u8(bytes)); };
  const Block low = vzip1q_u8(taps[0], taps[1]);
  const Block high = vzip2q_u8(taps[0], taps[1]);
  units[0] = widen(vget_low_u8(low));
  units[1] = widen(vget_high_u8(low));
  units[2] = widen(vget_low_u8(high));
  units[3] = widen(vget_high_u8(high));
}

struct Scales {
  float32x4_t first;
  float32x4_t second;
};
HALYARD_ALWAYS_INLINE Scales loadScales(const float* from) {
  return {vld1q_f32(from), vld1q_f32(from + kIntLanes)};
}

class Narrower {
 public:
  HALYARD_ALWAYS_INLINE explicit Narrower(const Quant8Result& result)
      : zeroPoint_(vdupq_n_s16(static_cast<int16_t>(result.zeroPoint))),
        low_(vdupq_n_s16(static_cast<int16_t>(result.low))),
        high_(vdupq_n_s16(static_cast<int16_t>(result.high))) {}

  HALYARD_ALWAYS_INLINE Shorts shorts(Ints first, Ints second, const Scales& scales) const {
    const int16x8_t units =
        vqmovn_high_s32(vqmovn_s32(round(first, scales.first)), round(second, scales.second));
    return vminq_s16(vmaxq_s16(vqaddq_s16(units, zeroPoint_), low_), high_);
  }
  HALYARD_ALWAYS_INLINE void storeRow(uint8_t* to, Shorts values) const {
    vst1_u8(to, vreinterpret_u8_s8(vmovn_s16(values)));
  }
  HALYARD_ALWAYS_INLINE void storePartOfRow(uint8_t* to, Shorts values, size_t count) const {
    uint8_t kept[2 * kIntLanes];
    storeRow(kept, values);
    std::memcpy(to, kept, count);
  }
  // Of one vector of sums.
  HALYARD_ALWAYS_INLINE void storeHalfRow(uint8_t* to, Ints sums, const Scales& scales) const {
    uint8_t kept[2 * kIntLanes];
    storeRow(kept, shorts(sums, sums, scales));
    std::memcpy(to, kept, kIntLanes);
  }
  HALYARD_ALWAYS_INLINE void storePartOfHalfRow(uint8_t* to, Ints sums, const Scales& scales,
                                                size_t count) const {
    uint8_t kept[kIntLanes];
    storeHalfRow(kept, sums, scales);
    std::memcpy(to, kept, count);
  }
  HALYARD_ALWAYS_INLINE void storeHalfRows(uint8_t* to, uint8_t* next, Ints sums, Ints nextSums,
                                           const Scales& scales) const {
    storeHalfRow(to, sums, scales);
    storeHalfRow(next, nextSums, scales);
  }
  HALYARD_ALWAYS_INLINE void storeBlock(uint8_t* to, Shorts low, Shorts high, size_t count) const {
    const uint8x16_t bytes = vreinterpretq_u8_s8(vmovn_high_s16(vmovn_s16(low), high));
    if (count >= 4 * kIntLanes) {
      vst1q_u8(to, bytes);
    } else {
      alignas(16) std::byte kept[sizeof bytes];
      vst1q_u8(reinterpret_cast<uint8_t*>(kept), bytes);
      ops::copySmall<sizeof kept - 1>(reinterpret_cast<std::byte*>(to), kept, count);
    }
  }

 private:
  HALYARD_ALWAYS_INLINE static int32x4_t round(int32x4_t sums, float32x4_t scale) {
    return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sums), scale));
  }

  int16x8_t zeroPoint_;
  int16x8_t low_;
  int16x8_t high_;
};

}  // namespace halyard::cpudriver::neon

namespace halyard::cpudriver::neondot {
#define HALYARD_NEON_DOT HALYARD_TARGET_NEON_DOT HALYARD_ALWAYS_INLINE

using neon::addInts;
using neon::asUnits;
using neon::Block;
using neon::broadcastUnit;
using neon::fillBlock;
using neon::fillInts;
using neon::flipBlock;
using neon::Ints;
using neon::kIntLanes;
using neon::loadBlock;
using neon::loadFirstBytes;
using neon::loadInts;
using neon::loadScales;
using neon::Narrower;
using neon::Scales;
using neon::Shorts;
using neon::storeInts;

inline constexpr size_t kQuant8Rows = 12;
inline constexpr size_t kQuant8HalfRows = 12;
inline constexpr Quant8Factors kFactors = Quant8Factors::SAME;

using Sums = int32x4_t;

HALYARD_NEON_DOT Sums startSums(const int32_t* from) { return vld1q_s32(from); }
HALYARD_NEON_DOT Ints finishSums(Sums sums) { return sums; }
template <bool kSignedLeft>
HALYARD_NEON_DOT Sums addProducts(Sums sums, Ints left, Ints packed) {
  if constexpr (kSignedLeft) {
    return vdotq_s32(sums, vreinterpretq_s8_s32(left), vreinterpretq_s8_s32(packed));
  } else {
    return vreinterpretq_s32_u32(vdotq_u32(vreinterpretq_u32_s32(sums), vreinterpretq_u8_s32(left),
                                           vreinterpretq_u8_s32(packed)));
  }
}
HALYARD_NEON_DOT void multiplyFour(const Sums* sums, int32_t factor, int32_t* to) {
  const Ints totals = vpaddq_s32(vpaddq_s32(sums[0], sums[1]), vpaddq_s32(sums[2], sums[3]));
  vst1q_s32(to, vmulq_n_s32(totals, factor));
}
HALYARD_NEON_DOT void makeUnits(const Block* taps, Ints* units) {
  const auto zip = [](Block a, Block b, bool isHigh) {
    const uint16x8_t x = vreinterpretq_u16_u8(a);
    const uint16x8_t y = vreinterpretq_u16_u8(b);
    return vreinterpretq_s32_u16(isHigh ? vzip2q_u16(x, y) : vzip1q_u16(x, y));
  };
  const Block low01 = vzip1q_u8(taps[0], taps[1]);
  const Block high01 = vzip2q_u8(taps[0], taps[1]);
  const Block low23 = vzip1q_u8(taps[2], taps[3]);
  const Block high23 = vzip2q_u8(taps[2], taps[3]);
  units[0] = zip(low01, low23, false);
  units[1] = zip(low01, low23, true);
  units[2] = zip(high01, high23, false);
  units[3] = zip(high01, high23, true);
}

#undef HALYARD_NEON_DOT
}  // namespace halyard::cpudriver::neondot
#endif
