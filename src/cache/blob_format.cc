#include "cache/blob_format.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cache/crc32c.h"

namespace halyard::cache {
namespace {

constexpr std::array<uint8_t, 8> kBlobMagic = {0x93, 'H', 'A', 'L', 'Y', 'B', '\r', '\n'};
constexpr uint32_t kBlobVersion = 1;
constexpr size_t kAlignment = 8;

constexpr size_t kBlobVersionAt = 8;
constexpr size_t kEntriesAt = 12;
constexpr size_t kBuildBytesAt = 16;
constexpr size_t kHeadCrcAt = 20;
constexpr size_t kBlobBuildAt = 24;
constexpr size_t kMostBuildBytes = 1000;

constexpr size_t kKeyBytesAt = 0;
constexpr size_t kValueBytesAt = 4;
constexpr size_t kSavedAt = 8;
constexpr size_t kBodyCrcAt = 16;
constexpr size_t kEntryCrcAt = 20;
constexpr size_t kEntryHeadBytes = 24;

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

template <typename T>
void put(uint8_t* at, T number) {
  for (size_t i = 0; i < sizeof(T); ++i) at[i] = static_cast<uint8_t>(number >> (8 * i));
}

template <typename T>
T take(const uint8_t* at) {
  T number = 0;
  for (size_t i = 0; i < sizeof(T); ++i) number |= static_cast<T>(T{at[i]} << (8 * i));
  return number;
}

// The CRC covers the head without the CRC itself.
uint32_t headCrc(std::span<const uint8_t> head) {
  return crc32c(head.subspan(kBlobBuildAt), crc32c(head.first(kHeadCrcAt)));
}

}  // namespace

bool looksLikeBlobs(std::span<const uint8_t> bytes) {
  return bytes.size() >= kBlobMagic.size() &&
         std::equal(kBlobMagic.begin(), kBlobMagic.end(), bytes.begin());
}

size_t blobHeadSize(std::string_view build) {
  return kBlobBuildAt + aligned(std::min(build.size(), kMostBuildBytes));
}

size_t blobEntrySize(size_t keyBytes, size_t valueBytes) {
  return kEntryHeadBytes + aligned(keyBytes + valueBytes);
}

void encodeBlobHead(std::string_view build, uint32_t entries, uint8_t* into) {
  build = build.substr(0, kMostBuildBytes);
  std::memset(into, 0, blobHeadSize(build));
  std::copy(kBlobMagic.begin(), kBlobMagic.end(), into);
  put<uint32_t>(into + kBlobVersionAt, kBlobVersion);
  put<uint32_t>(into + kEntriesAt, entries);
  put<uint32_t>(into + kBuildBytesAt, static_cast<uint32_t>(build.size()));
  std::copy(build.begin(), build.end(), into + kBlobBuildAt);
  put<uint32_t>(into + kHeadCrcAt, headCrc({into, blobHeadSize(build)}));
}

void encodeBlobEntry(const BlobEntry& entry, uint8_t* into) {
  const size_t size = blobEntrySize(entry.key.size(), entry.value.size());
  std::memset(into, 0, size);
  put<uint32_t>(into + kKeyBytesAt, static_cast<uint32_t>(entry.key.size()));
  put<uint32_t>(into + kValueBytesAt, static_cast<uint32_t>(entry.value.size()));
  put<uint64_t>(into + kSavedAt, static_cast<uint64_t>(entry.savedAt));
  uint8_t* const body = into + kEntryHeadBytes;
  std::copy(entry.key.begin(), entry.key.end(), body);
  std::copy(entry.value.begin(), entry.value.end(), body + entry.key.size());
  put<uint32_t>(into + kBodyCrcAt, crc32c({body, size - kEntryHeadBytes}));
  put<uint32_t>(into + kEntryCrcAt, crc32c({into, kEntryCrcAt}));
}

Result<BlobHead> decodeBlobHead(std::span<const uint8_t> bytes) {
  if (!looksLikeBlobs(bytes)) return badData("it does not begin as a file of blobs does");
  if (bytes.size() < kBlobBuildAt) {
    return badData("it has {} bytes, a file without blobs has {}", bytes.size(), kBlobBuildAt);
  }
  BlobHead head;
  head.version = take<uint32_t>(bytes.data() + kBlobVersionAt);
  if (head.version != kBlobVersion) return head;
  const auto buildBytes = take<uint32_t>(bytes.data() + kBuildBytesAt);
  if (buildBytes > kMostBuildBytes || bytes.size() - kBlobBuildAt < aligned(buildBytes)) {
    return badData("its head says a build of {} bytes, behind which there are {}", buildBytes,
                   bytes.size() - kBlobBuildAt);
  }
  const auto all = bytes.first(kBlobBuildAt + aligned(buildBytes));
  if (take<uint32_t>(bytes.data() + kHeadCrcAt) != headCrc(all)) {
    return badData("its head is damaged");
  }
  head.known = true;
  head.entries = take<uint32_t>(bytes.data() + kEntriesAt);
  head.build.assign(reinterpret_cast<const char*>(bytes.data()) + kBlobBuildAt, buildBytes);
  return head;
}

Result<size_t> decodeBlobs(std::span<const uint8_t> bytes, const BlobHead& head,
                           const std::function<void(const BlobEntry&)>& use) {
  size_t damaged = 0;
  bytes = bytes.subspan(blobHeadSize(head.build));
  for (uint32_t i = 0; i < head.entries; ++i) {
    if (bytes.size() < kEntryHeadBytes) {
      return badData("it ends in entry {} of {}", i, head.entries);
    }
    const uint8_t* const at = bytes.data();
    // Without the sizes of this entry, the next entry cannot be found.
    if (take<uint32_t>(at + kEntryCrcAt) != crc32c({at, kEntryCrcAt})) {
      return damaged + (head.entries - i);
    }
    const size_t keyBytes = take<uint32_t>(at + kKeyBytesAt);
    const size_t valueBytes = take<uint32_t>(at + kValueBytesAt);
    const size_t size = blobEntrySize(keyBytes, valueBytes);
    if (size > bytes.size()) return badData("it ends in entry {} of {}", i, head.entries);
    const auto body = bytes.subspan(kEntryHeadBytes, size - kEntryHeadBytes);
    if (take<uint32_t>(at + kBodyCrcAt) != crc32c(body)) {
      ++damaged;
    } else {
      use({body.first(keyBytes), body.subspan(keyBytes, valueBytes),
           static_cast<int64_t>(take<uint64_t>(at + kSavedAt))});
    }
    bytes = bytes.subspan(size);
  }
  return damaged + (bytes.empty() ? 0 : 1);
}

}  // namespace halyard::cache
