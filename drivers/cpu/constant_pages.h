// ConstantPages: which constants are in memory while a model is compiled. Some constants are still
// in their files, or must still be made of others: a step brings them when it needs them.
// ConstantPages gives back the constants that kernels have packed. So at most one step's constants
// are in memory in both forms, original and packed.
// Thread safety: as Packing.
// Ownership: borrows the plan, which must outlive it. Keeps no memory.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "cpu/execution_plan.h"
#include "kernels/packing.h"
#include "run_services.h"

namespace halyard::cpudriver {

// About how many bytes the kernels of the plan's main subgraph are going to pack.
size_t mostPacked(const cpu::ExecutionPlan& plan);

// Pages go when every step that reads any constant in them has a kernel and has released it. Other
// readers keep them. In a private mapping they are zeros afterwards; in others they keep their
// content. Copies on the heap stay.
class ConstantPages final : public Packing {
 public:
  // `threads` may be null.
  ConstantPages(const cpu::ExecutionPlan& plan, ThreadShare* threads);
  ~ConstantPages() override { finish(); }
  ConstantPages(const ConstantPages&) = delete;
  ConstantPages& operator=(const ConstantPages&) = delete;

  const void* bring(const void* data) override;
  void divide(size_t count, size_t grain, const Body& body) override {
    services_.parallelFor(count, grain, body);
  }
  void release(const void* data) override;
  void endStep(bool hasKernel, const std::vector<const void*>& constants) override;

  // After the last step: gives back the pages that were left for this moment.
  void finish();
  // The bytes given back so far.
  size_t releasedBytes() const { return releasedBytes_; }
  // OK, or UNMAPPABLE: why a constant could not be read. The kernels made of it are void then.
  const Status& status() const { return status_; }

 private:
  struct Constant {
    size_t pool = 0;
    size_t firstPage = 0;  // of the pool's mapping
    size_t endPage = 0;
    size_t readers = 0;  // operations' inputs that are still to be compiled
    bool isNeeded = false;
    // Not read yet, or made, to where it belongs.
    std::optional<cpu::LaterConstant> later;
    const cpu::FoldedConstant* folded = nullptr;
    std::byte* lent = nullptr;  // where the maker has its bytes

    bool isThere() const { return !later && folded == nullptr; }
    size_t laterBytes() const {
      return folded != nullptr ? folded->bytes
                               : static_cast<size_t>(later->bytes.end - later->bytes.begin);
    }
  };
  struct Pool {
    std::byte* pages = nullptr;   // the beginning of its first page
    std::vector<uint32_t> users;  // by page: constants that are still there
    bool isOnHeap = false;        // its pages are not its own
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
  // Computes the constant from another one, which is brought for it.
  void make(const cpu::FoldedConstant& folded, std::byte* to);
  // One of the operations' inputs has been compiled.
  void endReader(Constant& constant);
  // Reads parts of `bytes` on all threads, `grain` bytes at least.
  void read(const ByteRange& bytes, size_t grain, const std::function<Status(ByteRange)>& part);

  const cpu::ExecutionPlan& plan_;
  const size_t pageSize_;
  std::vector<Pool> pools_;                    // the last: constants that are made of others
  std::map<const void*, Constant> constants_;  // by where their bytes are
  std::set<const void*> ofStep_;               // released by the kernel that is being made
  // Memory that each step's constants are read to. It is mapped already, and in the second-level
  // cache. Most kernels only pack the constants; the reference kernel and a few others do not.
  std::shared_ptr<std::byte> buffer_;
  uint64_t largestLater_ = 0;  // bytes of a constant that was not read when this began
  size_t bufferUsed_ = 0;
  std::vector<const void*> lent_;              // constants that are in it
  std::vector<std::span<std::byte>> waiting_;  // pages to be given back with others
  size_t waitingBytes_ = 0;
  size_t releasedBytes_ = 0;
  RunServices services_;
  Status status_;
};

}  // namespace halyard::cpudriver
