// Tells a process from those that fork() made it of: a child has its parent's memory, but none of
// its threads, and a mutex that another thread held stays locked there for ever. So the child
// touches nothing of its parent's but to say that it is that: it looks at the stamp of an object
// before all else, and makes the process's own objects again.
// Thread safety: everything may be called from any thread, but for what is said otherwise.
// Ownership: a PerProcess owns what it has made, and never destroys it.
//
// A fork that runs no handlers (vfork, _Fork, clone) is not noticed: only exec may follow it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "halyard/driver/status.h"

namespace halyard {

namespace internal {
extern std::atomic<uint32_t> generation;
extern std::atomic<bool> childrenExist;
extern std::atomic<bool> forksAreSeen;
void seeForks();
}  // namespace internal

// 0, and in each child one more at least than in its parent; but only forks count that came after
// the first stamp, or PerProcess, of the library.
inline uint32_t processGeneration() { return internal::generation.load(std::memory_order_relaxed); }

// Whether there may be children that have what this process had open: then closing something does
// not end it. The same forks count.
inline bool mayHaveChildren() { return internal::childrenExist.load(std::memory_order_relaxed); }

// Has `reset` run in each child before fork() returns there. It may do what a signal handler may,
// and must bear to be run twice. At most 4 different functions in a library.
void resetInChildren(void (*reset)());

// The process that made an object. Costs the load of a variable.
class ProcessStamp {
 public:
  ProcessStamp() {
    if (!internal::forksAreSeen.load(std::memory_order_relaxed)) internal::seeForks();
    generation_ = processGeneration();
  }
  bool isOfThisProcess() const { return generation_ == processGeneration(); }
  // BAD_STATE, naming the object, where a fork has brought it.
  Status check(std::string_view what) const {
    return isOfThisProcess() ? okStatus() : inherited(what);
  }

 private:
  static Status inherited(std::string_view what);
  uint32_t generation_ = 0;
};

// One T for each process: made at its first use, made anew by a child that needs one, and never
// destroyed, since threads may use it until the process is gone. A variable with static storage,
// `constinit`.
template <typename T>
class PerProcess {
 public:
  constexpr PerProcess() = default;
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  // `make` gives a std::unique_ptr<T>. Other threads of the process wait for it, a child of a fork
  // in the middle of it does not.
  template <typename Make>
  T& get(Make make) {
    if (T* const known = find()) return *known;
    const ProcessStamp stamp;
    Slot* slot = slot_.load(std::memory_order_acquire);
    if (slot == nullptr || !slot->stamp.isOfThisProcess()) {
      auto fresh = std::make_unique<Slot>(stamp, slot);
      if (slot_.compare_exchange_strong(slot, fresh.get(), std::memory_order_acq_rel)) {
        slot = fresh.release();
      }
    }
    const std::lock_guard lock(slot->making);
    if (slot->made.load(std::memory_order_relaxed) == nullptr) {
      slot->made.store(make().release(), std::memory_order_release);
    }
    return *slot->made.load(std::memory_order_relaxed);
  }
  T& get() {
    return get([] { return std::make_unique<T>(); });
  }
  // What this process has made; null if nothing.
  T* find() const {
    const Slot* const slot = slot_.load(std::memory_order_acquire);
    if (slot == nullptr || !slot->stamp.isOfThisProcess()) return nullptr;
    return slot->made.load(std::memory_order_acquire);
  }

 private:
  struct Slot {
    Slot(ProcessStamp theStamp, Slot* inherited) : stamp(theStamp), before(inherited) {}
    const ProcessStamp stamp;
    Slot* const before;  // the parent's, which leak detectors are not to miss
    std::mutex making;
    std::atomic<T*> made = nullptr;
  };
  std::atomic<Slot*> slot_ = nullptr;
};

}  // namespace halyard
