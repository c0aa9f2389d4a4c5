#include "base/process_generation.h"

#include <pthread.h>

#include <array>
#include <cstdlib>

namespace halyard {
namespace {

using Reset = void (*)();

constinit std::array<std::atomic<Reset>, 4> resets = {};

// Runs in the child, which has only the thread that forked.
void enterChild() {
  internal::generation.fetch_add(1, std::memory_order_relaxed);
  for (const std::atomic<Reset>& each : resets) {
    if (const Reset reset = each.load(std::memory_order_acquire)) reset();
  }
}

// Runs before the fork, because the child may run first.
void prepare() { internal::childrenExist.store(true, std::memory_order_relaxed); }

}  // namespace

namespace internal {

constinit std::atomic<uint32_t> generation = 0;
constinit std::atomic<bool> childrenExist = false;
constinit std::atomic<bool> forksAreSeen = false;

void seeForks() {
  // Two threads may both do this. A generation then counts twice, which is harmless. With a lock, a
  // fork could happen while another thread holds it.
  if (::pthread_atfork(prepare, nullptr, enterChild) == 0) forksAreSeen.store(true);
}

}  // namespace internal

void resetInChildren(void (*reset)()) {
  if (!internal::forksAreSeen.load()) internal::seeForks();
  for (std::atomic<Reset>& each : resets) {
    Reset known = nullptr;
    if (each.compare_exchange_strong(known, reset, std::memory_order_acq_rel) || known == reset) {
      return;
    }
  }
  std::abort();  // the array is too small; the first run of any test finds this
}

Status ProcessStamp::inherited(std::string_view what) {
  return badState(
      "{} was made before fork(), by another process: a child has to look for devices, and make "
      "models, compilations and memories, for itself",
      what);
}

}  // namespace halyard
