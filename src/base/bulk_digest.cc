// A processor's SHA-256 instructions wait for each other within one digest. Four digests computed
// together take little more than half of the time of four in a row.
#include "base/bulk_digest.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <system_error>
#include <thread>

#include "base/made_once.h"
#include "base/signals_blocked.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace halyard {
namespace {

constexpr size_t kBlockBytes = 64;
// Digesting this number of bytes takes about as long as starting a thread.
constexpr size_t kBytesForThread = size_t{512} << 10;
constexpr size_t kMostThreads = 4;

using Bytes = std::span<const uint8_t>;

#if defined(__x86_64__)
#define HALYARD_TARGET_SHA __attribute__((target("sha,sse4.1,avx")))
#define HALYARD_SHA_UNROLL _Pragma("GCC unroll 16")

constexpr size_t kLanes = 4;

// The constants of FIPS 180-4: the first 32 bits of the fractions of primes' cube roots and square
// roots.
alignas(16) constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
// The layout that the instructions use for the state: words f, e, b, a and h, g, d, c, lowest
// first.
alignas(16) constexpr uint32_t kStartAbef[4] = {0x9b05688c, 0x510e527f, 0xbb67ae85, 0x6a09e667};
alignas(16) constexpr uint32_t kStartCdgh[4] = {0x5be0cd19, 0x1f83d9ab, 0xa54ff53a, 0x3c6ef372};

bool hasShaInstructions() {
  return madeOnce([] {
    __builtin_cpu_init();
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    const bool sha = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1) != 0;
    return sha && __builtin_cpu_supports("avx") && __builtin_cpu_supports("sse4.1");
  });
}

struct Lanes {
  __m128i abef[kLanes];
  __m128i cdgh[kLanes];
};

HALYARD_TARGET_SHA inline __m128i load(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}

// Adds one block of each of kLanes messages.
HALYARD_TARGET_SHA inline void addBlocks(Lanes& lanes, const uint8_t* const* blocks) {
  const __m128i bigEndian = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
  const Lanes before = lanes;
  __m128i words[kLanes][4];
  for (size_t lane = 0; lane < kLanes; ++lane) {
    for (size_t i = 0; i < 4; ++i) {
      words[lane][i] = _mm_shuffle_epi8(load(blocks[lane] + i * 16), bigEndian);
    }
  }
  HALYARD_SHA_UNROLL
  for (size_t four = 0; four < 16; ++four) {
    const __m128i constants = load(kRound + four * 4);
    HALYARD_SHA_UNROLL
    for (size_t lane = 0; lane < kLanes; ++lane) {
      __m128i* const w = words[lane];
      __m128i& next = w[four % 4];
      if (four >= 4) {
        const __m128i last = w[(four + 3) % 4];
        next = _mm_sha256msg1_epu32(next, w[(four + 1) % 4]);
        next = _mm_add_epi32(next, _mm_alignr_epi8(last, w[(four + 2) % 4], 4));
        next = _mm_sha256msg2_epu32(next, last);
      }
      const __m128i sum = _mm_add_epi32(next, constants);
      __m128i& abef = lanes.abef[lane];
      __m128i& cdgh = lanes.cdgh[lane];
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    }
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    lanes.abef[lane] = _mm_add_epi32(lanes.abef[lane], before.abef[lane]);
    lanes.cdgh[lane] = _mm_add_epi32(lanes.cdgh[lane], before.cdgh[lane]);
  }
}

// Computes the SHA-256 digests of kLanes whole leaves.
HALYARD_TARGET_SHA void digestLeaves(const uint8_t* const* leaves, Digest* const* digests) {
  Lanes lanes;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    lanes.abef[lane] = load(kStartAbef);
    lanes.cdgh[lane] = load(kStartCdgh);
  }
  const uint8_t* blocks[kLanes];
  for (size_t at = 0; at < kDigestLeafBytes; at += kBlockBytes) {
    for (size_t lane = 0; lane < kLanes; ++lane) blocks[lane] = leaves[lane] + at;
    addBlocks(lanes, blocks);
  }
  // The end of the message: one set bit, and the message's length in bits.
  uint8_t end[kBlockBytes] = {0x80};
  for (size_t i = 0; i < 4; ++i) {
    end[kBlockBytes - 1 - i] = static_cast<uint8_t>(kDigestLeafBytes * 8 >> (8 * i));
  }
  for (const uint8_t*& block : blocks) block = end;
  addBlocks(lanes, blocks);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    uint32_t low[4];
    uint32_t high[4];
    _mm_storeu_si128(reinterpret_cast<__m128i*>(low), lanes.abef[lane]);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(high), lanes.cdgh[lane]);
    const uint32_t state[8] = {low[3], low[2], high[3], high[2], low[1], low[0], high[1], high[0]};
    for (size_t i = 0; i < digests[lane]->size(); ++i) {
      (*digests[lane])[i] = static_cast<uint8_t>(state[i / 4] >> (24 - i % 4 * 8));
    }
  }
}
#else
constexpr size_t kLanes = 1;
bool hasShaInstructions() { return false; }
void digestLeaves(const uint8_t* const*, Digest* const*) {}
#endif

struct Leaf {
  Bytes bytes;
  Digest digest = {};
};

// The caller groups leaves of the same length, except for those at the end.
void digestRange(std::span<Leaf> leaves) {
  size_t i = 0;
  while (i < leaves.size()) {
    const auto group = leaves.subspan(i, std::min(kLanes, leaves.size() - i));
    const bool whole = group.size() == kLanes && std::ranges::all_of(group, [](const Leaf& leaf) {
                         return leaf.bytes.size() == kDigestLeafBytes;
                       });
    if (whole && hasShaInstructions()) {
      const uint8_t* from[kLanes];
      Digest* to[kLanes];
      for (size_t lane = 0; lane < kLanes; ++lane) {
        from[lane] = group[lane].bytes.data();
        to[lane] = &group[lane].digest;
      }
      digestLeaves(from, to);
      i += kLanes;
    } else {
      leaves[i].digest = sha256(leaves[i].bytes);
      ++i;
    }
  }
}

size_t usefulThreads() {
  return madeOnce(
      [] { return std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostThreads); });
}

void digestAll(std::span<Leaf> leaves, size_t totalBytes) {
  constexpr size_t kTask = 4 * kLanes;
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next.fetch_add(kTask); i < leaves.size(); i = next.fetch_add(kTask)) {
      digestRange(leaves.subspan(i, std::min(kTask, leaves.size() - i)));
    }
  };
  const size_t threads = std::min(usefulThreads(), totalBytes / kBytesForThread + 1);
  std::vector<std::jthread> others;
  try {
    const SignalsBlocked blocked;
    while (others.size() + 1 < threads) others.emplace_back(work);
  } catch (const std::system_error&) {
    // The threads that have started do all the work.
  }
  work();
}

// `leaves` are the digests of the leaves of `bytes` bytes.
Digest combine(std::span<const Digest> leaves, uint64_t bytes) {
  if (bytes <= kDigestLeafBytes) return leaves[0];
  Sha256 all;
  all.addText("halyard leaves 1").addNumber(bytes);
  for (const Digest& leaf : leaves) all.add(leaf);
  return all.finish();
}

}  // namespace

Digest bulkDigest(std::span<const uint8_t> bytes) { return bulkDigests(std::span(&bytes, 1))[0]; }

std::vector<Digest> bulkDigests(std::span<const std::span<const uint8_t>> pieces) {
  // The whole leaves come first, because they are digested in groups.
  std::vector<Leaf> leaves;
  std::vector<Leaf> ends;
  size_t totalBytes = 0;
  for (const Bytes piece : pieces) {
    for (size_t at = 0; at == 0 || at < piece.size(); at += kDigestLeafBytes) {
      const size_t size = std::min(kDigestLeafBytes, piece.size() - at);
      (size == kDigestLeafBytes ? leaves : ends).push_back({piece.subspan(at, size)});
    }
    totalBytes += piece.size();
  }
  const size_t whole = leaves.size();
  leaves.insert(leaves.end(), ends.begin(), ends.end());
  digestAll(leaves, totalBytes);
  std::vector<Digest> digests;
  std::vector<Digest> ofPiece;
  size_t nextWhole = 0;
  size_t nextEnd = whole;
  for (const Bytes piece : pieces) {
    ofPiece.clear();
    for (size_t i = 0; i < piece.size() / kDigestLeafBytes; ++i) {
      ofPiece.push_back(leaves[nextWhole++].digest);
    }
    const bool hasEnd = piece.empty() || piece.size() % kDigestLeafBytes != 0;
    if (hasEnd) ofPiece.push_back(leaves[nextEnd++].digest);
    digests.push_back(combine(ofPiece, piece.size()));
  }
  return digests;
}

void BulkDigester::add(std::span<const uint8_t> bytes) {
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    if (const size_t whole = bytes.size() / kDigestLeafBytes; pending_.empty() && whole > 0) {
      std::vector<Leaf> leaves;
      for (size_t i = 0; i < whole; ++i) {
        leaves.push_back({bytes.subspan(i * kDigestLeafBytes, kDigestLeafBytes)});
      }
      digestRange(leaves);
      for (const Leaf& leaf : leaves) leaves_.push_back(leaf.digest);
      bytes = bytes.subspan(whole * kDigestLeafBytes);
      continue;
    }
    const auto part = bytes.first(std::min(kDigestLeafBytes - pending_.size(), bytes.size()));
    pending_.insert(pending_.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    if (pending_.size() < kDigestLeafBytes) return;
    leaves_.push_back(sha256(pending_));
    pending_.clear();
  }
}

Digest BulkDigester::finish() {
  if (!pending_.empty() || leaves_.empty()) leaves_.push_back(sha256(pending_));
  return combine(leaves_, bytes_);
}

}  // namespace halyard
