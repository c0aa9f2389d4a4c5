// Digests of large data: SHA-256 over the SHA-256s of leaves of 16 KiB. Several threads compute the
// leaves of large data.
// Thread safety: pure functions. A BulkDigester is for one thread at a time.
// Ownership: a call borrows the bytes.
#pragma once

#include <span>
#include <vector>

#include "base/sha256.h"

namespace halyard {

inline constexpr size_t kDigestLeafBytes = 16 * 1024;

// For at most one leaf, the SHA-256 of the bytes. For more bytes, the SHA-256 of three parts:
// - the text "halyard leaves 1" (Sha256::addText);
// - the number of bytes (addNumber);
// - the SHA-256s of the leaves in their order. The last leaf may be shorter.
// A digest over this digest must include the number of bytes, too.
Digest bulkDigest(std::span<const uint8_t> bytes);
// The digest of each of `pieces`.
std::vector<Digest> bulkDigests(std::span<const std::span<const uint8_t>> pieces);

// Computes bulkDigest of bytes that arrive in pieces, on one thread.
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
