// Nettle digests the leaves, on a few threads where there are many.
#include "base/bulk_digest.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

#include "base/made_once.h"
#include "base/signals_blocked.h"

namespace halyard {
namespace {

// Starting a thread takes as long as digesting about this.
constexpr size_t kBytesForThread = size_t{512} << 10;
constexpr size_t kMostThreads = 4;

using Bytes = std::span<const uint8_t>;

size_t usefulThreads() {
  return madeOnce(
      [] { return std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostThreads); });
}

std::vector<Digest> digestAll(std::span<const Bytes> leaves, size_t totalBytes) {
  constexpr size_t kTask = 16;  // leaves
  std::vector<Digest> digests(leaves.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next.fetch_add(kTask); i < leaves.size(); i = next.fetch_add(kTask)) {
      const size_t end = std::min(i + kTask, leaves.size());
      for (size_t leaf = i; leaf < end; ++leaf) digests[leaf] = sha256(leaves[leaf]);
    }
  };
  const size_t threads = std::min(usefulThreads(), totalBytes / kBytesForThread + 1);
  std::vector<std::jthread> others;
  try {
    const SignalsBlocked blocked;
    while (others.size() + 1 < threads) others.emplace_back(work);
  } catch (const std::system_error&) {
    // The threads that there are do the work.
  }
  work();
  others.clear();
  return digests;
}

void addLeaves(Bytes bytes, std::vector<Bytes>* leaves) {
  for (size_t at = 0; at == 0 || at < bytes.size(); at += kDigestLeafBytes) {
    leaves->push_back(bytes.subspan(at, std::min(kDigestLeafBytes, bytes.size() - at)));
  }
}

// `leaves` are those of `bytes` bytes.
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
  std::vector<Bytes> leaves;
  std::vector<size_t> ends;  // by piece, of its leaves
  size_t totalBytes = 0;
  for (const Bytes piece : pieces) {
    addLeaves(piece, &leaves);
    ends.push_back(leaves.size());
    totalBytes += piece.size();
  }
  const std::vector<Digest> ofLeaves = digestAll(leaves, totalBytes);
  std::vector<Digest> digests;
  size_t begin = 0;
  for (size_t i = 0; i < pieces.size(); begin = ends[i++]) {
    digests.push_back(
        combine(std::span(ofLeaves).subspan(begin, ends[i] - begin), pieces[i].size()));
  }
  return digests;
}

void BulkDigester::add(std::span<const uint8_t> bytes) {
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(kDigestLeafBytes - leafBytes_, bytes.size()));
    leaf_.add(part);
    leafBytes_ += part.size();
    bytes = bytes.subspan(part.size());
    if (leafBytes_ == kDigestLeafBytes) endLeaf();
  }
}

void BulkDigester::endLeaf() {
  leaves_.push_back(leaf_.finish());
  leafBytes_ = 0;
}

Digest BulkDigester::finish() {
  if (leafBytes_ > 0 || leaves_.empty()) endLeaf();
  return combine(leaves_, bytes_);
}

}  // namespace halyard
