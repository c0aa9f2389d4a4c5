// Recipes of the operations of halyard.tflite that have no relatives in NNAPI.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include <algorithm>
#include <vector>

#include "ops/testing/recipes_rearranging.h"

namespace halyard::ops::testing::recipes {

inline void gelu(CaseBuilder& b) {
  b.tensor(b.shape(), -4, 4);
  b.flag(b.coin());
  b.outPlain();
  b.batch({0}, {0});
}

inline void floorMod(CaseBuilder& b) {
  const ShapePair shapes = broadcastShapes(b);
  b.tensor(shapes.a, -3, 3);
  b.tensor(shapes.b, 0.5f, 2);
  b.outPlain();
  batchOfPair(b);
}

inline void selectV2(CaseBuilder& b) {
  const ShapePair shapes = broadcastShapes(b);
  Shape condition = broadcastOf(shapes.a, shapes.b);
  for (uint32_t& d : condition) {
    if (b.between(0, 2) == 0) d = 1;
  }
  b.tensor(condition);
  b.tensor(shapes.a);
  b.tensorLike(1, shapes.b);
  b.outLike(1);
}

inline void cumsum(CaseBuilder& b) {
  b.tensor(b.shape());
  const size_t at = b.axis(b.dims(0).size());
  b.flag(b.coin());
  b.flag(b.coin());
  b.outPlain();
  if (at != 0) b.batch({0}, {0});
}

inline void scatterNd(CaseBuilder& b) {
  Shape dims(static_cast<size_t>(b.between(1, 4)));
  for (uint32_t& d : dims) d = b.size(1, 4);
  const uint32_t length = b.size(1, static_cast<int>(dims.size()));
  const uint32_t count = b.size(1, 5);
  std::vector<int32_t> indices;
  for (uint32_t tuple = 0; tuple < count; ++tuple) {
    for (uint32_t d = 0; d < length; ++d) {
      indices.push_back(b.between(0, static_cast<int>(dims[d]) - 1));
    }
  }
  b.ints({count, length}, indices);
  Shape updates = {count};
  updates.insert(updates.end(), dims.begin() + length, dims.end());
  b.tensor(updates);
  b.intList(asInts(dims));
  b.outPlain();
}

inline void unsortedSegments(CaseBuilder& b) {
  const Shape dims = b.shape();
  b.tensor(dims);
  const int count = b.between(1, 5);
  const Shape prefix(dims.begin(), dims.begin() + b.between(1, static_cast<int>(dims.size())));
  std::vector<int32_t> segments(elementsOf(prefix));
  for (int32_t& segment : segments) segment = b.between(-1, count - 1);
  b.ints(prefix, segments);
  b.int32(count);
  b.wrongValue(0);
  b.wrongValue(-1);
  b.outPlain();
}

inline void dynamicUpdateSlice(CaseBuilder& b) {
  const Shape dims = b.shape();
  b.tensor(dims);
  Shape part = dims;
  std::vector<int32_t> starts;
  for (uint32_t& d : part) {
    starts.push_back(b.between(-1, static_cast<int>(d)));
    d = b.size(1, static_cast<int>(d));
  }
  b.tensorLike(0, part);
  b.intList(starts);
  b.outLike(0);
}

inline void where(CaseBuilder& b) {
  b.tensor(b.shape());
  b.outPlain();
}

inline void reverseSequence(CaseBuilder& b) {
  const Shape dims = b.shape(5, 2);
  b.tensor(dims);
  const int rank = static_cast<int>(dims.size());
  const int sequence = b.between(0, rank - 1);
  const int batch = (sequence + b.between(1, rank - 1)) % rank;
  std::vector<int32_t> lengths(dims[static_cast<size_t>(batch)]);
  for (int32_t& length : lengths) {
    length = b.between(0, static_cast<int>(dims[static_cast<size_t>(sequence)]));
  }
  b.intList(lengths);
  b.int32(sequence - (b.coin() ? rank : 0));
  b.wrongValue(rank);
  b.int32(batch - (b.coin() ? rank : 0));
  b.wrongValue(-rank - 1);
  b.wrongValue(sequence);
  b.outLike(0);
}

inline void bucketize(CaseBuilder& b) {
  b.tensor(b.shape(), -4, 4);
  std::vector<float> boundaries(b.size(1, 5));
  for (float& boundary : boundaries) boundary = b.random().realBetween(-3, 3);
  std::sort(boundaries.begin(), boundaries.end());
  b.add(TestOperand::of<float>(TENSOR_FLOAT32, {static_cast<uint32_t>(boundaries.size())},
                               boundaries));
  b.outPlain();
  b.batch({0}, {0});
}

inline void quantize16(CaseBuilder& b) {
  b.tensor(b.shape(), -3, 3);
  b.legal().outputs.push_back(TestOperand::output(b.outputType(0), 1.0f / 8192));
  b.batch({0}, {0});
}

inline void nonMaxSuppression(CaseBuilder& b) {
  const uint32_t count = b.size(1, 12);
  b.tensor({count, 4}, 0, 1);
  b.tensor({count}, 0, 1);
  b.int32(b.between(1, 8));
  b.wrongValue(0);
  b.real(b.random().realBetween(0.1f, 0.9f));
  b.real(b.random().realBetween(0, 0.3f));
  b.real(b.coin() ? 0.5f : 0);
  for (int i = 0; i < 3; ++i) b.outPlain();
}

inline void unique(CaseBuilder& b) {
  b.tensor({b.size(1, 9)}, -3, 3);
  b.outPlain();
  b.outPlain();
}

inline void dilate(CaseBuilder& b) {
  const Shape dims = b.shape();
  b.tensor(dims);
  std::vector<int32_t> steps(dims.size());
  for (int32_t& step : steps) step = b.between(1, 3);
  b.intList(steps);
  b.tensorLike(0, {1});
  b.outLike(0);
}

inline void reduceWindow(CaseBuilder& b) {
  const bool isOfBools = b.typeOf(0) == TENSOR_BOOL8;
  const Shape dims = b.shape();
  std::vector<int32_t> window, strides, dilations;
  for (const uint32_t d : dims) {
    window.push_back(b.between(1, std::min<int>(3, static_cast<int>(d))));
    const int most = (static_cast<int>(d) - 1) / std::max(1, window.back() - 1);
    dilations.push_back(b.between(1, std::clamp(most, 1, 2)));
    strides.push_back(b.between(1, 2));
  }
  b.tensor(dims, -2, 2);
  b.tensor({1}, -1, 1);
  b.intList(window);
  b.intList(strides);
  b.intList(dilations);
  b.int32(isOfBools ? b.between(5, 6) : b.between(1, 4));
  b.wrongValue(isOfBools ? 4 : 5);
  b.wrongValue(0);
  b.outPlain();
}

// The geometry of a convolution of volumes.
struct VolumeWindow {
  Shape large;  // depth, height and width
  Shape small;
  Shape filter;
  std::vector<int32_t> paddings, strides, dilations;

  explicit VolumeWindow(CaseBuilder& b) {
    for (int d = 0; d < 3; ++d) {
      const int taps = b.between(1, 3);
      strides.push_back(b.between(1, 2));
      dilations.push_back(b.between(1, 2));
      const int extent = (taps - 1) * dilations.back() + 1;
      int padded = extent + b.between(0, 3);
      large.push_back(static_cast<uint32_t>(padded));
      for (int side = 0; side < 2; ++side) {
        paddings.push_back(b.between(0, extent - 1));
        padded += paddings.back();
      }
      filter.push_back(static_cast<uint32_t>(taps));
      small.push_back(static_cast<uint32_t>((padded - extent) / strides.back() + 1));
    }
  }
};

template <bool kIsTransposed>
void conv3d(CaseBuilder& b) {
  const VolumeWindow window(b);
  const uint32_t inputs = b.size(1, 5);
  const uint32_t outputs = b.size(1, 9);
  Shape input = kIsTransposed ? window.small : window.large;
  input.insert(input.begin(), b.size(1, 2));
  input.push_back(inputs);
  Shape filter = window.filter;
  filter.push_back(kIsTransposed ? outputs : inputs);
  filter.push_back(kIsTransposed ? inputs : outputs);
  b.tensor(input);
  b.tensor(filter);
  b.tensor({outputs});
  b.ints({3, 2}, window.paddings);
  b.intList(window.strides);
  b.intList(window.dilations);
  b.activation();
  if (kIsTransposed) b.intList(asInts(window.large));
  b.outPlain();
  b.batch({0}, {0});
}

}  // namespace halyard::ops::testing::recipes
