// AlignedBuffer: memory at a cache line's boundary, with room behind it for kernels that read whole
// vectors. threadBuffer: such memory of the calling thread.
// Thread safety: a value.
// Ownership: owns its memory.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "base/thread_owned.h"

namespace halyard::cpudriver {

template <typename T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // `count` elements, all 0. Throws std::bad_alloc.
  explicit AlignedBuffer(size_t count) : count_(count) {
    const size_t bytes = (count * sizeof(T) + 2 * kAlignment - 1) / kAlignment * kAlignment;
    memory_.reset(static_cast<T*>(std::aligned_alloc(kAlignment, bytes)));
    if (memory_ == nullptr) throw std::bad_alloc();
    std::memset(static_cast<void*>(memory_.get()), 0, bytes);
  }

  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  size_t size() const { return count_; }
  T& operator[](size_t i) { return memory_.get()[i]; }
  const T& operator[](size_t i) const { return memory_.get()[i]; }

 private:
  static constexpr size_t kAlignment = 64;
  struct Free {
    void operator()(void* pointer) const { std::free(pointer); }
  };
  std::unique_ptr<T, Free> memory_;
  size_t count_ = 0;
};

// At least `bytes` bytes, uninitialised, until the next call in this thread.
inline std::byte* threadBuffer(size_t bytes) {
  auto& buffer = threadOwned<AlignedBuffer<std::byte>, struct ThreadBuffer>();
  if (buffer.size() < bytes) buffer = AlignedBuffer<std::byte>(bytes);
  return buffer.data();
}

}  // namespace halyard::cpudriver
