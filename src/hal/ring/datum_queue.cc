#include "hal/ring/datum_queue.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <new>

namespace halyard::hal {

Result<SharedMemoryPtr> DatumQueue::create(uint32_t capacity) {
  HALYARD_ASSIGN_OR_RETURN(SharedMemoryPtr memory,
                           SharedMemory::create(bytesFor(capacity), "halyard queue"));
  HALYARD_ASSIGN_OR_RETURN(Mapping mapping, memory->map());
  uint8_t* const at = mapping.data();
  (void)begin(std::make_shared<const Mapping>(std::move(mapping)), at, capacity);
  return memory;
}

DatumQueue DatumQueue::begin(std::shared_ptr<const Mapping> mapping, uint8_t* at,
                             uint32_t capacity) {
  // The memory is zero, and so are the positions.
  const uint32_t start[] = {kQueueMagic, kQueueVersion, capacity, sizeof(Datum)};
  std::memcpy(at, start, sizeof start);
  return DatumQueue(std::move(mapping), at, capacity);
}

Result<DatumQueue> DatumQueue::map(const SharedMemory& memory, const QueueShape& shape) {
  if (!shape.hasEventWord) return badData("a queue without an event word; one is needed to sleep");
  if (shape.elementSize != sizeof(Datum)) {
    return badData("elements of {} bytes, expected {}", shape.elementSize, sizeof(Datum));
  }
  if (shape.elementCount < kMinQueueCapacity || shape.elementCount > kMaxQueueCapacity) {
    return badData("{} elements, expected {} to {}", shape.elementCount, kMinQueueCapacity,
                   kMaxQueueCapacity);
  }
  if (memory.size() < bytesFor(shape.elementCount)) {
    return badData("{} elements need {} bytes, the memory has {}", shape.elementCount,
                   bytesFor(shape.elementCount), memory.size());
  }
  if (memory.offset() % alignof(QueueHeader) != 0) {
    return badData("its offset {} is no multiple of {}", memory.offset(), alignof(QueueHeader));
  }
  if ((memory.prot() & PROT_READ) == 0 || (memory.prot() & PROT_WRITE) == 0) {
    return badData("its memory may not be both read and written");
  }
  HALYARD_ASSIGN_OR_RETURN(Mapping mapping, memory.map());
  uint32_t start[4];
  std::memcpy(start, mapping.data(), sizeof start);
  if (start[0] != kQueueMagic || start[1] != kQueueVersion) {
    return badData("it begins with {:08x} and version {}, expected {:08x} and version {}", start[0],
                   start[1], kQueueMagic, kQueueVersion);
  }
  if (start[2] != shape.elementCount || start[3] != shape.elementSize) {
    return badData("it was made for {} elements of {} bytes, and is passed with {} of {}", start[2],
                   start[3], shape.elementCount, shape.elementSize);
  }
  uint8_t* const at = mapping.data();
  return DatumQueue(std::make_shared<const Mapping>(std::move(mapping)), at, shape.elementCount);
}

std::optional<uint32_t> QueueWriter::space(size_t wanted) {
  // The reader's cache line is read only when its last known position leaves too little room.
  if (written_ - readSeen_ + wanted > queue_.capacity()) {
    readSeen_ = queue_.header().read.load(std::memory_order_acquire);
  }
  const uint64_t used = written_ - readSeen_;
  if (used > queue_.capacity()) return std::nullopt;
  return queue_.capacity() - static_cast<uint32_t>(used);
}

void QueueWriter::write(std::span<const Datum> packet) {
  const size_t at = written_ % queue_.capacity();
  const size_t first = std::min<size_t>(packet.size(), queue_.capacity() - at);
  std::copy_n(packet.begin(), first, queue_.datums() + at);
  std::copy_n(packet.begin() + static_cast<ptrdiff_t>(first), packet.size() - first,
              queue_.datums());
  written_ += packet.size();
  // This store precedes the load of the reader's event word; see announceSleep.
  queue_.header().written.store(written_, std::memory_order_seq_cst);
}

bool QueueWriter::takeSleeper() {
  std::atomic<uint32_t>& event = queue_.header().event;
  if (event.load(std::memory_order_seq_cst) == 0) return false;
  return event.exchange(0, std::memory_order_seq_cst) != 0;
}

void QueueWriter::noteCore(uint32_t core) {
  if (core_ == core + 1) return;
  core_ = core + 1;
  queue_.header().writerCore.store(core_, std::memory_order_relaxed);
}

void QueueWriter::noteWork(std::chrono::nanoseconds took) {
  const auto count = std::clamp<int64_t>(took.count(), 1, UINT32_MAX);
  queue_.header().writerWork.store(static_cast<uint32_t>(count), std::memory_order_relaxed);
}

std::optional<std::chrono::nanoseconds> QueueReader::writerWork() const {
  const uint32_t count = queue_.header().writerWork.load(std::memory_order_relaxed);
  if (count == 0) return std::nullopt;
  return std::chrono::nanoseconds(count);
}

std::optional<uint32_t> QueueReader::available() const {
  const uint64_t waiting = queue_.header().written.load(std::memory_order_seq_cst) - read_;
  if (waiting > queue_.capacity()) return std::nullopt;
  return static_cast<uint32_t>(waiting);
}

bool QueueReader::changed() const {
  const QueueHeader& header = queue_.header();
  return header.written.load(std::memory_order_seq_cst) != read_ ||
         header.closed.load(std::memory_order_relaxed) != 0;
}

void QueueReader::read(std::span<Datum> to) {
  const size_t at = read_ % queue_.capacity();
  const size_t first = std::min<size_t>(to.size(), queue_.capacity() - at);
  std::copy_n(queue_.datums() + at, first, to.begin());
  std::copy_n(queue_.datums(), to.size() - first, to.begin() + static_cast<ptrdiff_t>(first));
  read_ += to.size();
  queue_.header().read.store(read_, std::memory_order_release);
}

void QueueReader::announceAwake() {
  std::atomic<uint32_t>& event = queue_.header().event;
  if (event.load(std::memory_order_relaxed) != 0) event.store(0, std::memory_order_relaxed);
}

void wakeEventWord(std::atomic<uint32_t>& word) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr,
            0);
}

}  // namespace halyard::hal
