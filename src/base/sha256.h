// Sha256: the SHA-256 digest of bytes that come piece by piece.
// Thread safety: one object for one thread at a time. Ownership: owns its state; bytes are borrowed
// for a call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "halyard/driver/status.h"

struct sha256_ctx;

namespace halyard {

using Digest = std::array<uint8_t, 32>;

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  // `data` may be null with `size` 0.
  Sha256& add(const void* data, size_t size);
  Sha256& add(std::string_view text) { return add(text.data(), text.size()); }
  Sha256& add(std::span<const uint8_t> bytes) { return add(bytes.data(), bytes.size()); }
  // With its length: texts do not run into each other.
  Sha256& addText(std::string_view text) { return addNumber(text.size()).add(text); }
  // Little endian on every machine.
  Sha256& addNumber(uint64_t number);
  // The digest of all bytes that were added since the last finish(); the next digest begins.
  Digest finish();

 private:
  const std::unique_ptr<sha256_ctx> state_;
};

inline Digest sha256(std::span<const uint8_t> bytes) { return Sha256().add(bytes).finish(); }
// Of all bytes of a regular file. OP_FAILED with its name when it cannot be read.
Result<Digest> sha256OfFile(const std::string& path);

// Two lower-case hexadecimal digits for each byte.
std::string hexOf(std::span<const uint8_t> bytes);

}  // namespace halyard
