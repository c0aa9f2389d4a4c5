// PanelFetch: brings the next panel of factors into the second-level cache. Each call of a micro
// kernel for the present panel fetches a part. The next panel is most often the same thread's.
// Behind the last panel are most often the factors of the next operation. Thread safety: a fetch
// belongs to one thread. Ownership: borrows the panel.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/vectors/even_pieces.h"

namespace halyard::cpudriver {

class PanelFetch {
 public:
  // Panels of `steps` times `stepBytes`, for each of which the kernel is called `calls` times.
  // `next` may be null: nothing is fetched.
  PanelFetch(const void* next, size_t steps, size_t stepBytes, size_t calls)
      : next_(static_cast<const std::byte*>(next)),
        end_(next_ == nullptr ? nullptr : next_ + steps * stepBytes),
        steps_(steps),
        step_(std::min(divideUp(stepBytes, calls), kCacheLine)) {}

  // The bytes to fetch in each step of a call: evenly, since few lines can be on their way at a
  // time.
  size_t step() const { return step_; }
  // Where the next call begins to fetch; null after the whole panel.
  const std::byte* take() {
    const std::byte* const part = next_;
    if (next_ != nullptr) next_ += steps_ * step_;
    if (next_ >= end_) next_ = nullptr;
    return part;
  }

 private:
  static constexpr size_t kCacheLine = 64;

  const std::byte* next_;
  const std::byte* end_;
  size_t steps_;
  size_t step_;
};

}  // namespace halyard::cpudriver
