// PatchGatherer: the values under a filter at each output position, side by side, as the rows that
// a convolution multiplies with its weights.
// Thread safety: immutable once made.
// Ownership: owns its tables, borrows images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/layers/conv_site.h"
#include "kernels/vectors/aligned_buffer.h"

namespace halyard::cpudriver {

class PatchGatherer {
 public:
  // `zero`: the value of all bytes of a real 0. Rows are `stride` bytes apart; the bytes between
  // the end of one and the next have no meaning.
  PatchGatherer(const ConvSite& conv, size_t elementBytes, std::byte zero, size_t stride);

  // Rows [begin, end) of all output positions of all images, to `to`. Reads only the images and
  // writes only these rows.
  void gather(const std::byte* images, size_t begin, size_t end, std::byte* to) const;

 private:
  // The taps of a line of the filter that lie inside the image for one column of the output. Also
  // the place in an image's line that the first of them reads.
  struct Columns {
    int64_t begin;
    int64_t end;
    int64_t offset;  // bytes
  };
  int64_t cellBytes() const { return static_cast<int64_t>(cellBytes_); }
  int64_t lineBytes() const { return conv_.window.width.input * cellBytes(); }
  void pad(std::byte* to, int64_t cells) const;
  void gatherPatch(const std::byte* image, int64_t top, const Columns& columns,
                   std::byte* to) const;
  void gatherLine(const std::byte* from, const Columns& columns, std::byte* to) const;
  // Of `most` positions from column `column` on, how many have been gathered.
  size_t gatherRun(const std::byte* image, const std::byte* imagesEnd, int64_t top, int64_t column,
                   size_t most, std::byte* to) const;

  const ConvSite conv_;
  const size_t cellBytes_;
  const std::byte zero_;
  const size_t stride_;
  const bool isContiguous_;       // whether the taps of a line are
  const size_t segmentBytes_;     // copied in one piece
  const size_t segmentsOfLine_;   // of the filter
  const size_t reach_;            // how far whole vectors write from a row's first byte on
  std::vector<Columns> columns_;  // by column of the output
  int64_t innerBegin_ = 0;        // columns whose taps all lie inside
  int64_t innerEnd_ = 0;
  AlignedBuffer<std::byte> zeros_;  // stands for a line outside of the image
};

}  // namespace halyard::cpudriver
