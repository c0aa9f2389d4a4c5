// InlineServices: kernels run in the calling thread.
// Thread safety: one thread at a time. Ownership: owns the scratch memory of all its kernels.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "ops/operation.h"

namespace halyard::ops {

class InlineServices : public KernelServices {
 public:
  void parallelFor(size_t count, size_t /*grain*/,
                   const std::function<void(size_t, size_t)>& body) override {
    if (count > 0) body(0, count);
  }
  void* scratch(size_t bytes) override {
    constexpr size_t kAlignment = 64;
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes + kAlignment));
    void* block = blocks_.back().get();
    size_t room = bytes + kAlignment;
    return std::align(kAlignment, bytes, block, room);
  }

 private:
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

}  // namespace halyard::ops
