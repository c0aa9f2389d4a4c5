// The head of a cache file that CompileCache writes; docs/cache_format.md describes it.
// Thread safety: plain data and pure functions. Ownership: owns its data.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/sha256.h"
#include "halyard/driver/hal_types.h"
#include "halyard/driver/status.h"

namespace halyard::cache {

inline constexpr size_t kCacheFileHeadBytes = 256;
using CacheFileHead = std::array<uint8_t, kCacheFileHeadBytes>;

struct CacheFileFacts {
  enum class Kind : uint8_t { MODEL = 1, DATA = 2 };

  Kind kind = Kind::MODEL;
  uint8_t index = 0;  // number among the files of its kind
  uint8_t modelFiles = 0;
  uint8_t dataFiles = 0;
  uint64_t contentBytes = 0;  // bytes after the head
  hal::Token token = {};
  Digest content = {};                 // bulkDigest() of this file's content
  Digest allData = {};                 // digestOfAll() of the contents of the data files
  std::string driver;                  // at most kMaxNameBytes of the name
  std::array<uint8_t, 16> build = {};  // the first bytes of the SHA-256 of the driver's build

  static constexpr size_t kMaxNameBytes = 80;
};

CacheFileHead encodeHead(const CacheFileFacts& facts);

// Decodes facts for users and tools. Any file may claim them, so loading a compilation does not use
// them. Returns BAD_DATA with the reason when the bytes are no head of this format or have been
// changed.
Result<CacheFileFacts> decodeHead(std::span<const uint8_t> bytes);
// Returns whether the bytes begin as a cache file does.
bool looksLikeCacheFile(std::span<const uint8_t> bytes);

Digest digestOfAll(std::span<const Digest> contents);

}  // namespace halyard::cache
