// The format of blobs in a file; docs/cache_format.md describes it.
// Thread safety: pure functions.
// Ownership: decoded values refer to the bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "halyard/driver/status.h"

namespace halyard::cache {

struct BlobHead {
  bool known = false;  // the file has this version; no other fields are valid for other versions
  uint32_t version = 0;
  uint32_t entries = 0;
  std::string build;
};
struct BlobEntry {
  std::span<const uint8_t> key;
  std::span<const uint8_t> value;
  int64_t savedAt = 0;  // seconds since 1970
};

bool looksLikeBlobs(std::span<const uint8_t> bytes);

size_t blobHeadSize(std::string_view build);
size_t blobEntrySize(size_t keyBytes, size_t valueBytes);
// Both functions write the number of bytes that the functions above return.
void encodeBlobHead(std::string_view build, uint32_t entries, uint8_t* into);
void encodeBlobEntry(const BlobEntry& entry, uint8_t* into);

// Returns BAD_DATA when the bytes are no blobs or their head is damaged.
Result<BlobHead> decodeBlobHead(std::span<const uint8_t> bytes);
// Calls `use` for each entry in the order of the file. Returns the number of damaged entries.
// An entry with damaged sizes hides all later ones, so these count, too. Returns BAD_DATA when the
// bytes are cut off.
Result<size_t> decodeBlobs(std::span<const uint8_t> bytes, const BlobHead& head,
                           const std::function<void(const BlobEntry&)>& use);

}  // namespace halyard::cache
