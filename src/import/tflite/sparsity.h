// Sparsity: the sparse form of a constant tensor, in which most elements are zeros and left out.
//
// The elements stand in the order of a tree. Each level of the tree is a dimension, or a block of a
// dimension. A dense level has all indices. A sparse level lists its indices, for each position of
// the level above.
// Thread safety: values. Ownership: owns its lists.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <span>
#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"
#include "import/tflite/tflite_generated.h"

namespace halyard::import {

struct Sparsity {
  struct Level {
    bool isDense = true;
    int32_t size = 0;               // of a dense level
    std::vector<int32_t> segments;  // of a sparse level: where the indices of each position begin
    std::vector<int32_t> indices;
  };

  // By level: a dimension of the tensor, or its rank plus the number of a block.
  std::vector<int32_t> order;
  std::vector<int32_t> blocks;  // by number of the block: the dimension that it divides
  std::vector<Level> levels;

  flatbuffers::Offset<tfl::SparsityParameters> write(flatbuffers::FlatBufferBuilder& builder) const;
  // Writes all elements of a tensor with these dimensions, zeros included. `values` are the
  // elements that the file has, of `elementSize` bytes each. `dense` has the size of the whole
  // tensor. BAD_DATA if the description contradicts itself, the dimensions or the values.
  Status densify(const Shape& dims, std::span<const uint8_t> values, size_t elementSize,
                 std::span<uint8_t> dense) const;
};

}  // namespace halyard::import
