#include "recorded_packing.h"

#include <algorithm>
#include <functional>

namespace halyard::cpudriver {
namespace {

constexpr size_t kMostForNobody = 512;

}  // namespace

Packing::Bytes PackingRecorder::get(size_t bytes, const Write& write) {
  pieces_.push_back({makeHere(bytes, write), bytes});
  return pieces_.back().memory;
}

void PackingRecorder::endStep(bool hasKernel, const std::vector<const void*>& constants) {
  for (const void* constant : constants) {
    const bool isReleased = hasKernel && ofStep_.contains(constant);
    (isReleased ? released_ : needed_).insert(constant);
  }
  ofStep_.clear();
}

Packing::Bytes PackingReplay::get(size_t bytes, const Write&) {
  if (next_ < pieces_.size() && pieces_[next_].bytes == bytes) return pieces_[next_++].memory;
  failed_ = true;
  // For a kernel that will never run; a maker looks at decisions only.
  return make(std::min(bytes, kMostForNobody), [](std::byte*) {});
}

bool PackingReplay::isHidden(const void* data) const {
  const auto* const at = static_cast<const std::byte*>(data);
  return std::ranges::any_of(hidden_, [at](std::span<const std::byte> memory) {
    return std::less_equal<>()(memory.data(), at) &&
           std::less<>()(at, memory.data() + memory.size());
  });
}

void PackingReplay::endStep(bool hasKernel, const std::vector<const void*>& constants) {
  for (const void* constant : constants) {
    if (isHidden(constant) && !(hasKernel && ofStep_.contains(constant))) failed_ = true;
  }
  ofStep_.clear();
}

}  // namespace halyard::cpudriver
