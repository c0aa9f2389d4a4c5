// Distinguishes a process from its fork() children. A child has its parent's memory, but not its
// threads. A mutex that another thread held stays locked in the child forever. So the child checks
// the stamp of an object before all else. It does not touch its parent's objects; it reports an
// error or creates its own.
// Thread safety: any thread may call everything, unless a comment says otherwise.
// Ownership: a PerProcess owns the objects that it creates, and never destroys them.
//
// Forks that run no handlers (vfork, _Fork, clone) stay undetected. Only exec may follow them.
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

// Returns 0, and in each child at least one more than in its parent. A fork counts only after the
// library's first ProcessStamp or PerProcess.
inline uint32_t processGeneration() { return internal::generation.load(std::memory_order_relaxed); }

// Returns whether child processes may hold copies of open descriptors. Closing a descriptor then
// does not end its connection. The same forks count.
inline bool mayHaveChildren() { return internal::childrenExist.load(std::memory_order_relaxed); }

// Registers `reset` to run in each child before fork() returns there. It may call only what a
// signal handler may call, and may run twice. A library can register at most 4 different functions.
void resetInChildren(void (*reset)());

// Identifies the process that made an object. Costs one load of a variable.
class ProcessStamp {
 public:
  ProcessStamp() {
    if (!internal::forksAreSeen.load(std::memory_order_relaxed)) internal::seeForks();
    generation_ = processGeneration();
  }
  bool isOfThisProcess() const { return generation_ == processGeneration(); }
  // Returns BAD_STATE, naming the object, if the object came through a fork.
  Status check(std::string_view what) const {
    return isOfThisProcess() ? okStatus() : inherited(what);
  }

 private:
  static Status inherited(std::string_view what);
  uint32_t generation_ = 0;
};

// One T for each process. Its first use creates it, and a child that needs one creates a new one.
// It is never destroyed, since threads may use it until the process ends. Declare it as a variable
// with static storage and `constinit`.
template <typename T>
class PerProcess {
 public:
  constexpr PerProcess() = default;
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  // `make` returns a std::unique_ptr<T>. Other threads of the process wait for it. The child of a
  // fork during `make` does not wait.
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
  // Returns the object of this process; null before it exists.
  T* find() const {
    const Slot* const slot = slot_.load(std::memory_order_acquire);
    if (slot == nullptr || !slot->stamp.isOfThisProcess()) return nullptr;
    return slot->made.load(std::memory_order_acquire);
  }

 private:
  struct Slot {
    Slot(ProcessStamp theStamp, Slot* inherited) : stamp(theStamp), before(inherited) {}
    const ProcessStamp stamp;
    Slot* const before;  // the parent's; kept so that leak detectors find it
    std::mutex making;
    std::atomic<T*> made = nullptr;
  };
  std::atomic<Slot*> slot_ = nullptr;
};

}  // namespace halyard
