// Sha256: the SHA-256 digest of bytes that come piece by piece.
// Thread safety: one object for one thread at a time. Ownership: owns its state; bytes are borrowed
// for a call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "halyard/driver/status.h"

struct SHA256state_st;

namespace halyard {

class Sha256 {
 public:
  using Digest = std::array<uint8_t, 32>;

  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  // `data` may be null with `size` 0.
  void add(const void* data, size_t size);
  void add(std::string_view text) { add(text.data(), text.size()); }
  // Of everything that was added. Once; nothing may be added afterwards.
  Digest finish();

 private:
  const std::unique_ptr<SHA256state_st> state_;
};

// Of all bytes of a regular file. OP_FAILED with its name when it cannot be read.
Result<Sha256::Digest> sha256OfFile(const std::string& path);

}  // namespace halyard
