// Each constant counts the operation inputs that read it and are still to be compiled. Each page
// counts its constants with such inputs or with readers that every run has.
#include "constant_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>
#include <utility>

#include "kernels/huge_pages.h"

namespace halyard::cpudriver {
namespace {

// The least part of a constant that is worth another thread.
constexpr size_t kBytesAtOnce = 256 * 1024;
constexpr size_t kLentAtOnce = 32 * 1024;  // into the buffer, whose pages are mapped already
constexpr size_t kBufferBytes = size_t{16} << 20;
// The largest constant for which the buffer is worth huge pages.
constexpr size_t kLeastForHuge = size_t{1} << 20;
// Giving memory back disturbs all threads of the process. So pages wait until this many bytes can
// go back together, such as neighbours in the file.
constexpr size_t kLeastGiven = size_t{256} << 10;

}  // namespace

size_t mostPacked(const cpu::ExecutionPlan& plan) {
  size_t bytes = 0;
  for (const Operand& operand : plan.main.subgraph->operands) bytes += operand.location.length;
  // Many operands may have the same bytes.
  size_t most = plan.model->operandValues.size();
  for (const Mapping& mapping : plan.mappings) most += mapping.size();
  return std::min(bytes, most) + plan.folded.memory.size();
}

ConstantPages::ConstantPages(const cpu::ExecutionPlan& plan, PackedPieces& pieces,
                             ThreadShare* threads)
    : SharedPacking(pieces, threads),
      plan_(plan),
      pageSize_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))) {
  const auto addPool = [this](const Mapping& mapping) {
    auto* const data = reinterpret_cast<std::byte*>(mapping.data());
    const size_t skip = reinterpret_cast<uintptr_t>(data) % pageSize_;
    const size_t pages = (skip + mapping.size() + pageSize_ - 1) / pageSize_;
    pools_.push_back({data - skip, std::vector<uint32_t>(pages), mapping.isOnHeap()});
  };
  for (const Mapping& mapping : plan.mappings) addPool(mapping);
  addPool(plan.folded.memory);
  addConstants(plan);
  countReaders(plan.main);
  SharedPacking::expect(mostPacked(plan));
}

void ConstantPages::addConstants(const cpu::ExecutionPlan& plan) {
  for (const Operand& operand : plan.main.subgraph->operands) {
    if (operand.lifetime != Lifetime::CONSTANT_REFERENCE || operand.location.length == 0) continue;
    const size_t index = operand.location.poolIndex;
    const std::byte* const data =
        reinterpret_cast<const std::byte*>(plan.mappings[index].data()) + operand.location.offset;
    add(data, operand.location.length, index);
  }
  for (const cpu::LaterConstant& later : plan.later) {
    constants_.at(plan.mappings[later.pool].data() + later.bytes.begin).later = later;
    largestLater_ = std::max(largestLater_, later.bytes.end - later.bytes.begin);
  }
  for (const cpu::FoldedConstant& folded : plan.folded.list) {
    add(folded.data, folded.bytes, pools_.size() - 1);
    constants_.at(folded.data).folded = &folded;
    largestLater_ = std::max<uint64_t>(largestLater_, folded.bytes);
  }
  for (const auto& [data, constant] : constants_) {
    for (size_t page = constant.firstPage; page < constant.endPage; ++page) {
      ++pools_[constant.pool].users[page];
    }
  }
}

void ConstantPages::add(const std::byte* data, size_t bytes, size_t pool) {
  const auto begin = static_cast<size_t>(data - pools_[pool].pages);
  const size_t endPage = (begin + bytes + pageSize_ - 1) / pageSize_;
  Constant constant;
  constant.pool = pool;
  constant.firstPage = begin / pageSize_;
  const auto [at, isNew] = constants_.try_emplace(data, constant);
  // Several operands, of different lengths, may begin at the same place.
  at->second.endPage = std::max(at->second.endPage, endPage);
}

void ConstantPages::countReaders(const cpu::SubgraphPlan& plan) {
  for (const Operation& operation : plan.subgraph->operations) {
    for (const uint32_t operand : operation.inputs) {
      const auto at = constants_.find(plan.tensors[operand].data);
      if (at != constants_.end()) ++at->second.readers;
    }
  }
}

const void* ConstantPages::bring(const void* data) {
  if (plan_.later.empty() && plan_.folded.list.empty()) return data;
  const auto at = constants_.find(data);
  if (at == constants_.end() || at->second.isThere()) return data;
  Constant& constant = at->second;
  if (constant.lent == nullptr && constant.readers == 1) constant.lent = lend(data, constant);
  if (constant.lent != nullptr) return constant.lent;
  putInItsPlace(data, constant);
  return data;
}

// Reads or makes the constant in the buffer. Null if the buffer has no room, or no memory.
std::byte* ConstantPages::lend(const void* data, Constant& constant) {
  const size_t bytes = constant.laterBytes();
  if (bytes > kBufferBytes - bufferUsed_) return nullptr;
  if (buffer_ == nullptr) {
    buffer_ = mapPages(kBufferBytes, largestLater_ < kLeastForHuge ? 0 : kBufferBytes);
  }
  if (buffer_ == nullptr) return nullptr;
  std::byte* const to = buffer_.get() + bufferUsed_;
  bufferUsed_ += (bytes + kPackedAlignment - 1) / kPackedAlignment * kPackedAlignment;
  lent_.push_back(data);
  if (constant.folded != nullptr) {
    make(*constant.folded, to);
    return to;
  }
  const SharedMemory& pool = *plan_.model->pools[constant.pool];
  const size_t first = constant.later->bytes.begin;
  read(constant.later->bytes, kLentAtOnce, [&](const ByteRange& part) {
    auto* const at = reinterpret_cast<uint8_t*>(to) + (part.begin - first);
    return readPart(pool, part, {at, static_cast<size_t>(part.end - part.begin)});
  });
  return to;
}

// Keeps a constant that every run reads. Its bytes go to their own place.
void ConstantPages::keep(const void* data, Constant& constant) {
  constant.isNeeded = true;
  if (constant.isThere()) return;
  if (constant.lent == nullptr) return putInItsPlace(data, constant);
  std::memcpy(const_cast<void*>(data), constant.lent, constant.laterBytes());
  constant.later.reset();
  if (constant.folded != nullptr) endSource(*std::exchange(constant.folded, nullptr));
}

void ConstantPages::putInItsPlace(const void* data, Constant& constant) {
  if (constant.folded != nullptr) {
    const cpu::FoldedConstant& folded = *std::exchange(constant.folded, nullptr);
    make(folded, static_cast<std::byte*>(const_cast<void*>(data)));
    return endSource(folded);
  }
  const ByteRange bytes = constant.later->bytes;
  constant.later.reset();
  const SharedMemory& pool = *plan_.model->pools[constant.pool];
  const Mapping& copy = plan_.mappings[constant.pool];
  read(bytes, kBytesAtOnce, [&](const ByteRange& part) { return readIntoCopy(pool, part, copy); });
}

const void* ConstantPages::sourceOf(const cpu::FoldedConstant& folded) const {
  const Operation& operation = plan_.main.subgraph->operations[folded.operation];
  return plan_.main.tensors[operation.inputs[0]].data;
}

void ConstantPages::make(const cpu::FoldedConstant& folded, std::byte* to) {
  Status made = cpu::computeFolded(plan_.main, folded, bring(sourceOf(folded)), to, services());
  services().reset();
  if (!made.ok() && status_.ok()) status_ = std::move(made);
}

void ConstantPages::endReader(Constant& constant) {
  if (constant.readers == 0 || --constant.readers > 0) return;
  if (constant.folded != nullptr) endSource(*constant.folded);
  if (!constant.isNeeded) giveBack(constant);
}

void ConstantPages::endSource(const cpu::FoldedConstant& folded) {
  const auto source = constants_.find(sourceOf(folded));
  if (source != constants_.end()) endReader(source->second);
}

void ConstantPages::read(const ByteRange& bytes, size_t grain,
                         const std::function<Status(ByteRange)>& part) {
  std::mutex mutex;
  divide(bytes.end - bytes.begin, grain, [&](size_t begin, size_t end) {
    Status status = part({bytes.begin + begin, bytes.begin + end});
    if (status.ok()) return;
    const std::lock_guard lock(mutex);
    if (status_.ok()) status_ = std::move(status);
  });
}

void ConstantPages::release(const void* data) {
  // A maker may know the constant by its place in the buffer.
  for (const void* constant : lent_) {
    if (constants_.at(constant).lent == data) data = constant;
  }
  ofStep_.insert(data);
}

void ConstantPages::endStep(bool hasKernel, const std::vector<const void*>& constants) {
  for (const void* data : constants) {
    const auto at = constants_.find(data);
    if (at == constants_.end()) continue;
    Constant& constant = at->second;
    if (!hasKernel || !ofStep_.contains(data)) keep(data, constant);
    endReader(constant);
  }
  ofStep_.clear();
  for (const void* data : lent_) constants_.at(data).lent = nullptr;
  lent_.clear();
  bufferUsed_ = 0;
}

// The pages of `constant` that no constant in use shares, when `constant` is no longer in use.
// Empty if another constant in use lies in the middle.
std::span<std::byte> ConstantPages::pagesOf(const Constant& constant) const {
  const Pool& pool = pools_[constant.pool];
  const auto isOther = [&](size_t page) { return pool.users[page] != 0; };
  // Neighbours may share the first and the last pages.
  size_t begin = constant.firstPage;
  size_t end = constant.endPage;
  while (begin < end && isOther(begin)) ++begin;
  while (end > begin && isOther(end - 1)) --end;
  for (size_t page = begin; page < end; ++page) {
    if (isOther(page)) return {};  // constants that overlap
  }
  return {pool.pages + begin * pageSize_, (end - begin) * pageSize_};
}

void ConstantPages::giveBack(const Constant& constant) {
  Pool& pool = pools_[constant.pool];
  for (size_t page = constant.firstPage; page < constant.endPage; ++page) --pool.users[page];
  if (!constant.isThere()) {  // its bytes never were in their own place
    releasedBytes_ += constant.laterBytes();
    return;
  }
  if (!pool.isOnHeap) give(pagesOf(constant));
}

void ConstantPages::give(std::span<std::byte> pages) {
  if (pages.empty()) return;
  waiting_.push_back(pages);
  waitingBytes_ += pages.size();
  if (waitingBytes_ >= kLeastGiven) giveWaiting();
}

void ConstantPages::giveWaiting() {
  std::ranges::sort(waiting_, std::less<>(),
                    [](std::span<std::byte> pages) { return pages.data(); });
  for (size_t i = 0; i < waiting_.size();) {
    std::byte* const begin = waiting_[i].data();
    std::byte* end = begin;
    while (i < waiting_.size() && waiting_[i].data() == end) end += waiting_[i++].size();
    // Some kinds of memory refuse. Their pages stay.
    const auto bytes = static_cast<size_t>(end - begin);
    if (::madvise(begin, bytes, MADV_DONTNEED) == 0) releasedBytes_ += bytes;
  }
  waiting_.clear();
  waitingBytes_ = 0;
}

void ConstantPages::finish() {
  giveWaiting();
  buffer_.reset();
}

}  // namespace halyard::cpudriver
