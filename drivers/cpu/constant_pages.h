// ConstantPages: controls which constants are in memory while a model is compiled. Some constants
// are still in their files, or must still be computed from others. They are brought when the first
// step needs them. Constants that kernels have packed are given back. So about one step's constants
// at a time are in memory in both forms, original and packed.
// Thread safety: as SharedPacking.
// Ownership: borrows the plan, which must outlive it. Owns a buffer until finish().
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "cpu/execution_plan.h"
#include "shared_packing.h"

namespace halyard::cpudriver {

// An estimate of the bytes that the kernels of the plan's main subgraph will pack.
size_t mostPacked(const cpu::ExecutionPlan& plan);

// A page is given back when each step that reads a constant in it has a kernel that has released
// the constant. A step without such a kernel keeps the page. Afterwards, pages of a private mapping
// are zeros; pages of other mappings keep their content. Copies on the heap stay.
class ConstantPages final : public SharedPacking {
 public:
  // `threads` may be null.
  ConstantPages(const cpu::ExecutionPlan& plan, PackedPieces& pieces, ThreadShare* threads);
  ~ConstantPages() override { finish(); }
  ConstantPages(const ConstantPages&) = delete;
  ConstantPages& operator=(const ConstantPages&) = delete;

  const void* bring(const void* data) override;
  void release(const void* data) override;
  void endStep(bool hasKernel, const std::vector<const void*>& constants) override;

  // After the last step: gives back the pages that were left for this moment.
  void finish();
  // The bytes given back so far.
  size_t releasedBytes() const { return releasedBytes_; }
  // OK, or the first error of a constant: UNMAPPABLE if it could not be read, another code if it
  // could not be computed. Kernels that were made of it must not run then.
  const Status& status() const { return status_; }

 private:
  struct Constant {
    size_t pool = 0;
    size_t firstPage = 0;  // of the pool's mapping
    size_t endPage = 0;
    size_t readers = 0;     // operations' inputs that are still to be compiled
    bool isNeeded = false;  // every run reads it in its own place
    // Set while the bytes have not been read or computed into their own place.
    std::optional<cpu::LaterConstant> later;
    const cpu::FoldedConstant* folded = nullptr;
    std::byte* lent = nullptr;  // its bytes in the buffer, during one step

    bool isThere() const { return !later && folded == nullptr; }
    size_t laterBytes() const {
      return folded != nullptr ? folded->bytes
                               : static_cast<size_t>(later->bytes.end - later->bytes.begin);
    }
  };
  struct Pool {
    std::byte* pages = nullptr;   // the beginning of its first page
    std::vector<uint32_t> users;  // by page: constants in it that are still in use
    bool isOnHeap = false;        // other data may share its pages
  };

  void addConstants(const cpu::ExecutionPlan& plan);
  void countReaders(const cpu::SubgraphPlan& plan);
  std::span<std::byte> pagesOf(const Constant& constant) const;
  void giveBack(const Constant& constant);
  void give(std::span<std::byte> pages);
  void giveWaiting();
  void add(const std::byte* data, size_t bytes, size_t pool);
  std::byte* lend(const void* data, Constant& constant);
  void keep(const void* data, Constant& constant);
  void putInItsPlace(const void* data, Constant& constant);
  // The constant that `folded` is made of.
  const void* sourceOf(const cpu::FoldedConstant& folded) const;
  // Computes the constant from its source, which it brings first.
  void make(const cpu::FoldedConstant& folded, std::byte* to);
  // One of the operations' inputs has been compiled.
  void endReader(Constant& constant);
  // The constant is made in its own place, or not needed any more.
  void endSource(const cpu::FoldedConstant& folded);
  // Reads `bytes` on all threads, in parts of at least `grain` bytes.
  void read(const ByteRange& bytes, size_t grain, const std::function<Status(ByteRange)>& part);

  const cpu::ExecutionPlan& plan_;
  const size_t pageSize_;
  std::vector<Pool> pools_;                    // the last: constants that are made of others
  std::map<const void*, Constant> constants_;  // by where their bytes are
  std::set<const void*> ofStep_;               // released by the kernel that is being made
  // Memory to which the constants of a step are read or computed, if no other step reads them. All
  // steps reuse it, so its pages are mapped, and in the second-level cache. Most makers only pack
  // the constants. A constant that the step's kernel reads itself is copied to its own place.
  std::shared_ptr<std::byte> buffer_;
  uint64_t largestLater_ = 0;  // bytes of the largest constant that was absent at construction
  size_t bufferUsed_ = 0;
  std::vector<const void*> lent_;              // constants that are in it
  std::vector<std::span<std::byte>> waiting_;  // pages that go back together
  size_t waitingBytes_ = 0;
  size_t releasedBytes_ = 0;
  Status status_;
};

}  // namespace halyard::cpudriver
