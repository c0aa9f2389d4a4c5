#include "shared_packing.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

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

// Of the operations, and of the types and sizes of operands.
uint64_t structureOf(const Model& model) {
  uint64_t hash = 0;
  const auto add = [&hash](uint64_t value) {
    constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    hash = (hash ^ value) * kGoldenRatio;
    hash ^= hash >> 32;
  };
  const auto addSubgraph = [&add](const Subgraph& subgraph) {
    for (const Operation& operation : subgraph.operations) {
      add(static_cast<uint64_t>(operation.type));
      for (const uint32_t input : operation.inputs) add(input);
    }
    for (const Operand& operand : subgraph.operands) {
      add(static_cast<uint64_t>(operand.type));
      add(operand.location.length);
      for (const uint32_t dimension : operand.dimensions) add(dimension);
    }
  };
  addSubgraph(model.main);
  for (const Subgraph& subgraph : model.referenced) addSubgraph(subgraph);
  return hash;
}

}  // namespace

bool PackedPieces::isEmpty() {
  const std::lock_guard lock(mutex_);
  std::erase_if(pieces_, [](const auto& piece) { return piece.second.memory.expired(); });
  return pieces_.empty();
}

PackedPieces::Bytes PackedPieces::find(const std::byte* content, size_t bytes) {
  const uint64_t key = keyOf(content, bytes);
  const std::lock_guard lock(mutex_);
  return findLocked(key, content, bytes);
}

PackedPieces::Bytes PackedPieces::share(Bytes made, size_t bytes) {
  const uint64_t key = keyOf(made.get(), bytes);
  const std::lock_guard lock(mutex_);
  if (Bytes found = findLocked(key, made.get(), bytes)) return found;
  if (pieces_.count(key) < kMostAlike) pieces_.emplace(key, Piece{made, bytes});
  return made;
}

PackedPieces::Bytes PackedPieces::findLocked(uint64_t key, const std::byte* content, size_t bytes) {
  const auto [begin, end] = pieces_.equal_range(key);
  for (auto at = begin; at != end; ++at) {
    if (at->second.bytes != bytes) continue;
    Bytes memory = at->second.memory.lock();
    if (memory != nullptr && std::memcmp(memory.get(), content, bytes) == 0) return memory;
  }
  return nullptr;
}

std::shared_ptr<PackedPieces> ModelPieces::of(const Model& model) {
  const uint64_t structure = structureOf(model);
  const std::lock_guard lock(mutex_);
  std::erase_if(byStructure_, [](const auto& pieces) { return pieces.second.expired(); });
  std::weak_ptr<PackedPieces>& kept = byStructure_[structure];
  std::shared_ptr<PackedPieces> pieces = kept.lock();
  if (pieces == nullptr) kept = pieces = std::make_shared<PackedPieces>();
  return pieces;
}

SharedPacking::SharedPacking(PackedPieces& pieces, ThreadShare* threads)
    : pieces_(pieces), isFirst_(pieces.isEmpty()), services_(threads) {}

void SharedPacking::expect(size_t bytes) {
  if (isFirst_) Packing::expect(bytes);
}

Packing::Bytes SharedPacking::get(size_t bytes, const Write& write) {
  if (bytes < kLeastShared) return makeHere(bytes, write);
  if (isFirst_) return share(makeHere(bytes, write), bytes);
  std::byte* const content = zeros(bytes);
  write(content);
  if (Bytes found = pieces_.find(content, bytes)) return found;
  return share(makeHere(bytes, [&](std::byte* to) { std::memcpy(to, content, bytes); }), bytes);
}

Packing::Bytes SharedPacking::share(Bytes made, size_t bytes) {
  const std::byte* const mine = made.get();
  Bytes shared = pieces_.share(std::move(made), bytes);
  if (shared.get() == mine) ownBytes_ += bytes;
  return shared;
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
