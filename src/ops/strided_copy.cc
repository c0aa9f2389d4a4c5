// Loops are merged and reordered until the innermost part is a run of bytes, a transposed matrix or
// a line of single elements. Threads share the outer loops.
#include "ops/strided_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "ops/small_copy.h"
#include "ops/transpose_block.h"

namespace halyard::ops {
namespace {

constexpr size_t kBytesPerRange = 64 * 1024;
constexpr size_t kWantedItems = 8;  // number of items to share among threads
constexpr size_t kMostElementBytes = 16;

// Returns the same copy with the fewest and longest loops, outermost first.
std::vector<CopyLoop> simplified(std::vector<CopyLoop> loops) {
  std::erase_if(loops, [](const CopyLoop& loop) { return loop.count == 1; });
  // The loops follow the order of the output, so that writes are sequential.
  std::stable_sort(loops.begin(), loops.end(),
                   [](const CopyLoop& a, const CopyLoop& b) { return a.to > b.to; });
  std::vector<CopyLoop> result;
  for (const CopyLoop& loop : loops) {
    const auto count = static_cast<ptrdiff_t>(loop.count);
    if (!result.empty() && result.back().from == count * loop.from &&
        result.back().to == count * loop.to) {
      result.back() = {result.back().count * loop.count, loop.from, loop.to};
    } else {
      result.push_back(loop);
    }
  }
  return result;
}

template <size_t kBytes>
struct Element {
  std::byte bytes[kBytes];
};

// Copies one element in each step of two inner loops; the first is the outer one.
template <size_t kBytes>
void copyElementLines(const CopyLoop& lines, const CopyLoop& line, const std::byte* from,
                      std::byte* to) {
  using Single = Element<kBytes>;
  constexpr auto kStep = static_cast<ptrdiff_t>(kBytes);
  for (size_t i = 0; i < lines.count; ++i, from += lines.from, to += lines.to) {
    if (line.from == 0 && line.to == kStep) {
      Single element;
      std::memcpy(&element, from, kBytes);
      for (size_t j = 0; j < line.count; ++j) std::memcpy(to + j * kBytes, &element, kBytes);
      continue;
    }
    const std::byte* x = from;
    std::byte* y = to;
    for (size_t j = 0; j < line.count; ++j, x += line.from, y += line.to) {
      std::memcpy(y, x, kBytes);
    }
  }
}

// The innermost part. All strides are in bytes.
class Leaf {
 public:
  // Takes its loops out of `loops`, which count elements of `bytes` bytes.
  Leaf(size_t bytes, std::vector<CopyLoop>* loops) : bytes_(bytes) {
    const auto isNext = [](const CopyLoop& loop) { return loop.from == 1 && loop.to == 1; };
    if (loops->empty()) return;
    if (isNext(loops->back())) {
      widen(loops);
      return;
    }
    line_ = loops->back();
    loops->pop_back();
    if (line_.to != 1 || line_.from <= 0 || bytes_ > sizeof(uint64_t)) return;
    const auto column = std::find_if(loops->begin(), loops->end(),
                                     [](const CopyLoop& loop) { return loop.from == 1; });
    constexpr size_t kFew = 4;
    if (column == loops->end() || column->count < kFew || line_.count < kFew || column->to <= 0) {
      return;
    }
    column_ = *column;
    loops->erase(column);
  }

  // Returns the size in bytes of the element that all other strides count.
  size_t unit() const { return bytes_; }
  size_t bytes() const { return bytes_ * line_.count * (column_ ? column_->count : 1); }
  // Returns the number of positions at which a leaf can be divided.
  size_t positions() const { return column_ ? column_->count : line_.count; }

  // Copies positions [begin, end) of each of the leaves of `around`, whose strides are in bytes.
  void run(const CopyLoop& around, size_t begin, size_t end, const std::byte* from,
           std::byte* to) const {
    if (column_) return runColumns(around, begin, end, from, to);
    const auto unit = static_cast<ptrdiff_t>(bytes_);
    const CopyLoop line = {end - begin, line_.from * unit, line_.to * unit};
    from += static_cast<ptrdiff_t>(begin) * line.from;
    to += static_cast<ptrdiff_t>(begin) * line.to;
    if (line_.from == 1 && line_.to == 1) return runBytes(around, (end - begin) * bytes_, from, to);
    switch (bytes_) {
      case 1:
        return copyElementLines<1>(around, line, from, to);
      case 2:
        return copyElementLines<2>(around, line, from, to);
      case 4:
        return copyElementLines<4>(around, line, from, to);
      case 8:
        return copyElementLines<8>(around, line, from, to);
      default:
        return copyElementLines<16>(around, line, from, to);
    }
  }

 private:
  // Merges neighbouring elements that are copied together, if there is an element type of their
  // size.
  void widen(std::vector<CopyLoop>* loops) {
    const auto count = static_cast<ptrdiff_t>(loops->back().count);
    const size_t wide = bytes_ * loops->back().count;
    const bool isElement = wide <= kMostElementBytes && (wide & (wide - 1)) == 0 &&
                           std::all_of(loops->begin(), loops->end() - 1, [&](const CopyLoop& loop) {
                             return loop.from % count == 0 && loop.to % count == 0;
                           });
    if (!isElement || loops->size() == 1) {
      line_ = loops->back();
      loops->pop_back();
      return;
    }
    loops->pop_back();
    for (CopyLoop& loop : *loops) {
      loop.from /= count;
      loop.to /= count;
    }
    *this = Leaf(wide, loops);
  }

  static void runBytes(const CopyLoop& around, size_t bytes, const std::byte* from, std::byte* to) {
    for (size_t i = 0; i < around.count; ++i, from += around.from, to += around.to) {
      copySmall(to, from, bytes);
    }
  }

  void runColumns(const CopyLoop& around, size_t begin, size_t end, const std::byte* from,
                  std::byte* to) const {
    const auto transpose = [&]<typename T>(T*) {
      const auto offset = static_cast<ptrdiff_t>(begin * sizeof(T));
      for (size_t i = 0; i < around.count; ++i, from += around.from, to += around.to) {
        transposeBlock(reinterpret_cast<const T*>(from + offset), line_.from, line_.count,
                       end - begin, reinterpret_cast<T*>(to + offset * column_->to), column_->to);
      }
    };
    switch (bytes_) {
      case 1:
        return transpose(static_cast<uint8_t*>(nullptr));
      case 2:
        return transpose(static_cast<uint16_t*>(nullptr));
      case 4:
        return transpose(static_cast<uint32_t*>(nullptr));
      default:
        return transpose(static_cast<uint64_t*>(nullptr));
    }
  }

  size_t bytes_;
  CopyLoop line_ = {1, 1, 1};
  std::optional<CopyLoop> column_;  // set if the input's neighbours go to other lines
};

// Copies leaves [begin, end) of all leaves of `loops` (in bytes, outermost first), with positions
// [first, last) of each.
void runLeaves(const Leaf& leaf, std::span<const CopyLoop> loops, size_t begin, size_t end,
               size_t first, size_t last, const std::byte* from, std::byte* to) {
  const CopyLoop inner = loops.empty() ? CopyLoop{1, 0, 0} : loops.back();
  while (begin < end) {
    size_t rest = begin;
    ptrdiff_t fromOffset = 0;
    ptrdiff_t toOffset = 0;
    for (size_t l = loops.size(); l-- > 0;) {
      const auto position = static_cast<ptrdiff_t>(rest % loops[l].count);
      rest /= loops[l].count;
      fromOffset += position * loops[l].from;
      toOffset += position * loops[l].to;
    }
    const size_t count = std::min(end - begin, inner.count - begin % inner.count);
    leaf.run({count, inner.from, inner.to}, first, last, from + fromOffset, to + toOffset);
    begin += count;
  }
}

}  // namespace

void copyStrided(KernelServices& services, size_t elementBytes, const std::byte* from,
                 std::byte* to, std::vector<CopyLoop> loops) {
  size_t leaves = 1;
  for (const CopyLoop& loop : loops) leaves *= loop.count;
  if (leaves == 0) return;
  loops = simplified(std::move(loops));
  const Leaf leaf(elementBytes, &loops);
  leaves = 1;
  for (CopyLoop& loop : loops) {
    leaves *= loop.count;
    loop.from *= static_cast<ptrdiff_t>(leaf.unit());
    loop.to *= static_cast<ptrdiff_t>(leaf.unit());
  }
  if (leaves < kWantedItems && leaf.bytes() >= 2 * kBytesPerRange) {
    // A few large leaves are divided themselves, one after the other.
    const size_t grain = std::max<size_t>(leaf.positions() * kBytesPerRange / leaf.bytes(), 1);
    for (size_t i = 0; i < leaves; ++i) {
      services.parallelFor(leaf.positions(), grain, [&](size_t begin, size_t end) {
        runLeaves(leaf, loops, i, i + 1, begin, end, from, to);
      });
    }
    return;
  }
  services.parallelFor(leaves, kBytesPerRange / leaf.bytes() + 1, [&](size_t begin, size_t end) {
    runLeaves(leaf, loops, begin, end, 0, leaf.positions(), from, to);
  });
}

}  // namespace halyard::ops
