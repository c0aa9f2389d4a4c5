// madeOnce: values that are made at their first use and live until the process is gone.
// Thread safety: any thread. Threads that come first at the same time each make a value; one stays.
// Ownership: static storage, without a destructor at exit: other threads may still compute then.
//
// A local `static` takes a lock for its first use. A fork() in the middle of that leaves the lock
// closed in the child for ever. There is none here.
#pragma once

#include <atomic>
#include <memory>
#include <type_traits>

namespace halyard {

// `make`: a lambda without captures, thus of a type that no other place has. It must have no other
// effect than its result.
template <typename Make>
const std::invoke_result_t<Make>& madeOnce(Make make) {
  using Value = std::invoke_result_t<Make>;
  static_assert(std::is_empty_v<Make>, "the value is kept by the type of what makes it");
  static constinit std::atomic<const Value*> made = nullptr;
  const Value* known = made.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  auto own = std::make_unique<const Value>(make());
  if (!made.compare_exchange_strong(known, own.get(), std::memory_order_acq_rel)) return *known;
  return *own.release();
}

}  // namespace halyard
