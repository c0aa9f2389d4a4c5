// How blobs lie in a file; docs/cache_format.md describes it.
// Thread safety: pure functions. Ownership: what is decoded refers to the bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "halyard/driver/status.h"

namespace halyard::cache {

struct BlobHead {
  bool known = false;  // of this version; nothing else is known of others
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
// Both write as many bytes as the functions above say.
void encodeBlobHead(std::string_view build, uint32_t entries, uint8_t* into);
void encodeBlobEntry(const BlobEntry& entry, uint8_t* into);

// BAD_DATA: these are no blobs, or what stands in front of them is damaged.
Result<BlobHead> decodeBlobHead(std::span<const uint8_t> bytes);
// Calls `use` for each entry in the order of the file. The number of those that are damaged, and
// behind which nothing can be found. BAD_DATA: the bytes have been cut off.
Result<size_t> decodeBlobs(std::span<const uint8_t> bytes, const BlobHead& head,
                           const std::function<void(const BlobEntry&)>& use);

}  // namespace halyard::cache
