// Digests of large data: SHA-256 over the SHA-256s of leaves of 16 KiB, which a few threads compute
// at once where there are many.
// Thread safety: pure functions; a BulkDigester is for one thread at a time. Ownership: bytes are
// borrowed for a call.
#pragma once

#include <span>
#include <vector>

#include "base/sha256.h"

namespace halyard {

inline constexpr size_t kDigestLeafBytes = 16 * 1024;

// Up to a leaf, the SHA-256 of the bytes. Of more: the SHA-256 of the text "halyard leaves 1"
// (Sha256::addText), the number of bytes (addNumber), and the SHA-256s of the leaves in their
// order, of which the last may be shorter. Whoever digests this digests the number of bytes, too.
Digest bulkDigest(std::span<const uint8_t> bytes);
// Of each of `pieces`.
std::vector<Digest> bulkDigests(std::span<const std::span<const uint8_t>> pieces);

// The same of bytes that come piece by piece, on one thread.
class BulkDigester {
 public:
  void add(std::span<const uint8_t> bytes);
  // Of everything that was added. Once; nothing may be added afterwards.
  Digest finish();

 private:
  void endLeaf();

  Sha256 leaf_;  // of the leaf that has begun
  size_t leafBytes_ = 0;
  std::vector<Digest> leaves_;
  uint64_t bytes_ = 0;
};

}  // namespace halyard
