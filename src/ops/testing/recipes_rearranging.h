// Recipes of operations that move, select or reduce elements.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include <algorithm>
#include <numeric>

#include "ops/testing/recipes_elementwise.h"

namespace halyard::ops::testing::recipes {

// Returns the sizes of a shape as int32 values.
inline std::vector<int32_t> asInts(const Shape& shape) { return {shape.begin(), shape.end()}; }

inline void reshape(CaseBuilder& b) {
  const Shape from = b.shape();
  b.tensor(from);
  Shape to = from;
  std::reverse(to.begin(), to.end());
  if (b.coin()) to.insert(to.begin(), 1);
  std::vector<int32_t> values = asInts(to);
  if (b.coin()) values[static_cast<size_t>(b.between(0, static_cast<int>(to.size()) - 1))] = -1;
  b.intList(values);
  b.outLike(0);
}

inline void squeeze(CaseBuilder& b) {
  Shape shape = b.shape();
  std::vector<int32_t> ones;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (b.coin()) shape[d] = 1;
    const auto axis = static_cast<int32_t>(d);
    const auto rank = static_cast<int32_t>(shape.size());
    if (shape[d] == 1 && b.coin()) ones.push_back(b.coin() ? axis : axis - rank);
  }
  b.tensor(shape);
  // A constant cannot be an empty list.
  if (ones.empty() || b.coin()) {
    b.omit();
  } else {
    b.intList(ones);
  }
  b.outLike(0);
}

inline void expandDims(CaseBuilder& b) {
  b.tensor(b.shape());
  b.axis(b.dims(0).size() + 1);
  b.outLike(0);
}

inline void transpose(CaseBuilder& b) {
  const Shape shape = b.shape();
  b.tensor(shape);
  std::vector<int32_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<size_t>(b.between(0, static_cast<int>(i) - 1))]);
  }
  if (shape.size() == 2 && b.coin()) {
    order = {1, 0};
    b.omit();
  } else {
    b.intList(order);
  }
  b.outLike(0);
  b.legal().expected = [order](const LegalCase& legal) {
    const Shape& from = legal.inputs[0].tensor.dims;
    const std::vector<double> x = plainReals(legal.inputs[0]);
    Shape to;
    for (int32_t d : order) to.push_back(from[static_cast<size_t>(d)]);
    std::vector<double> result;
    for (size_t i = 0; i < x.size(); ++i) {
      const std::vector<size_t> coordinates = coordinatesOf(i, to);
      std::vector<size_t> source(order.size());
      for (size_t d = 0; d < order.size(); ++d) {
        source[static_cast<size_t>(order[d])] = coordinates[d];
      }
      result.push_back(x[indexOf(source, from)]);
    }
    return result;
  };
}

inline void slice(CaseBuilder& b) {
  const Shape shape = b.shape();
  b.tensor(shape);
  std::vector<int32_t> begin;
  std::vector<int32_t> size;
  for (uint32_t d : shape) {
    begin.push_back(b.between(0, static_cast<int>(d) - 1));
    size.push_back(b.coin() ? -1 : b.between(1, static_cast<int>(d) - begin.back()));
  }
  b.intList(begin);
  b.intList(size);
  b.outLike(0);
}

inline void stridedSlice(CaseBuilder& b) {
  const Shape shape = b.shape();
  b.tensor(shape);
  std::vector<int32_t> begin;
  std::vector<int32_t> end;
  std::vector<int32_t> strides;
  int shrink = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int extent = static_cast<int>(shape[d]);
    const int first = b.between(0, extent - 1);
    if (b.between(0, 3) == 0) {
      begin.push_back(b.coin() ? first : first - extent);
      end.push_back(begin.back() + (begin.back() == -1 ? extent + 1 : 1));
      strides.push_back(1);
      shrink |= 1 << d;
    } else if (b.coin()) {
      begin.push_back(first);
      end.push_back(b.between(first + 1, extent + 2));
      strides.push_back(b.between(1, 3));
    } else {
      begin.push_back(first);
      end.push_back(first == 0 || b.coin() ? -extent - 1 : b.between(0, first - 1));
      strides.push_back(-b.between(1, 3));
    }
  }
  b.intList(begin);
  b.intList(end);
  b.intList(strides);
  const int masks = ~shrink & ((1 << shape.size()) - 1);
  b.int32(b.between(0, 15) & masks);
  b.int32(b.between(0, 15) & masks);
  b.int32(shrink);
  b.outLike(0);
}

inline void split(CaseBuilder& b) {
  Shape shape = b.shape();
  const auto parts = static_cast<uint32_t>(b.outputCount());
  const size_t at = static_cast<size_t>(b.between(0, static_cast<int>(shape.size()) - 1));
  shape[at] *= parts;
  b.tensor(shape);
  const int rank = static_cast<int>(shape.size());
  b.int32(static_cast<int>(at) - (b.coin() ? rank : 0));
  b.wrongValue(rank);
  b.wrongValue(-rank - 1);
  b.int32(static_cast<int>(parts));
  b.wrongValue(0);
  b.wrongValue(-1);
  b.wrongValue(static_cast<int>(parts) + 1);
  for (uint32_t i = 0; i < parts; ++i) b.outLike(0);
}

inline void tile(CaseBuilder& b) {
  b.tensor(b.shape(4));
  std::vector<int32_t> multiples;
  for (size_t d = 0; d < b.dims(0).size(); ++d) multiples.push_back(b.between(1, 3));
  b.intList(multiples);
  b.outLike(0);
}

// Returns [rank][2], within `limit` of each size.
template <typename Limit>
void paddings(CaseBuilder& b, Limit limit) {
  std::vector<int32_t> pads;
  for (uint32_t d : b.dims(0)) {
    for (int side = 0; side < 2; ++side) {
      pads.push_back(b.between(0, limit(static_cast<int>(d))));
    }
  }
  b.ints({static_cast<uint32_t>(b.dims(0).size()), 2}, pads);
}
inline void pad(CaseBuilder& b) {
  b.tensor(b.shape());
  paddings(b, [](int) { return 3; });
  b.outLike(0);
}
inline void padV2(CaseBuilder& b) {
  b.tensor(b.shape());
  paddings(b, [](int) { return 3; });
  if (b.nextType() == INT32) {
    const bool isUnsigned = b.typeOf(0) == TENSOR_QUANT8_ASYMM;
    b.legal().storedScalars.push_back(2);
    b.int32(b.between(0, 255) - (isUnsigned ? 0 : 128));
  } else {
    b.real(b.random().realBetween(-3, 3));
  }
  b.outLike(0);
}
inline void mirrorPad(CaseBuilder& b) {
  b.tensor(b.shape());
  const int mode = b.between(0, 1);
  paddings(b, [mode](int d) { return mode == 0 ? d - 1 : d; });
  b.int32(mode);
  b.wrongValue(2);
  b.wrongValue(-1);
  b.outLike(0);
}

inline void reverse(CaseBuilder& b) {
  b.tensor(b.shape());
  b.axis(b.dims(0).size(), /*mayBeNegative=*/false);
  b.outLike(0);
}

inline void pack(CaseBuilder& b) {
  Shape shape(static_cast<size_t>(b.between(1, 4)));
  for (uint32_t& d : shape) d = b.size(1, 4);
  b.axis(shape.size() + 1, /*mayBeNegative=*/false);
  b.tensor(shape);
  while (b.more()) b.tensorLike(1, shape);
  b.outLike(1);
}

inline void concatenation(CaseBuilder& b) {
  const Shape shape = b.shape();
  const size_t at = static_cast<size_t>(b.between(0, static_cast<int>(shape.size()) - 1));
  while (b.legal().inputs.size() + 1 < b.inputCount()) {
    Shape own = shape;
    own[at] = b.size(1, 5);
    b.tensor(own);
  }
  b.int32(static_cast<int>(at));
  b.wrongValue(static_cast<int>(shape.size()));
  b.wrongValue(-1);
  b.out(b.spread(0));
}

inline void gather(CaseBuilder& b) {
  b.tensor(b.shape());
  const size_t at = b.axis(b.dims(0).size());
  Shape indexShape(static_cast<size_t>(b.between(1, 3)));
  for (uint32_t& d : indexShape) d = b.size(1, 3);
  std::vector<int32_t> indices(elementsOf(indexShape));
  for (int32_t& index : indices) index = b.between(0, static_cast<int>(b.dims(0)[at]) - 1);
  b.ints(indexShape, indices);
  b.outLike(0);
}

inline void gatherNd(CaseBuilder& b) {
  b.tensor(b.shape());
  const Shape dims = b.dims(0);
  const uint32_t length = b.size(1, static_cast<int>(dims.size()));
  Shape tuples(static_cast<size_t>(b.between(0, 2)));
  for (uint32_t& d : tuples) d = b.size(1, 3);
  std::vector<int32_t> indices;
  for (size_t tuple = 0; tuple < elementsOf(tuples); ++tuple) {
    for (uint32_t d = 0; d < length; ++d) {
      indices.push_back(b.between(0, static_cast<int>(dims[d]) - 1));
    }
  }
  tuples.push_back(length);
  b.ints(tuples, indices);
  b.outLike(0);
  if (tuples.size() > 1) b.batch({1}, {0});
}

inline void depthToSpace(CaseBuilder& b) {
  const uint32_t block = b.size(1, 3);
  b.tensor({b.size(1, 3), b.size(1, 4), b.size(1, 4), block * block * b.size(1, 3)});
  b.int32(static_cast<int>(block));
  b.wrongValue(0);
  b.wrongValue(-2);
  if (b.more()) b.layout({0}, {0});
  b.outLike(0);
  b.batch({0}, {0});
}
inline void spaceToDepth(CaseBuilder& b) {
  const uint32_t block = b.size(1, 3);
  b.tensor({b.size(1, 3), block * b.size(1, 3), block * b.size(1, 3), b.size(1, 4)});
  b.int32(static_cast<int>(block));
  b.wrongValue(0);
  b.wrongValue(-2);
  if (b.more()) b.layout({0}, {0});
  b.outLike(0);
  b.batch({0}, {0});
}
inline void batchToSpace(CaseBuilder& b) {
  const uint32_t height = b.size(1, 3);
  const uint32_t width = b.size(1, 3);
  b.tensor({height * width * b.size(1, 2), b.size(1, 4), b.size(1, 4), b.size(1, 4)});
  b.intList({static_cast<int32_t>(height), static_cast<int32_t>(width)});
  if (b.more()) b.layout({0}, {0});
  b.outLike(0);
}
inline void spaceToBatch(CaseBuilder& b) {
  const int height = b.between(1, 3);
  const int width = b.between(1, 3);
  const Shape shape = {b.size(1, 2), b.size(1, 5), b.size(1, 5), b.size(1, 4)};
  b.tensor(shape);
  b.intList({height, width});
  // The rest up to a multiple goes to either side.
  const auto sides = [&](uint32_t extent, int block) {
    const int missing =
        (block - static_cast<int>(extent) % block) % block + block * b.between(0, 1);
    const int before = b.between(0, missing);
    return std::pair(before, missing - before);
  };
  const auto [top, bottom] = sides(shape[1], height);
  const auto [left, right] = sides(shape[2], width);
  b.ints({2, 2}, {top, bottom, left, right});
  if (b.more()) b.layout({0}, {0});
  b.outLike(0);
}

inline void channelShuffle(CaseBuilder& b) {
  Shape shape = b.shape();
  const size_t at = static_cast<size_t>(b.between(0, static_cast<int>(shape.size()) - 1));
  const uint32_t groups = b.size(1, 3);
  shape[at] *= groups;
  b.tensor(shape);
  b.int32(static_cast<int>(groups));
  b.wrongValue(0);
  b.wrongValue(-1);
  b.wrongValue(static_cast<int>(shape[at]) + 1);
  const int rank = static_cast<int>(shape.size());
  b.int32(static_cast<int>(at) - (b.coin() ? rank : 0));
  b.wrongValue(rank);
  b.wrongValue(-rank - 1);
  b.outLike(0);
}

inline void fill(CaseBuilder& b) {
  b.intList({b.between(1, 4), b.between(1, 4), b.between(1, 4)});
  if (b.nextType() == INT32) {
    b.int32(b.between(-100, 100));
  } else {
    b.real(b.random().realBetween(-9, 9));
  }
  b.outPlain();
}
inline void rankOf(CaseBuilder& b) {
  b.tensor(b.shape());
  b.outPlain();
}
inline void shapeOf(CaseBuilder& b) {
  b.tensor(b.shape());
  b.outPlain();
  b.legal().expected = [](const LegalCase& legal) {
    const Shape& dims = legal.inputs[0].tensor.dims;
    return std::vector<double>(dims.begin(), dims.end());
  };
}

inline void reduce(CaseBuilder& b) {
  b.tensor(b.shape());
  const int rank = static_cast<int>(b.dims(0).size());
  std::vector<int32_t> axes(static_cast<size_t>(b.between(1, 3)));
  for (int32_t& axis : axes) axis = b.between(-rank, rank - 1);
  b.intList(axes);
  if (b.nextType() == BOOL) {
    b.flag(b.coin());
  } else {
    b.int32(b.between(0, 1));
  }
  b.outLike(0);
}

inline void argument(CaseBuilder& b) {
  b.tensor(b.shape());
  const size_t at = b.axis(b.dims(0).size());
  b.outPlain();
  if (at != 0 && b.dims(0).size() > 1) b.batch({0}, {0});
}

inline void topK(CaseBuilder& b) {
  b.tensor(b.shape());
  const int last = static_cast<int>(b.dims(0).back());
  b.int32(b.between(1, last));
  b.wrongValue(0);
  b.wrongValue(-1);
  b.wrongValue(last + 1);
  b.outLike(0);
  b.outPlain();
  if (b.dims(0).size() > 1) b.batch({0}, {0, 1});
}

inline void embeddingLookup(CaseBuilder& b) {
  const uint32_t rows = b.size(1, 6);
  std::vector<int32_t> lookups(b.size(1, 6));
  for (int32_t& lookup : lookups) lookup = b.between(0, static_cast<int>(rows) - 1);
  b.intList(lookups);
  Shape shape = b.shape(4, 2);
  shape[0] = rows;
  b.tensor(shape);
  b.outLike(1);
  b.batch({0}, {0});
}
inline void hashtableLookup(CaseBuilder& b) {
  std::vector<int32_t> lookups(b.size(1, 6));
  for (int32_t& lookup : lookups) lookup = b.between(-5, 15);
  b.intList(lookups);
  std::vector<int32_t> keys(b.size(1, 5));
  int32_t key = -5;
  for (int32_t& k : keys) k = (key += b.between(1, 4));
  b.intList(keys);
  Shape shape = b.shape(4, 2);
  shape[0] = static_cast<uint32_t>(keys.size());
  b.tensor(shape);
  b.outLike(2);
  b.outFixed(1, 0, 0);
  b.batch({0}, {0, 1});
}

inline void lshProjection(CaseBuilder& b) {
  b.legal().readsBytes = true;
  b.tensor({b.size(1, 4), b.size(1, 8)});
  const uint32_t rows = b.size(1, 5);
  Shape shape = b.shape(4);
  shape[0] = rows;
  b.tensor(shape);
  const int type = b.between(1, 3);
  b.tensorOr(type == 2, {rows});
  b.int32(type);
  b.wrongValue(0);
  b.wrongValue(4);
  b.outPlain();
}

}  // namespace halyard::ops::testing::recipes
