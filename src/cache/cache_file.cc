#include "cache/cache_file.h"

#include <algorithm>
#include <cstring>

namespace halyard::cache {
namespace {

// No program takes these bytes for text, and a conversion of text changes them.
constexpr std::array<uint8_t, 8> kMagic = {0x93, 'H', 'A', 'L', 'Y', 'C', '\r', '\n'};
constexpr uint32_t kVersion = 2;

constexpr size_t kVersionAt = 8;
constexpr size_t kHeadBytesAt = 12;
constexpr size_t kKindAt = 16;
constexpr size_t kIndexAt = 17;
constexpr size_t kModelFilesAt = 18;
constexpr size_t kDataFilesAt = 19;
constexpr size_t kNameBytesAt = 20;
constexpr size_t kContentBytesAt = 24;
constexpr size_t kTokenAt = 32;
constexpr size_t kContentAt = 64;
constexpr size_t kAllDataAt = 96;
constexpr size_t kBuildAt = 128;
constexpr size_t kNameAt = 144;
constexpr size_t kHeadDigestAt = 224;
static_assert(kNameAt + CacheFileFacts::kMaxNameBytes == kHeadDigestAt);
static_assert(kHeadDigestAt + sizeof(Digest) == kCacheFileHeadBytes);

template <typename T>
void putNumber(CacheFileHead& head, size_t at, T number) {
  for (size_t i = 0; i < sizeof(T); ++i) head[at + i] = static_cast<uint8_t>(number >> (8 * i));
}

template <typename T>
T number(std::span<const uint8_t> head, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(T{head[at + i]} << (8 * i));
  return value;
}

template <typename Bytes>
void putBytes(CacheFileHead& head, size_t at, const Bytes& bytes) {
  std::copy(bytes.begin(), bytes.end(), head.begin() + static_cast<ptrdiff_t>(at));
}

template <typename Bytes>
void takeBytes(std::span<const uint8_t> head, size_t at, Bytes& bytes) {
  std::copy_n(head.begin() + static_cast<ptrdiff_t>(at), bytes.size(), bytes.begin());
}

Status checkCounts(const CacheFileFacts& facts) {
  const uint8_t files =
      facts.kind == CacheFileFacts::Kind::MODEL ? facts.modelFiles : facts.dataFiles;
  if (facts.index >= files) {
    return badData("its head says that it is file {} of {}", facts.index, files);
  }
  return okStatus();
}

}  // namespace

CacheFileHead encodeHead(const CacheFileFacts& facts) {
  CacheFileHead head = {};
  putBytes(head, 0, kMagic);
  putNumber<uint32_t>(head, kVersionAt, kVersion);
  putNumber<uint32_t>(head, kHeadBytesAt, kCacheFileHeadBytes);
  head[kKindAt] = static_cast<uint8_t>(facts.kind);
  head[kIndexAt] = facts.index;
  head[kModelFilesAt] = facts.modelFiles;
  head[kDataFilesAt] = facts.dataFiles;
  const std::string name = facts.driver.substr(0, CacheFileFacts::kMaxNameBytes);
  putNumber<uint32_t>(head, kNameBytesAt, static_cast<uint32_t>(name.size()));
  putNumber<uint64_t>(head, kContentBytesAt, facts.contentBytes);
  putBytes(head, kTokenAt, facts.token);
  putBytes(head, kContentAt, facts.content);
  putBytes(head, kAllDataAt, facts.allData);
  putBytes(head, kBuildAt, facts.build);
  putBytes(head, kNameAt, name);
  putBytes(head, kHeadDigestAt, sha256(std::span(head).first(kHeadDigestAt)));
  return head;
}

bool looksLikeCacheFile(std::span<const uint8_t> bytes) {
  return bytes.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), bytes.begin());
}

Result<CacheFileFacts> decodeHead(std::span<const uint8_t> bytes) {
  if (!looksLikeCacheFile(bytes)) return badData("it does not begin as a cache file does");
  if (bytes.size() < kCacheFileHeadBytes) {
    return badData("it has {} bytes, the head alone has {}", bytes.size(), kCacheFileHeadBytes);
  }
  const auto version = number<uint32_t>(bytes, kVersionAt);
  if (version != kVersion) {
    return badData("its format has version {}, expected {}", version, kVersion);
  }
  Digest said;
  takeBytes(bytes, kHeadDigestAt, said);
  if (said != sha256(bytes.first(kHeadDigestAt))) return badData("its head has been changed");
  CacheFileFacts facts;
  if (bytes[kKindAt] != 1 && bytes[kKindAt] != 2) {
    return badData("its head says kind {}, expected 1 or 2", bytes[kKindAt]);
  }
  facts.kind = static_cast<CacheFileFacts::Kind>(bytes[kKindAt]);
  facts.index = bytes[kIndexAt];
  facts.modelFiles = bytes[kModelFilesAt];
  facts.dataFiles = bytes[kDataFilesAt];
  HALYARD_RETURN_IF_ERROR(checkCounts(facts));
  facts.contentBytes = number<uint64_t>(bytes, kContentBytesAt);
  takeBytes(bytes, kTokenAt, facts.token);
  takeBytes(bytes, kContentAt, facts.content);
  takeBytes(bytes, kAllDataAt, facts.allData);
  takeBytes(bytes, kBuildAt, facts.build);
  const auto nameBytes = number<uint32_t>(bytes, kNameBytesAt);
  if (nameBytes > CacheFileFacts::kMaxNameBytes) {
    return badData("its head says a name of {} bytes, at most {} fit", nameBytes,
                   CacheFileFacts::kMaxNameBytes);
  }
  facts.driver.assign(reinterpret_cast<const char*>(bytes.data()) + kNameAt, nameBytes);
  return facts;
}

Digest digestOfAll(std::span<const Digest> contents) {
  Sha256 all;
  all.addNumber(contents.size());
  for (const Digest& content : contents) all.add(content);
  return all.finish();
}

}  // namespace halyard::cache
