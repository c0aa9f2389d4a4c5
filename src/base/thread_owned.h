// threadOwned: an object of the calling thread that ends with the thread, and that can be used even
// after that. At exit(), the main thread's objects end before the destructors of the application's
// static objects run. These destructors may still call the library.
// Thread safety: every thread has its own object.
// Ownership: the thread owns it. An object made after the thread's objects have ended lives until
// the process ends.
#pragma once

#include <utility>

namespace halyard {

// One T for each thread and each `Tag`, a type that names the use.
template <typename T, typename Tag>
T& threadOwned() {
  constinit thread_local T* object = nullptr;
  if (object != nullptr) return *object;
  struct Owner {
    ~Owner() { delete std::exchange(object, nullptr); }
  };
  object = new T();
  thread_local Owner owner;
  // The analyser confuses the end of the owner with the end of this function.
  return *object;  // NOLINT(clang-analyzer-cplusplus.NewDelete)
}

}  // namespace halyard
