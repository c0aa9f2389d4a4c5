// Fingerprint64 of FarmHash, by the length of the input. All arithmetic is modulo 2^64.
#include "ops/farm_hash_fingerprint.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

namespace halyard::ops {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

constexpr uint64_t kK0 = 0xc3a5c85c97cb3127;
constexpr uint64_t kK1 = 0xb492b66fbe98f273;
constexpr uint64_t kK2 = 0x9ae16a3b2f90404f;
constexpr size_t kBlock = 64;

uint64_t load64(const uint8_t* p) {
  uint64_t value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}
uint64_t load32(const uint8_t* p) {
  uint32_t value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}
uint64_t rotate(uint64_t x, int bits) { return std::rotr(x, bits); }
uint64_t mixShift(uint64_t x) { return x ^ (x >> 47); }

// Hashes 128 bits to 64.
uint64_t mix16(uint64_t u, uint64_t v, uint64_t multiplier) {
  const uint64_t a = mixShift((u ^ v) * multiplier);
  return mixShift((v ^ a) * multiplier) * multiplier;
}

uint64_t hash4To16(const uint8_t* p, size_t length) {
  const uint64_t multiplier = kK2 + length * 2;
  if (length < 8) return mix16(length + (load32(p) << 3), load32(p + length - 4), multiplier);
  const uint64_t a = load64(p) + kK2;
  const uint64_t b = load64(p + length - 8);
  const uint64_t c = rotate(b, 37) * multiplier + a;
  const uint64_t d = (rotate(a, 25) + b) * multiplier;
  return mix16(c, d, multiplier);
}

// Two words from the first and last 16 bytes, before they are mixed. `scale` is for the first word.
struct Ends {
  uint64_t a;
  uint64_t low;
  uint64_t high;
};
Ends hashEnds(const uint8_t* p, size_t length, uint64_t scale, uint64_t multiplier) {
  const uint64_t a = load64(p) * scale;
  const uint64_t b = load64(p + 8);
  const uint64_t c = load64(p + length - 8) * multiplier;
  const uint64_t d = load64(p + length - 16) * kK2;
  return {a, rotate(a + b, 43) + rotate(c, 30) + d, a + rotate(b + kK2, 18) + c};
}

uint64_t hash17To32(const uint8_t* p, size_t length) {
  const uint64_t multiplier = kK2 + length * 2;
  const Ends ends = hashEnds(p, length, kK1, multiplier);
  return mix16(ends.low, ends.high, multiplier);
}

uint64_t hash33To64(const uint8_t* p, size_t length) {
  const uint64_t multiplier = kK2 + length * 2;
  const Ends ends = hashEnds(p, length, kK2, multiplier);
  const uint64_t z = mix16(ends.low, ends.high, multiplier);
  const uint64_t e = load64(p + 16) * multiplier;
  const uint64_t f = load64(p + 24);
  const uint64_t g = (ends.low + load64(p + length - 32)) * multiplier;
  const uint64_t h = (z + load64(p + length - 24)) * multiplier;
  return mix16(rotate(e + f, 43) + rotate(g, 30) + h, e + rotate(f + ends.a, 18) + g, multiplier);
}

// The 56 bytes of state of the long form, and their update by a block of 64 bytes.
struct LongState {
  struct Pair {
    uint64_t first = 0;
    uint64_t second = 0;
  };
  uint64_t x;
  uint64_t y;
  uint64_t z;
  Pair v;
  Pair w;

  static Pair mix32(const uint8_t* p, uint64_t a, uint64_t b) {
    const uint64_t last = load64(p + 24);
    a += load64(p);
    b = rotate(b + a + last, 21);
    const uint64_t c = a;
    a += load64(p + 8) + load64(p + 16);
    b += rotate(a, 44);
    return {a + last, b + c};
  }

  // `factor` is 1 for all blocks except the last.
  void mixBlock(const uint8_t* p, uint64_t multiplier, uint64_t factor) {
    x = rotate(x + y + v.first + load64(p + 8), 37) * multiplier;
    y = rotate(y + v.second + load64(p + 48), 42) * multiplier;
    x ^= w.second * factor;
    y += v.first * factor + load64(p + 40);
    z = rotate(z + w.first, 33) * multiplier;
    v = mix32(p, v.second * multiplier, x + w.first);
    w = mix32(p + 32, z + w.second, y + load64(p + 16));
    std::swap(z, x);
  }
};

uint64_t hashLong(const uint8_t* p, size_t length) {
  constexpr uint64_t kSeed = 81;
  LongState state;
  state.y = kSeed * kK1 + 113;
  state.z = mixShift(state.y * kK2 + 113) * kK2;
  state.x = kSeed * kK2 + load64(p);
  // The last 1 to 64 bytes are left for the last block. It is always whole, so it may overlap the
  // one before it.
  const size_t rest = (length - 1) % kBlock;
  const uint8_t* const end = p + (length - 1 - rest);
  const uint8_t* const last = p + length - kBlock;
  for (; p != end; p += kBlock) state.mixBlock(p, kK1, 1);
  const uint64_t multiplier = kK1 + ((state.z & 0xff) << 1);
  state.w.first += rest;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.mixBlock(last, multiplier, 9);
  return mix16(mix16(state.v.first, state.w.first, multiplier) + mixShift(state.y) * kK0 + state.z,
               mix16(state.v.second, state.w.second, multiplier) + state.x, multiplier);
}

}  // namespace

uint64_t fingerprint64(std::span<const uint8_t> bytes) {
  if (bytes.size() <= 16) return hash4To16(bytes.data(), bytes.size());
  if (bytes.size() <= 32) return hash17To32(bytes.data(), bytes.size());
  if (bytes.size() <= kBlock) return hash33To64(bytes.data(), bytes.size());
  return hashLong(bytes.data(), bytes.size());
}

}  // namespace halyard::ops
