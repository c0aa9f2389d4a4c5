// Digests of large data: SHA-256 over the SHA-256 digests of leaves of 16 KiB. The code computes
// several leaves together, and uses a few threads if the data is large enough.
// Thread safety: pure functions; one thread at a time uses a BulkDigester.
// Ownership: bytes are borrowed for a call.
#pragma once

#include <span>
#include <vector>

#include "base/sha256.h"

namespace halyard {

inline constexpr size_t kDigestLeafBytes = 16 * 1024;

// Returns the SHA-256 of the bytes if they fit in one leaf. Otherwise returns the SHA-256 of the
// text "halyard leaves 1" (Sha256::addText), the number of bytes (addNumber) and the SHA-256
// digests of all leaves in order. The last leaf may be shorter. The result therefore depends on the
// number of bytes, too.
Digest bulkDigest(std::span<const uint8_t> bytes);
// Returns bulkDigest of each of `pieces`.
std::vector<Digest> bulkDigests(std::span<const std::span<const uint8_t>> pieces);

// Computes bulkDigest of bytes that come piece by piece, on one thread.
class BulkDigester {
 public:
  void add(std::span<const uint8_t> bytes);
  // Returns the digest of all added bytes. Called once; nothing may be added afterwards.
  Digest finish();

 private:
  std::vector<uint8_t> pending_;  // shorter than a leaf
  std::vector<Digest> leaves_;
  uint64_t bytes_ = 0;
};

}  // namespace halyard
