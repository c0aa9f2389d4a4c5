// SHA-256 of bytes.
// Thread safety: a value; one object is used by one thread at a time. Ownership: none.
#pragma once

#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace halyard::cache {

using Digest = std::array<uint8_t, 32>;

// What is added is a sequence of fields; numbers are little endian on every machine.
//
// These are OpenSSL's plain functions: its newer ones would read OpenSSL's configuration, and load
// what that names, in a process that may be an application's.
class Sha256 {
 public:
  Sha256() { SHA256_Init(&context_); }

  Sha256& add(std::span<const uint8_t> bytes) {
    SHA256_Update(&context_, bytes.data(), bytes.size());
    return *this;
  }
  Sha256& addText(std::string_view text) {  // with its length: texts do not run into each other
    return addNumber(text.size()).add({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  Sha256& addNumber(uint64_t number) {
    std::array<uint8_t, 8> bytes;
    for (uint8_t& byte : bytes) {
      byte = static_cast<uint8_t>(number);
      number >>= 8;
    }
    return add(bytes);
  }
  Digest finish() {
    Digest digest;
    SHA256_Final(digest.data(), &context_);
    return digest;
  }

 private:
  SHA256_CTX context_;
};

inline Digest sha256(std::span<const uint8_t> bytes) { return Sha256().add(bytes).finish(); }

std::string hexOf(std::span<const uint8_t> bytes);

}  // namespace halyard::cache
