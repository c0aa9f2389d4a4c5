// HALYARD_SANITIZED: defined in builds with AddressSanitizer or ThreadSanitizer, of either
// compiler. These builds have their own allocator. Tests must not replace it or count its calls.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HALYARD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define HALYARD_SANITIZED 1
#endif
#endif
