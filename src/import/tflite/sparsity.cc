#include "import/tflite/sparsity.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace halyard::import {
namespace {

// The most levels: eight dimensions, and a block of each.
constexpr size_t kMostLevels = 16;

class Densifier {
 public:
  Densifier(const Sparsity& sparsity, const Shape& dims, std::span<const uint8_t> values,
            size_t elementSize, std::span<uint8_t> dense)
      : sparsity_(sparsity),
        dims_(dims),
        values_(values),
        elementSize_(elementSize),
        dense_(dense) {}

  Status run() {
    HALYARD_RETURN_IF_ERROR(checkOrder());
    HALYARD_RETURN_IF_ERROR(findExtents());
    HALYARD_RETURN_IF_ERROR(checkLevels());
    std::ranges::fill(dense_, uint8_t{0});
    walk(0, 0, 0);
    return okStatus();
  }

 private:
  size_t rank() const { return dims_.size(); }

  // Each dimension and each block must be one level.
  Status checkOrder() const {
    const size_t count = sparsity_.levels.size();
    if (count > kMostLevels || sparsity_.order.size() != count ||
        count != rank() + sparsity_.blocks.size()) {
      return badData("its sparsity has {} levels, an order of {} and {} blocks for {} dimensions",
                     count, sparsity_.order.size(), sparsity_.blocks.size(), rank());
    }
    std::vector<bool> seen(count);
    for (const int32_t item : sparsity_.order) {
      if (item < 0 || static_cast<size_t>(item) >= count || seen[static_cast<size_t>(item)]) {
        return badData("its sparsity's order has {}, expected each number below {} once", item,
                       count);
      }
      seen[static_cast<size_t>(item)] = true;
    }
    return okStatus();
  }

  size_t levelOf(size_t item) const {
    return static_cast<size_t>(std::ranges::find(sparsity_.order, static_cast<int32_t>(item)) -
                               sparsity_.order.begin());
  }

  // The extent of each level, and the elements of the dense tensor between two of its indices.
  Status findExtents() {
    extents_.resize(sparsity_.levels.size());
    steps_.resize(sparsity_.levels.size());
    std::vector<uint32_t> blockSizes(rank(), 0);
    for (size_t i = 0; i < sparsity_.blocks.size(); ++i) {
      const int32_t dimension = sparsity_.blocks[i];
      if (dimension < 0 || static_cast<size_t>(dimension) >= rank() ||
          blockSizes[static_cast<size_t>(dimension)] != 0) {
        return badData("its sparsity's block {} divides dimension {}, expected another below {}", i,
                       dimension, rank());
      }
      const Sparsity::Level& level = sparsity_.levels[levelOf(rank() + i)];
      if (!level.isDense || level.size < 1 ||
          dims_[static_cast<size_t>(dimension)] % static_cast<uint32_t>(level.size) != 0) {
        return badData("its sparsity's block {} of size {} does not divide dimension {} of {}", i,
                       level.size, dimension, shapeText(dims_));
      }
      blockSizes[static_cast<size_t>(dimension)] = static_cast<uint32_t>(level.size);
    }
    size_t step = 1;
    for (size_t d = rank(); d-- > 0;) {
      const uint32_t block = std::max(blockSizes[d], 1u);
      extents_[levelOf(d)] = dims_[d] / block;
      steps_[levelOf(d)] = step * block;
      for (size_t i = 0; i < sparsity_.blocks.size(); ++i) {
        if (static_cast<size_t>(sparsity_.blocks[i]) != d) continue;
        extents_[levelOf(rank() + i)] = block;
        steps_[levelOf(rank() + i)] = step;
      }
      step *= dims_[d];
    }
    return okStatus();
  }

  Status checkLevels() const {
    const uint64_t most = dense_.size() / elementSize_;
    uint64_t positions = 1;
    for (size_t i = 0; i < sparsity_.levels.size(); ++i) {
      const Sparsity::Level& level = sparsity_.levels[i];
      if (level.isDense) {
        if (level.size < 0 || static_cast<uint32_t>(level.size) != extents_[i]) {
          return badData("level {} of its sparsity has the size {}, expected {}", i, level.size,
                         extents_[i]);
        }
        positions *= extents_[i];
      } else {
        HALYARD_RETURN_IF_ERROR(checkSparse(level, positions, extents_[i]),
                                "level {} of its sparsity", i);
        positions = level.indices.size();
      }
      if (positions > most) {
        return badData("level {} of its sparsity has {} positions, the tensor has {} elements", i,
                       positions, most);
      }
    }
    if (positions * elementSize_ == values_.size()) return okStatus();
    return badData("its sparsity needs {} elements, the file has {} bytes", positions,
                   values_.size());
  }

  static Status checkSparse(const Sparsity::Level& level, uint64_t positions, uint32_t extent) {
    if (level.segments.size() != positions + 1) {
      return badData("has {} segments, expected {}", level.segments.size(), positions + 1);
    }
    if (level.segments.front() != 0 || !std::ranges::is_sorted(level.segments) ||
        static_cast<size_t>(level.segments.back()) != level.indices.size()) {
      return badData("has segments that do not ascend from 0 to {}", level.indices.size());
    }
    const auto isOutside = [extent](int32_t index) {
      return index < 0 || static_cast<uint32_t>(index) >= extent;
    };
    const auto outside = std::ranges::find_if(level.indices, isOutside);
    if (outside == level.indices.end()) return okStatus();
    return badData("has the index {}, expected less than {}", *outside, extent);
  }

  // `position` among those of the level above; `place` of the element in the dense tensor so far.
  void walk(size_t i, size_t position, size_t place) {
    if (i == sparsity_.levels.size()) {
      std::memcpy(dense_.data() + place * elementSize_, values_.data() + position * elementSize_,
                  elementSize_);
      return;
    }
    const Sparsity::Level& level = sparsity_.levels[i];
    if (level.isDense) {
      for (size_t index = 0; index < extents_[i]; ++index) {
        walk(i + 1, position * extents_[i] + index, place + index * steps_[i]);
      }
      return;
    }
    const auto begin = static_cast<size_t>(level.segments[position]);
    const auto end = static_cast<size_t>(level.segments[position + 1]);
    for (size_t at = begin; at < end; ++at) {
      walk(i + 1, at, place + static_cast<size_t>(level.indices[at]) * steps_[i]);
    }
  }

  const Sparsity& sparsity_;
  const Shape& dims_;
  const std::span<const uint8_t> values_;
  const size_t elementSize_;
  const std::span<uint8_t> dense_;
  std::vector<uint32_t> extents_;  // by level
  std::vector<size_t> steps_;      // by level
};

}  // namespace

flatbuffers::Offset<tfl::SparsityParameters> Sparsity::write(
    flatbuffers::FlatBufferBuilder& builder) const {
  std::vector<flatbuffers::Offset<tfl::DimensionMetadata>> written;
  for (const Level& level : levels) {
    if (level.isDense) {
      written.push_back(
          tfl::CreateDimensionMetadata(builder, tfl::DimensionType::DENSE, level.size));
      continue;
    }
    const auto segments = tfl::CreateInt32VectorDirect(builder, &level.segments).Union();
    const auto indices = tfl::CreateInt32VectorDirect(builder, &level.indices).Union();
    written.push_back(tfl::CreateDimensionMetadata(builder, tfl::DimensionType::SPARSE_CSR, 0,
                                                   tfl::SparseIndexVector::Int32Vector, segments,
                                                   tfl::SparseIndexVector::Int32Vector, indices));
  }
  return tfl::CreateSparsityParametersDirect(builder, &order, &blocks, &written);
}

Status Sparsity::densify(const Shape& dims, std::span<const uint8_t> values, size_t elementSize,
                         std::span<uint8_t> dense) const {
  return Densifier(*this, dims, values, elementSize, dense).run();
}

}  // namespace halyard::import
