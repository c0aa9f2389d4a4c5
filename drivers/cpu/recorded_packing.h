// Packing that remembers what was packed, and packing that gives it back.
// Thread safety: as Packing. Ownership: pieces share their memory.
#pragma once

#include <set>
#include <span>
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
  void release(const void* data) override { ofStep_.insert(data); }
  void endStep(bool hasKernel, const std::vector<const void*>& constants) override;

  // In the order of the calls of get().
  const std::vector<PackedPiece>& pieces() const { return pieces_; }
  // Whether there are steps that read the constant at `data`, and all of them have released it.
  bool isReleased(const void* data) const {
    return released_.contains(data) && !needed_.contains(data);
  }

 private:
  std::vector<PackedPiece> pieces_;
  std::set<const void*> ofStep_;    // released by the kernel that is being made
  std::set<const void*> released_;  // by a step
  std::set<const void*> needed_;    // by a step
};

class PackingReplay final : public Packing {
 public:
  explicit PackingReplay(std::vector<PackedPiece> pieces) : pieces_(std::move(pieces)) {}

  // Zeros, and not many, where there is no piece, or one of another size.
  Bytes get(size_t bytes, const Write& write) override;
  bool isFresh() const override { return false; }
  void release(const void* data) override { ofStep_.insert(data); }
  void hide(std::span<const std::byte> memory) override { hidden_.push_back(memory); }
  void endStep(bool hasKernel, const std::vector<const void*>& constants) override;

  // Whether what was asked for is what there is, and no step needs what there is not.
  bool isConsistent() const { return !failed_ && next_ == pieces_.size(); }

 private:
  bool isHidden(const void* data) const;

  const std::vector<PackedPiece> pieces_;
  std::vector<std::span<const std::byte>> hidden_;
  std::set<const void*> ofStep_;
  size_t next_ = 0;
  bool failed_ = false;
};

}  // namespace halyard::cpudriver
