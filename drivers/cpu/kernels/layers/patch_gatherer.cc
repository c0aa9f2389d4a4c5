// Inside the image, patches are copied in whole vectors. Each may run into the following bytes,
// which are written later. At the image's edges patches are copied byte by byte.
#include "kernels/layers/patch_gatherer.h"

#include <algorithm>
#include <cstring>

#include "ops/simd.h"
#include "ops/small_copy.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kMostSegments = 64;
constexpr size_t kUnit = 32;  // bytes that are copied at once

// The bytes that are read and written for a piece of `bytes`.
constexpr size_t copiedBytes(size_t bytes) {
  return bytes <= kUnit / 2 ? kUnit / 2 : (bytes + kUnit - 1) / kUnit * kUnit;
}

// `count` patches of `segments` pieces each. Piece s of patch p is at from[s] + p * step.
struct Pieces {
  const std::byte* from[kMostSegments];
  size_t segments;
  size_t bytes;  // of a piece
  size_t step;
  size_t count;
  size_t stride;
  std::byte* to;
};

// Copies pieces in units of kCopied bytes, the last of which may be too long.
template <size_t kCopied, bool kIsOne>
HALYARD_ALWAYS_INLINE void copyPieces(const Pieces& pieces) {
  std::byte* row = pieces.to;
  for (size_t p = 0, offset = 0; p < pieces.count; ++p, offset += pieces.step) {
    std::byte* to = row;
    for (size_t s = 0; s < pieces.segments; ++s, to += pieces.bytes) {
      const std::byte* const from = pieces.from[s] + offset;
      if constexpr (kIsOne) {
        std::memcpy(to, from, kCopied);
      } else {
        for (size_t i = 0; i < pieces.bytes; i += kCopied) std::memcpy(to + i, from + i, kCopied);
      }
    }
    row += pieces.stride;
  }
}

HALYARD_ALWAYS_INLINE void copyAllPieces(const Pieces* pieces) {
  if (pieces->bytes <= kUnit / 2) return copyPieces<kUnit / 2, true>(*pieces);
  if (pieces->bytes <= kUnit) return copyPieces<kUnit, true>(*pieces);
  copyPieces<kUnit, false>(*pieces);
}

}  // namespace

PatchGatherer::PatchGatherer(const ConvSite& conv, size_t elementBytes, std::byte zero,
                             size_t stride)
    : conv_(conv),
      cellBytes_(conv.input.channels * elementBytes),
      zero_(zero),
      stride_(stride),
      isContiguous_(conv.window.width.dilation == 1),
      segmentBytes_(isContiguous_ ? static_cast<size_t>(conv.window.width.filter) * cellBytes_
                                  : cellBytes_),
      segmentsOfLine_(isContiguous_ ? 1 : static_cast<size_t>(conv.window.width.filter)),
      reach_((static_cast<size_t>(conv.window.height.filter) * segmentsOfLine_ - 1) *
                 segmentBytes_ +
             copiedBytes(segmentBytes_)) {
  const ops::WindowAxis& width = conv.window.width;
  for (int64_t j = 0; j < width.output; ++j) {
    const int64_t left = width.origin(j);
    const ops::TapRange inside = ops::tapsInside(width, left);
    columns_.push_back(
        {inside.begin, inside.end, (left + inside.begin * width.dilation) * cellBytes()});
  }
  const auto isInside = [&](int64_t j) {
    const Columns& columns = columns_[static_cast<size_t>(j)];
    return columns.begin == 0 && columns.end == width.filter;
  };
  while (innerBegin_ < width.output && !isInside(innerBegin_)) ++innerBegin_;
  innerEnd_ = innerBegin_;
  while (innerEnd_ < width.output && isInside(innerEnd_)) ++innerEnd_;
  // A piece of a line reads a unit too far at the most.
  zeros_ = AlignedBuffer<std::byte>(static_cast<size_t>(lineBytes()) + kUnit);
  std::fill_n(zeros_.data(), zeros_.size(), zero);
}

void PatchGatherer::gather(const std::byte* images, size_t begin, size_t end, std::byte* to) const {
  const auto outputWidth = static_cast<int64_t>(conv_.output.width);
  const auto outputHeight = static_cast<int64_t>(conv_.output.height);
  const int64_t imageBytes = conv_.window.height.input * lineBytes();
  const std::byte* const imagesEnd = images + static_cast<int64_t>(conv_.output.batch) * imageBytes;
  auto j = static_cast<int64_t>(begin) % outputWidth;
  int64_t line = static_cast<int64_t>(begin) / outputWidth;
  for (size_t row = begin; row < end;) {
    const int64_t top = conv_.window.height.origin(line % outputHeight);
    const std::byte* const image = images + line / outputHeight * imageBytes;
    while (j < outputWidth && row < end) {
      size_t done = 0;
      if (j >= innerBegin_ && j < innerEnd_) {
        // The memory behind the last row belongs to others.
        const size_t room = (end - row) * stride_;
        const size_t most = room < reach_ ? 0 : (room - reach_) / stride_ + 1;
        done = gatherRun(image, imagesEnd, top, j,
                         std::min(static_cast<size_t>(innerEnd_ - j), most), to);
      }
      if (done == 0) {
        gatherPatch(image, top, columns_[static_cast<size_t>(j)], to);
        done = 1;
      }
      j += static_cast<int64_t>(done);
      row += done;
      to += done * stride_;
    }
    j = 0;
    ++line;
  }
}

size_t PatchGatherer::gatherRun(const std::byte* image, const std::byte* imagesEnd, int64_t top,
                                int64_t column, size_t most, std::byte* to) const {
  const ops::WindowAxis& height = conv_.window.height;
  const ops::WindowAxis& width = conv_.window.width;
  Pieces pieces;
  pieces.segments = static_cast<size_t>(height.filter) * segmentsOfLine_;
  if (pieces.segments > kMostSegments || most == 0) return 0;
  pieces.bytes = segmentBytes_;
  pieces.step = static_cast<size_t>(width.stride) * cellBytes_;
  pieces.count = most;
  pieces.stride = stride_;
  pieces.to = to;
  const size_t read = copiedBytes(segmentBytes_);
  size_t segment = 0;
  for (int64_t u = 0; u < height.filter; ++u) {
    const int64_t y = top + u * height.dilation;
    const bool isOutside = y < 0 || y >= height.input;
    const std::byte* from = isOutside ? zeros_.data() : image + y * lineBytes();
    const std::byte* const readable = isOutside ? zeros_.data() + zeros_.size() : imagesEnd;
    from += columns_[static_cast<size_t>(column)].offset;
    for (size_t v = 0; v < segmentsOfLine_; ++v) {
      pieces.from[segment++] = from;
      const auto room = static_cast<size_t>(readable - from);
      if (room < read) return 0;
      pieces.count = std::min(pieces.count, (room - read) / pieces.step + 1);
      from += width.dilation * cellBytes();
    }
  }
  ops::runBest<&copyAllPieces>(static_cast<const Pieces*>(&pieces));
  return pieces.count;
}

void PatchGatherer::pad(std::byte* to, int64_t cells) const {
  std::memset(to, std::to_integer<int>(zero_), static_cast<size_t>(cells) * cellBytes_);
}

void PatchGatherer::gatherPatch(const std::byte* image, int64_t top, const Columns& columns,
                                std::byte* to) const {
  const ops::WindowAxis& height = conv_.window.height;
  const int64_t cells = conv_.window.width.filter;
  for (int64_t u = 0; u < height.filter; ++u, to += cells * cellBytes()) {
    const int64_t y = top + u * height.dilation;
    if (y < 0 || y >= height.input || columns.begin == columns.end) {
      pad(to, cells);
    } else {
      gatherLine(image + y * lineBytes() + columns.offset, columns, to);
    }
  }
}

// `from` is where the first tap inside reads.
void PatchGatherer::gatherLine(const std::byte* from, const Columns& columns, std::byte* to) const {
  const ops::WindowAxis& width = conv_.window.width;
  if (columns.begin > 0) pad(to, columns.begin);
  if (isContiguous_) {
    ops::copySmall(to + columns.begin * cellBytes(), from,
                   static_cast<size_t>(columns.end - columns.begin) * cellBytes_);
  } else {
    for (int64_t v = columns.begin; v < columns.end; ++v) {
      ops::copySmall(to + v * cellBytes(), from, cellBytes_);
      from += width.dilation * cellBytes();
    }
  }
  if (columns.end < width.filter) {
    pad(to + columns.end * cellBytes(), width.filter - columns.end);
  }
}

}  // namespace halyard::cpudriver
