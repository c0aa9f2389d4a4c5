#include "recorded_packing.h"

#include <utility>

namespace halyard::cpudriver {

Packing::Bytes PackingRecorder::get(size_t bytes, const Write& write) {
  pieces_.push_back({make(bytes, write), bytes});
  return pieces_.back().memory;
}

std::set<const void*> PackingRecorder::takeReleased() { return std::exchange(released_, {}); }

Packing::Bytes PackingReplay::get(size_t bytes, const Write&) {
  if (next_ < pieces_.size() && pieces_[next_].bytes == bytes) return pieces_[next_++].memory;
  failed_ = true;
  return make(bytes, [](std::byte*) {});
}

}  // namespace halyard::cpudriver
