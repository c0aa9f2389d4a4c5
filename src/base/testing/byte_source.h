// ByteSource: takes choices from a fuzzer's bytes. They are the same in every build.
// Thread safety: none.
// Ownership: borrows the bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace halyard::fuzz {

class ByteSource {
 public:
  explicit ByteSource(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  uint8_t byte() { return static_cast<uint8_t>(number(1)); }
  uint32_t word() { return static_cast<uint32_t>(number(4)); }
  // Returns a number below `count`, which must be above 0.
  uint32_t below(uint32_t count) { return count <= 256 ? byte() % count : word() % count; }
  bool oneIn(uint32_t count) { return below(count) == 0; }

  // Returns a number that often causes trouble in programs, or any number.
  uint32_t number32() {
    static constexpr uint32_t kKnown[] = {0,          1,          2,          3,        4,
                                          15,         16,         64,         255,      256,
                                          4095,       4096,       65535,      65536,    0x7fffffff,
                                          0x80000000, 0xfffffffe, 0xffffffff, 1u << 20, 1u << 30};
    const uint8_t choice = byte();
    return choice < std::size(kKnown) ? kKnown[choice] : choice < 200 ? choice - 20u : word();
  }
  uint64_t number64() {
    const uint64_t low = number32();
    return oneIn(3) ? low << 32 | number32() : low;
  }
  std::span<const uint8_t> take(size_t count) {
    const auto taken = bytes_.first(std::min(count, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }

 private:
  uint64_t number(size_t size) {
    uint64_t value = 0;
    const auto taken = take(size);
    if (!taken.empty()) std::memcpy(&value, taken.data(), taken.size());
    return value;
  }

  std::span<const uint8_t> bytes_;
};

}  // namespace halyard::fuzz
