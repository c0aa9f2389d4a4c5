// madeOnce: creates a value at its first use. The value lives until the process ends.
// Thread safety: any thread. If several threads come first at the same time, each makes a value,
// and one value stays.
// Ownership: static storage without a destructor at exit, because other threads may still compute
// then.
//
// A local `static` takes a lock for its first use. After a fork() during that use, the lock stays
// closed in the child forever. madeOnce has no such lock.
#pragma once

#include <atomic>
#include <memory>
#include <type_traits>

namespace halyard {

// `make`: a lambda without captures. Its type is therefore unique to the place. Its result must be
// its only effect.
template <typename Make>
const std::invoke_result_t<Make>& madeOnce(Make make) {
  using Value = std::invoke_result_t<Make>;
  static_assert(std::is_empty_v<Make>, "the type of `make` identifies the value");
  static constinit std::atomic<const Value*> made = nullptr;
  const Value* known = made.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  auto own = std::make_unique<const Value>(make());
  if (!made.compare_exchange_strong(known, own.get(), std::memory_order_acq_rel)) return *known;
  return *own.release();
}

}  // namespace halyard
