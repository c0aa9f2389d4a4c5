// Depthwise convolution with filters of 3 x 3 in float, slice by slice: one vector of channels of
// all positions of some lines before the next vector, so that its weights stay in registers and
// each value is read once for the positions of a line that it counts for. Or in order: all channels
// of some positions before the next positions. Nothing is copied.
// Thread safety: pure functions. Ownership: kernels are the caller's.
#pragma once

#include <memory>

#include "kernels/aligned_buffer.h"
#include "kernels/conv_site.h"
#include "kernels/depthwise_rows.h"

namespace halyard::cpudriver {

// Whether that is possible: with steps of at most 2, and padding that leaves the middle column of
// the filter inside of the image.
bool takesSlices(const ConvSite& conv);
// Whether it is thought to be faster, too, than line by line.
bool suitsSlices(const ConvSite& conv);

// Weights and bias, rearranged. Thread safety: immutable. Ownership: owns them.
class SliceDepthwise {
 public:
  // For a float32 site for which hasConstantWeights, with what takesSlices.
  SliceDepthwise(const KernelSite& site, const ConvSite& conv);

  const ConvSite& conv() const { return conv_; }
  // Channels [channel, channel + channels) of lines [begin, end) of the output of one image. `out`
  // is where channel 0 of the first position goes; positions are `step` elements apart.
  void compute(const float* images, size_t image, size_t channel, size_t channels, size_t begin,
               size_t end, float* out, size_t step) const;
  // All channels of such lines, in the order in which they lie.
  void computeInOrder(const float* images, size_t image, size_t begin, size_t end, float* out,
                      size_t step) const;

 private:
  struct Part {
    size_t image;
    size_t channel;
    size_t channels;
    size_t begin;
    size_t end;
    bool isInOrder;
  };
  void computePart(const float* images, const Part& part, float* out, size_t step) const;

  const ConvSite conv_;
  const FloatSliceFunction compute_;
  const size_t weightStride_;
  const AlignedBuffer<float> zeros_;
  Packed<float> weights_;
  AlignedBuffer<float> bias_;
};

// For such a site.
std::unique_ptr<Kernel> makeSliceDepthwise(const KernelSite& site, const ConvSite& conv);

}  // namespace halyard::cpudriver
