// Queues of datums in shared memory with one writer and one reader: the two channels of a burst
// (docs/burst_format.md). The other end may be hostile. It can damage only its own queue.
// Thread safety: one thread at a time at each end. QueueWriter::close, takeSleeper and
// wakeEventWord may be called from any thread.
// Ownership: a DatumQueue shares its mapping. Reader and writer refer to a queue.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "halyard/driver/shared_memory.h"

namespace halyard::hal {

inline constexpr uint32_t kQueueMagic = 0x51594c48;  // "HLYQ"
inline constexpr uint32_t kQueueVersion = 1;
inline constexpr uint32_t kDefaultQueueCapacity = 1024;
// The smallest result has two datums.
inline constexpr uint32_t kMinQueueCapacity = 2;
inline constexpr uint32_t kMaxQueueCapacity = 1 << 16;

// One element: a tag, and a payload at byte 4 or 8. Unused bytes are zero.
struct Datum {
  std::array<uint32_t, 6> words{};

  uint8_t tag() const { return static_cast<uint8_t>(words[0] & 0xff); }
  bool operator==(const Datum&) const = default;
};
static_assert(sizeof(Datum) == 24);

// The start of a queue's memory, before the datums. Each end writes to its own cache lines.
struct QueueHeader {
  uint32_t magic;
  uint32_t version;
  uint32_t capacity;
  uint32_t datumBytes;
  alignas(64) std::atomic<uint64_t> written;  // datums since the start
  std::atomic<uint32_t> closed;               // not 0: no more datums follow
  std::atomic<uint32_t> writerCore;           // the writer's last core + 1; 0: unknown
  std::atomic<uint32_t> writerWork;           // before its last packet, in ns; 0: unknown
  alignas(64) std::atomic<uint64_t> read;     // datums since the start
  alignas(64) std::atomic<uint32_t> event;    // 1: the reader sleeps, or is about to
};
static_assert(sizeof(QueueHeader) == 256 && std::atomic<uint64_t>::is_always_lock_free);

// A peer's description of a queue.
struct QueueShape {
  uint32_t elementCount = 0;
  uint32_t elementSize = 0;
  bool hasEventWord = false;
};

class DatumQueue {
 public:
  static constexpr size_t bytesFor(uint32_t capacity) {
    return sizeof(QueueHeader) + size_t{capacity} * sizeof(Datum);
  }
  // Makes the memory of a queue. The caller needs the object only until it has passed the memory
  // on.
  static Result<SharedMemoryPtr> create(uint32_t capacity);
  // Writes the header of a queue whose memory the caller has made, with zeros, and mapped at `at`.
  // `at` is valid as long as `mapping` exists.
  static DatumQueue begin(std::shared_ptr<const Mapping> mapping, uint8_t* at, uint32_t capacity);
  // Maps a queue. BAD_DATA for an invalid shape, for memory that is too small, not aligned or not
  // writable, and for another version of the format. The caller ensures that the memory cannot
  // shrink.
  static Result<DatumQueue> map(const SharedMemory& memory, const QueueShape& shape);

  QueueHeader& header() const { return *reinterpret_cast<QueueHeader*>(at_); }
  Datum* datums() const { return reinterpret_cast<Datum*>(at_ + sizeof(QueueHeader)); }
  uint32_t capacity() const { return capacity_; }

 private:
  DatumQueue(std::shared_ptr<const Mapping> mapping, uint8_t* at, uint32_t capacity)
      : mapping_(std::move(mapping)), at_(at), capacity_(capacity) {}

  std::shared_ptr<const Mapping> mapping_;
  uint8_t* at_;
  uint32_t capacity_;  // the checked value; the shared one may change
};

class QueueWriter {
 public:
  explicit QueueWriter(const DatumQueue& queue) : queue_(queue) {}

  // The number of datums that fit now. It may be too low if it is at least `wanted`. nullopt when
  // the reader's position is invalid.
  std::optional<uint32_t> space(size_t wanted);
  // Writes a packet, which becomes visible as a whole. The caller has checked the space.
  void write(std::span<const Datum> packet);
  // Called after write. Returns true to one caller when the reader sleeps. That caller must wake
  // it.
  bool takeSleeper();
  // Tells the reader that no more datums follow. Does not wake it.
  void close() { queue_.header().closed.store(1, std::memory_order_seq_cst); }
  void noteCore(uint32_t core);
  // Called before write. `took`: the writer's time from the peer's last packet to this one, without
  // waits and wake-ups.
  void noteWork(std::chrono::nanoseconds took);

 private:
  const DatumQueue& queue_;
  uint64_t written_ = 0;
  uint64_t readSeen_ = 0;
  uint32_t core_ = 0;
};

class QueueReader {
 public:
  explicit QueueReader(const DatumQueue& queue) : queue_(queue) {}

  // The number of datums that wait. nullopt when the writer's position is invalid.
  std::optional<uint32_t> available() const;
  // True when available() or closed() may have a new result. Cheap.
  bool changed() const;
  bool closed() const { return queue_.header().closed.load(std::memory_order_seq_cst) != 0; }
  // Reads the next datums. The caller has checked that they are available.
  void read(std::span<Datum> to);
  // Announces that the reader is about to sleep, so that later writes wake it. The reader must call
  // changed() again after this.
  void announceSleep() { queue_.header().event.store(1, std::memory_order_seq_cst); }
  void announceAwake();
  std::atomic<uint32_t>& eventWord() { return queue_.header().event; }
  // The writer's last core + 1; 0 if unknown. A hint, which the peer may forge.
  uint32_t writerCore() const { return queue_.header().writerCore.load(std::memory_order_relaxed); }
  // The writer's work before the packet that waits; nullopt if unknown. A hint, as before.
  std::optional<std::chrono::nanoseconds> writerWork() const;

 private:
  const DatumQueue& queue_;
  uint64_t read_ = 0;
};

// Wakes all threads of all processes that sleep on the word.
void wakeEventWord(std::atomic<uint32_t>& word);

}  // namespace halyard::hal
