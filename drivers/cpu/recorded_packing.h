// Packing that remembers what was packed, and packing that gives it back.
// Thread safety: as Packing. Ownership: pieces share their memory.
#pragma once

#include <set>
#include <vector>

#include "packing.h"

namespace halyard::cpudriver {

struct PackedPiece {
  Packing::Bytes memory;
  size_t bytes = 0;
};

class PackingRecorder final : public Packing {
 public:
  Bytes get(size_t bytes, const Write& write) override;
  bool isFresh() const override { return true; }
  void release(const void* data) override { released_.insert(data); }

  // In the order of the calls of get().
  const std::vector<PackedPiece>& pieces() const { return pieces_; }
  // What has been released since the last call.
  std::set<const void*> takeReleased();

 private:
  std::vector<PackedPiece> pieces_;
  std::set<const void*> released_;
};

class PackingReplay final : public Packing {
 public:
  explicit PackingReplay(std::vector<PackedPiece> pieces) : pieces_(std::move(pieces)) {}

  // Zeros where there is no piece, or one of another size.
  Bytes get(size_t bytes, const Write& write) override;
  bool isFresh() const override { return false; }
  void release(const void*) override {}

  // Whether what was asked for is what there is.
  bool isConsistent() const { return !failed_ && next_ == pieces_.size(); }

 private:
  const std::vector<PackedPiece> pieces_;
  size_t next_ = 0;
  bool failed_ = false;
};

}  // namespace halyard::cpudriver
