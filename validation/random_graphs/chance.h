// Chance: random numbers that are equal for the same seed with every compiler and library.
// Thread safety: one thread.
// Ownership: a value.
#pragma once

#include <cstdint>
#include <random>

namespace halyard::random_graphs {

class Chance {
 public:
  explicit Chance(uint64_t seed) {
    // Mixes the seed: the numbers of neighbouring seeds must be unrelated.
    uint64_t mixed = seed + 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    engine_.seed(static_cast<uint32_t>(mixed ^ (mixed >> 31)));
  }

  // A number from 0 to n - 1. `n` must not be 0.
  uint32_t below(size_t n) { return static_cast<uint32_t>(uint64_t{engine_()} * n >> 32); }
  bool oneIn(uint32_t n) { return below(n) == 0; }
  bool percent(uint32_t share) { return below(100) < share; }
  uint32_t number() { return static_cast<uint32_t>(engine_()); }
  // A number from -1 to 1.
  float signedUnit() { return static_cast<float>(engine_() >> 8) * 0x1p-23F - 1; }
  template <typename List>
  const auto& oneOf(const List& list) {
    return list[below(list.size())];
  }

 private:
  std::mt19937 engine_;
};

}  // namespace halyard::random_graphs
