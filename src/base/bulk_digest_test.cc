#include "base/bulk_digest.h"

#include <gtest/gtest.h>

#include <random>

namespace halyard {
namespace {

std::vector<uint8_t> randomBytes(size_t size, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(engine());
  return bytes;
}

// Computes the digest as the header describes it.
Digest plainDigest(std::span<const uint8_t> bytes) {
  if (bytes.size() <= kDigestLeafBytes) return sha256(bytes);
  Sha256 all;
  all.addText("halyard leaves 1").addNumber(bytes.size());
  for (size_t at = 0; at < bytes.size(); at += kDigestLeafBytes) {
    all.add(sha256(bytes.subspan(at, std::min(kDigestLeafBytes, bytes.size() - at))));
  }
  return all.finish();
}

constexpr size_t kLeaf = kDigestLeafBytes;
constexpr size_t kSizes[] = {0,         1,         kLeaf - 1,     kLeaf,     kLeaf + 1,
                             4 * kLeaf, 5 * kLeaf, 9 * kLeaf + 7, 3 * kLeaf, 200 * kLeaf + 100};

TEST(BulkDigestTest, IsTheDigestOfTheLeavesDigests) {
  for (const size_t size : kSizes) {
    // The bytes need not be aligned.
    const std::vector<uint8_t> bytes = randomBytes(size + 1, static_cast<unsigned>(size));
    const auto unaligned = std::span(bytes).subspan(1);
    EXPECT_EQ(bulkDigest(unaligned), plainDigest(unaligned)) << size;
  }
}

TEST(BulkDigestTest, OfManyPiecesIsThatOfEach) {
  std::vector<std::vector<uint8_t>> pieces;
  for (unsigned round = 0; round < 3; ++round) {
    for (const size_t size : kSizes) pieces.push_back(randomBytes(size, round));
  }
  const std::vector<std::span<const uint8_t>> spans(pieces.begin(), pieces.end());
  const std::vector<Digest> digests = bulkDigests(spans);
  ASSERT_EQ(digests.size(), pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) EXPECT_EQ(digests[i], plainDigest(pieces[i])) << i;
  EXPECT_TRUE(bulkDigests({}).empty());
}

TEST(BulkDigestTest, BytesMayComePieceByPiece) {
  for (const size_t size : kSizes) {
    const std::vector<uint8_t> bytes = randomBytes(size, 3);
    for (const size_t piece : {size_t{1000}, kLeaf, 3 * kLeaf + 5}) {
      BulkDigester digester;
      for (size_t at = 0; at < size; at += piece) {
        digester.add(std::span(bytes).subspan(at, std::min(piece, size - at)));
      }
      EXPECT_EQ(digester.finish(), plainDigest(bytes)) << size << " in pieces of " << piece;
    }
  }
}

TEST(BulkDigestTest, EveryBitCounts) {
  std::vector<uint8_t> bytes = randomBytes(5 * kLeaf + 3, 1);
  const Digest before = bulkDigest(bytes);
  for (size_t at = 0; at < bytes.size(); at += 997) {
    bytes[at] ^= 1;
    EXPECT_NE(bulkDigest(bytes), before) << at;
    bytes[at] ^= 1;
  }
  bytes.push_back(0);
  EXPECT_NE(bulkDigest(bytes), before);
}

}  // namespace
}  // namespace halyard
