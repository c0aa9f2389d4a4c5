// threadOwned: an object of the calling thread that ends with the thread, and can be used even
// after that: at exit() the main thread's ends before the destructors of static objects of the
// application run, and these may still call the library.
// Thread safety: every thread has its own. Ownership: the thread's; what is made after the thread's
// objects have ended lives until the process has.
#pragma once

#include <utility>

namespace halyard {

// One T for each thread and `Tag`, a type that names the place.
template <typename T, typename Tag>
T& threadOwned() {
  constinit thread_local T* object = nullptr;
  if (object != nullptr) return *object;
  struct Owner {
    ~Owner() { delete std::exchange(object, nullptr); }
  };
  object = new T();
  thread_local Owner owner;
  // The analyser takes the owner's end for this function's.
  return *object;  // NOLINT(clang-analyzer-cplusplus.NewDelete)
}

}  // namespace halyard
