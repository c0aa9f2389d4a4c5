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

struct evp_md_ctx_st;

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
  // Of everything that was added. Once; nothing may be added afterwards. OP_FAILED when the library
  // does not do SHA-256, or has failed before.
  Result<Digest> finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
  bool ok_ = false;
};

// Of all bytes of a regular file. The error names it.
Result<Sha256::Digest> sha256OfFile(const std::string& path);

}  // namespace halyard
