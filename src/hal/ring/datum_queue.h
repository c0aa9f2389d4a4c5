// Queues of datums in shared memory with one writer and one reader: the two channels of a burst
// (docs/burst_format.md). The other end may be hostile: it can spoil its own queue, nothing else.
// Thread safety: one thread at a time on each end; wakeReader and sleeps from any thread.
// Ownership: a DatumQueue shares its mapping; reader and writer refer to a queue.
#pragma once

#include <array>
#include <atomic>
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
// Two datums are the smallest result.
inline constexpr uint32_t kMinQueueCapacity = 2;
inline constexpr uint32_t kMaxQueueCapacity = 1 << 16;

// One element: a tag, and a payload at byte 4 or 8. Bytes that have no meaning are zero.
struct Datum {
  std::array<uint32_t, 6> words{};

  uint8_t tag() const { return static_cast<uint8_t>(words[0] & 0xff); }
  bool operator==(const Datum&) const = default;
};
static_assert(sizeof(Datum) == 24);

// The start of a queue's memory; the datums follow. What each end writes has lines of its own.
struct QueueHeader {
  uint32_t magic;
  uint32_t version;
  uint32_t capacity;
  uint32_t datumBytes;
  alignas(64) std::atomic<uint64_t> written;  // datums, since the start
  std::atomic<uint32_t> closed;               // not 0: nothing will come any more
  std::atomic<uint32_t> writerCore;           // where the writer ran last, plus 1; 0: unknown
  alignas(64) std::atomic<uint64_t> read;     // datums, since the start
  alignas(64) std::atomic<uint32_t> event;    // 1: the reader sleeps, or is about to
};
static_assert(sizeof(QueueHeader) == 256 && std::atomic<uint64_t>::is_always_lock_free);

// What a peer says about a queue.
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
  // Makes the memory of a queue. The caller keeps the object only as long as it wants to pass it
  // on.
  static Result<SharedMemoryPtr> create(uint32_t capacity);
  // The memory of a queue that the caller has made and mapped at `at`, with zeros: writes how it
  // begins. `at` lives as long as `mapping`.
  static DatumQueue begin(std::shared_ptr<const Mapping> mapping, uint8_t* at, uint32_t capacity);
  // Maps a queue. BAD_DATA for a shape that is none, for memory too small or not aligned, for
  // another version of the format. The caller has made sure that the memory cannot shrink.
  static Result<DatumQueue> map(const SharedMemory& memory, const QueueShape& shape);

  QueueHeader& header() const { return *reinterpret_cast<QueueHeader*>(at_); }
  Datum* datums() const { return reinterpret_cast<Datum*>(at_ + sizeof(QueueHeader)); }
  uint32_t capacity() const { return capacity_; }

 private:
  DatumQueue(std::shared_ptr<const Mapping> mapping, uint8_t* at, uint32_t capacity)
      : mapping_(std::move(mapping)), at_(at), capacity_(capacity) {}

  std::shared_ptr<const Mapping> mapping_;
  uint8_t* at_;
  uint32_t capacity_;  // as checked, never as shared
};

class QueueWriter {
 public:
  explicit QueueWriter(const DatumQueue& queue) : queue_(queue) {}

  // How many datums there is room for, at least `wanted` if that is so; nullopt when the reader's
  // position makes no sense.
  std::optional<uint32_t> space(size_t wanted);
  // Writes a packet, which becomes visible as a whole. There is room for it.
  void write(std::span<const Datum> packet);
  // After write: true when the reader sleeps, and has to be woken by whoever is told so first.
  bool takeSleeper();
  // Nothing more will come. Does not wake the reader.
  void close() { queue_.header().closed.store(1, std::memory_order_seq_cst); }
  void noteCore(uint32_t core);

 private:
  const DatumQueue& queue_;
  uint64_t written_ = 0;
  uint64_t readSeen_ = 0;
  uint32_t core_ = 0;
};

class QueueReader {
 public:
  explicit QueueReader(const DatumQueue& queue) : queue_(queue) {}

  // How many datums wait; nullopt when the writer's position makes no sense.
  std::optional<uint32_t> available() const;
  // True when something has happened that available() or closed() tells of. Cheap.
  bool changed() const;
  bool closed() const { return queue_.header().closed.load(std::memory_order_seq_cst) != 0; }
  // Takes the next datums; as many are available.
  void read(std::span<Datum> to);
  // Says that the reader is about to sleep; whatever is written from now on wakes it. To be checked
  // again after this: changed().
  void announceSleep() { queue_.header().event.store(1, std::memory_order_seq_cst); }
  void announceAwake();
  std::atomic<uint32_t>& eventWord() { return queue_.header().event; }
  // Where the writer ran last, plus 1; 0 when that is unknown. A hint that the peer may forge.
  uint32_t writerCore() const { return queue_.header().writerCore.load(std::memory_order_relaxed); }

 private:
  const DatumQueue& queue_;
  uint64_t read_ = 0;
};

// Wakes whoever sleeps on the word, in whatever process.
void wakeEventWord(std::atomic<uint32_t>& word);

}  // namespace halyard::hal
