// Pages are counted by who is still to read them.
#include "constant_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

namespace halyard::cpudriver {
namespace {

// Of a constant: less is not worth another thread.
constexpr size_t kBytesAtOnce = 256 * 1024;
// Moving pages has its price, too, for each move, and it rises with their number: a mapping becomes
// several.
constexpr size_t kLeastMoved = size_t{512} << 10;
constexpr size_t kMostMoves = 128;
// Giving back disturbs all threads of the process: what is less waits for its neighbours in the
// file.
constexpr size_t kLeastGiven = size_t{256} << 10;

}  // namespace

ConstantPages::ConstantPages(const cpu::ExecutionPlan& plan, Packing* behind, ThreadShare* threads)
    : plan_(plan),
      behind_(behind),
      pageSize_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))),
      services_(threads) {
  for (const Mapping& mapping : plan.mappings) {
    auto* const data = reinterpret_cast<std::byte*>(mapping.data());
    const size_t skip = reinterpret_cast<uintptr_t>(data) % pageSize_;
    const size_t pages = (skip + mapping.size() + pageSize_ - 1) / pageSize_;
    pools_.push_back({data - skip, std::vector<uint32_t>(pages)});
  }
  addConstants(plan);
  countReaders(plan.main);
  size_t bytes = 0;
  for (const Operand& operand : plan.main.subgraph->operands) bytes += operand.location.length;
  // Many operands may have the same bytes.
  size_t most = plan.model->operandValues.size();
  for (const Mapping& mapping : plan.mappings) most += mapping.size();
  ConstantPages::expect(std::min(bytes, most));
}

void ConstantPages::addConstants(const cpu::ExecutionPlan& plan) {
  for (const Operand& operand : plan.main.subgraph->operands) {
    if (operand.lifetime != Lifetime::CONSTANT_REFERENCE || operand.location.length == 0) continue;
    const size_t index = operand.location.poolIndex;
    const std::byte* const data =
        reinterpret_cast<const std::byte*>(plan.mappings[index].data()) + operand.location.offset;
    const auto begin = static_cast<size_t>(data - pools_[index].pages);
    const size_t endPage = (begin + operand.location.length + pageSize_ - 1) / pageSize_;
    const auto [at, isNew] =
        constants_.try_emplace(data, Constant{index, begin / pageSize_, endPage, 0, false, {}});
    // The same place may be several operands, of several lengths.
    at->second.endPage = std::max(at->second.endPage, endPage);
  }
  for (const cpu::LaterConstant& later : plan.later) {
    constants_.at(plan.mappings[later.pool].data() + later.bytes.begin).later = later;
    pools_[later.pool].isCopy = true;
  }
  for (const auto& [data, constant] : constants_) {
    for (size_t page = constant.firstPage; page < constant.endPage; ++page) {
      ++pools_[constant.pool].users[page];
    }
  }
}

void ConstantPages::countReaders(const cpu::SubgraphPlan& plan) {
  for (const Operation& operation : plan.subgraph->operations) {
    for (const uint32_t operand : operation.inputs) {
      const auto at = constants_.find(plan.tensors[operand].data);
      if (at != constants_.end()) ++at->second.readers;
    }
  }
}

Packing::Bytes ConstantPages::get(size_t bytes, const Write& write) {
  return behind_ != nullptr ? behind_->get(bytes, write) : makeHere(bytes, write);
}

// Who makes the pieces.
void ConstantPages::expect(size_t bytes) {
  behind_ != nullptr ? behind_->expect(bytes) : Packing::expect(bytes);
}

void ConstantPages::need(std::span<const void* const> constants) {
  for (const void* data : constants) {
    const auto at = constants_.find(data);
    if (at == constants_.end() || !at->second.later) continue;
    const cpu::LaterConstant later = *at->second.later;
    at->second.later.reset();
    Status read = this->read(later);
    if (status_.ok() && !read.ok()) status_ = std::move(read);
  }
}

Status ConstantPages::read(const cpu::LaterConstant& later) {
  const SharedMemory& pool = *plan_.model->pools[later.pool];
  const Mapping& copy = plan_.mappings[later.pool];
  reusePages(constants_.at(copy.data() + later.bytes.begin));
  std::mutex mutex;
  Status failure;
  divide(later.bytes.end - later.bytes.begin, kBytesAtOnce, [&](size_t begin, size_t end) {
    const ByteRange part = {later.bytes.begin + begin, later.bytes.begin + end};
    Status status = readIntoCopy(pool, part, copy);
    if (status.ok()) return;
    const std::lock_guard lock(mutex);
    failure = std::move(status);
  });
  return failure;
}

void ConstantPages::release(const void* data) {
  ofStep_.insert(data);
  if (behind_ != nullptr) behind_->release(data);
}

void ConstantPages::hide(std::span<const std::byte> memory) {
  if (behind_ != nullptr) behind_->hide(memory);
}

void ConstantPages::endStep(bool hasKernel, const std::vector<const void*>& constants) {
  for (const void* data : constants) {
    const auto at = constants_.find(data);
    if (at == constants_.end()) continue;
    Constant& constant = at->second;
    if (!hasKernel || !ofStep_.contains(data)) constant.isNeeded = true;
    if (constant.readers > 0 && --constant.readers == 0 && !constant.isNeeded) giveBack(constant);
  }
  ofStep_.clear();
  if (behind_ != nullptr) behind_->endStep(hasKernel, constants);
}

// Pages of `constant` that `users` constants are in: nobody is in the rest between them.
std::span<std::byte> ConstantPages::pagesOf(const Constant& constant, uint32_t users) const {
  const Pool& pool = pools_[constant.pool];
  const auto isOther = [&](size_t page) { return pool.users[page] != users; };
  // Those at its ends may be its neighbours', too.
  size_t begin = constant.firstPage;
  size_t end = constant.endPage;
  while (begin < end && isOther(begin)) ++begin;
  while (end > begin && isOther(end - 1)) --end;
  for (size_t page = begin; page < end; ++page) {
    if (isOther(page)) return {};  // constants that overlap
  }
  return {pool.pages + begin * pageSize_, (end - begin) * pageSize_};
}

// Pages that are there take a fraction of the time of new ones, and their bytes may be in a cache.
void ConstantPages::reusePages(const Constant& constant) {
  std::span<std::byte> to = pagesOf(constant, 1);
  while (to.size() >= kLeastMoved && !spare_.empty()) {
    std::span<std::byte>& spare = spare_.back();
    const size_t bytes = std::min(to.size(), spare.size());
    std::byte* const from = spare.data() + spare.size() - bytes;
    constexpr int kFlags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
    if (moves_ == kMostMoves || ::mremap(from, bytes, bytes, kFlags, to.data()) == MAP_FAILED) {
      dropSpare();
      return;
    }
    ++moves_;
    to = to.subspan(bytes);
    spare = spare.first(spare.size() - bytes);
    if (spare.size() >= kLeastMoved) continue;
    (void)::madvise(spare.data(), spare.size(), MADV_DONTNEED);
    spare_.pop_back();
  }
}

void ConstantPages::dropSpare() {
  for (const std::span<std::byte> spare : spare_) {
    (void)::madvise(spare.data(), spare.size(), MADV_DONTNEED);
  }
  spare_.clear();
}

void ConstantPages::giveBack(const Constant& constant) {
  Pool& pool = pools_[constant.pool];
  for (size_t page = constant.firstPage; page < constant.endPage; ++page) --pool.users[page];
  const std::span<std::byte> pages = pagesOf(constant, 0);
  if (pages.empty()) return;
  if (pool.isCopy && pages.size() >= kLeastMoved && moves_ < kMostMoves) {
    spare_.push_back(pages);
    releasedBytes_ += pages.size();
  } else {
    give(pages);
  }
}

void ConstantPages::give(std::span<std::byte> pages) {
  if (left_.data() + left_.size() == pages.data()) {
    left_ = {left_.data(), left_.size() + pages.size()};
  } else if (pages.data() + pages.size() == left_.data()) {
    left_ = {pages.data(), left_.size() + pages.size()};
  } else {
    giveLeft();
    left_ = pages;
  }
  if (left_.size() >= kLeastGiven) giveLeft();
}

void ConstantPages::giveLeft() {
  // Some kinds of memory refuse, and stay.
  if (!left_.empty() && ::madvise(left_.data(), left_.size(), MADV_DONTNEED) == 0) {
    releasedBytes_ += left_.size();
  }
  left_ = {};
}

void ConstantPages::finish() {
  giveLeft();
  dropSpare();
}

}  // namespace halyard::cpudriver
