// A depthwise convolution and the convolution by points behind it, some lines at a time. The first
// one's results stay in the cache of the thread that multiplies them. So do those of a convolution
// by points in front of both, if its whole image is too large for the cache.
// Thread safety: pure functions.
// Ownership: kernels are the caller's.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/kernel.h"

namespace halyard::cpudriver {

// A depthwise convolution, some lines at a time.
// Thread safety: immutable once made.
class DepthwiseLines {
 public:
  virtual ~DepthwiseLines() = default;
  // Lines [line, line + count) of the output, through all images, to `out`, where positions are
  // `stride` bytes apart. In 8 bits that is as many as there are channels.
  virtual void compute(const std::byte* images, size_t line, size_t count, std::byte* out,
                       size_t stride) const = 0;
};

// For a site with Fused::between. Null where apart is thought to be faster, or where there is no
// kernel for it.
std::unique_ptr<Kernel> makeConvChain(const KernelSite& site);

}  // namespace halyard::cpudriver
