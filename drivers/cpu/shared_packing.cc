#include "shared_packing.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

namespace halyard::cpudriver {
namespace {

// Bytes: less is not worth a search.
constexpr size_t kLeastShared = 256;

// The most pieces with the same key. Pieces that agree at all places that the key covers are most
// often equal.
constexpr size_t kMostAlike = 8;

// Of the size, and of some of the content.
uint64_t keyOf(const std::byte* content, size_t bytes) {
  constexpr size_t kSamples = 64;
  constexpr size_t kSample = sizeof(uint64_t);
  uint64_t samples[kSamples + 1] = {bytes};
  if (bytes <= kSamples * kSample) {
    std::memcpy(samples + 1, content, bytes);
  } else {
    for (size_t i = 0; i < kSamples; ++i) {
      std::memcpy(samples + 1 + i, content + (bytes - kSample) / (kSamples - 1) * i, kSample);
    }
  }
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(samples), sizeof samples});
}

}  // namespace

SharedPacking::SharedPacking(PackedPieces& pieces, ThreadShare* threads)
    : pieces_(pieces),
      lock_(pieces.packing_),
      // Pieces whose plans are gone are not searched.
      isFirst_((std::erase_if(pieces.pieces_,
                              [](const auto& piece) { return piece.second.memory.expired(); }),
                pieces.pieces_.empty())),
      services_(threads) {}

void SharedPacking::expect(size_t bytes) {
  if (isFirst_) Packing::expect(bytes);
}

Packing::Bytes SharedPacking::get(size_t bytes, const Write& write) {
  if (bytes < kLeastShared) return makeHere(bytes, write);
  if (isFirst_) {
    Bytes made = makeHere(bytes, write);
    remember(keyOf(made.get(), bytes), made, bytes);
    return made;
  }
  std::byte* const content = zeros(bytes);
  write(content);
  const uint64_t key = keyOf(content, bytes);
  if (Bytes found = find(key, content, bytes)) return found;
  Bytes made = makeHere(bytes, [&](std::byte* to) { std::memcpy(to, content, bytes); });
  remember(key, made, bytes);
  return made;
}

Packing::Bytes SharedPacking::find(uint64_t key, const std::byte* content, size_t bytes) {
  const auto [begin, end] = pieces_.pieces_.equal_range(key);
  for (auto at = begin; at != end; ++at) {
    if (at->second.bytes != bytes) continue;
    Bytes memory = at->second.memory.lock();
    if (memory != nullptr && std::memcmp(memory.get(), content, bytes) == 0) return memory;
  }
  return nullptr;
}

void SharedPacking::remember(uint64_t key, const Bytes& memory, size_t bytes) {
  ownBytes_ += bytes;
  auto& pieces = pieces_.pieces_;
  if (pieces.count(key) < kMostAlike) pieces.emplace(key, PackedPieces::Piece{memory, bytes});
}

std::byte* SharedPacking::zeros(size_t bytes) {
  constexpr size_t kAlignment = cpu::BlockPool::kAlignment;
  static_assert(kAlignment >= kPackedAlignment);
  if (buffer_.capacity <= bytes) {
    buffer_ = {};
    const size_t capacity = (bytes + kAlignment) / kAlignment * kAlignment;
    buffer_.memory.reset(std::aligned_alloc(kAlignment, capacity));
    if (buffer_.data() == nullptr) throw std::bad_alloc();
    buffer_.capacity = capacity;
  }
  auto* const memory = static_cast<std::byte*>(buffer_.data());
  std::memset(memory, 0, bytes);
  return memory;
}

}  // namespace halyard::cpudriver
