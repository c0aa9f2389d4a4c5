// Packing: the source of the memory that the kernels of a model pack its constants into, such as
// weights in the order of a micro kernel.
// Thread safety: a Packing belongs to one compilation, and is used by one thread at a time; Packed
// is immutable.
// Ownership: a Packed shares its memory.
//
// A maker asks through its site (kernel.h). A constant that it has released may lose its bytes when
// the step has been made.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/packed_memory.h"

namespace halyard::cpudriver {

// Elements that are there to be read.
template <typename T>
class Packed {
 public:
  Packed() = default;
  Packed(std::shared_ptr<const T> memory, size_t count)
      : memory_(std::move(memory)), count_(count) {}

  const T* data() const { return memory_.get(); }
  size_t size() const { return count_; }
  const T& operator[](size_t i) const { return memory_.get()[i]; }

 private:
  std::shared_ptr<const T> memory_;
  size_t count_ = 0;
};

class Packing {
 public:
  using Bytes = std::shared_ptr<const std::byte>;
  using Write = std::function<void(std::byte* to)>;

  virtual ~Packing() = default;
  // Before all else: about how many bytes are going to be packed.
  virtual void expect(size_t bytes) { memory_.expect(bytes); }
  // Calls `write` with `bytes` zeros, and gives the result. Throws std::bad_alloc.
  virtual Bytes get(size_t bytes, const Write& write) { return makeHere(bytes, write); }
  // The kernel that is being made needs the constant at `data` no more.
  virtual void release(const void* data) = 0;
  // The constant at `data` is going to be read: where its bytes are, until endStep. That is what
  // release() is told then.
  virtual const void* bring(const void* data) { return data; }
  // Calls body(begin, end) for parts of [0, count), each at least `grain` long except the last. The
  // calls run in parallel where threads exist.
  using Body = std::function<void(size_t begin, size_t end)>;
  virtual void divide(size_t count, size_t /*grain*/, const Body& body) { body(0, count); }
  // A step that reads the constants has been made. Constants that its kernel has not released are
  // read at every run where they were before bring(); the reference kernel reads them all.
  virtual void endStep(bool hasKernel, const std::vector<const void*>& constants) = 0;

  // The same as get() in memory from the heap.
  static Bytes make(size_t bytes, const Write& write) {
    PackedMemory memory;  // that expects nothing
    return makeIn(&memory, bytes, write);
  }

 protected:
  // The same in memory of this packing.
  Bytes makeHere(size_t bytes, const Write& write) { return makeIn(&memory_, bytes, write); }

 private:
  static Bytes makeIn(PackedMemory* memory, size_t bytes, const Write& write) {
    PackedMemory::Bytes made = memory->allocate(bytes);
    write(made.get());
    return made;
  }

  PackedMemory memory_;
};

// `count` elements that `write(T*)` makes, in memory of zeros; `packing` may be null.
template <typename T, typename F>
Packed<T> pack(Packing* packing, size_t count, F write) {
  static_assert(std::is_trivially_copyable_v<T>);
  const Packing::Write fill = [&](std::byte* to) { write(reinterpret_cast<T*>(to)); };
  Packing::Bytes bytes = packing == nullptr ? Packing::make(count * sizeof(T), fill)
                                            : packing->get(count * sizeof(T), fill);
  const T* const elements = reinterpret_cast<const T*>(bytes.get());
  return Packed<T>(std::shared_ptr<const T>(std::move(bytes), elements), count);
}

}  // namespace halyard::cpudriver
