// Annotations for ThreadSanitizer. It cannot see that one thread's work ends before another
// continues, if the kernel or a signal synchronises them. Other builds compile them to nothing.
// Thread safety: as the functions say; all may be called from any thread.
#pragma once

#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define HALYARD_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HALYARD_THREAD_SANITIZER 1
#endif
#endif

#ifdef HALYARD_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace halyard {

#ifdef HALYARD_THREAD_SANITIZER
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

// Everything that this thread has done happens before the work of a thread after its
// sanitizerAcquire of the same address.
inline void sanitizerRelease([[maybe_unused]] void* address) {
#ifdef HALYARD_THREAD_SANITIZER
  __tsan_release(address);
#endif
}
inline void sanitizerAcquire([[maybe_unused]] void* address) {
#ifdef HALYARD_THREAD_SANITIZER
  __tsan_acquire(address);
#endif
}

// The address that stands for all fences. All libraries of a process use the same.
inline void* sanitizerFences() { return &::environ; }

}  // namespace halyard
