// Convolutions, full connections and products of matrices. Rows are positions of the result, columns
// are its channels, the right side is the filter.
#version 450
#include "memory.glsl"
#include "quads.glsl"
#extension GL_EXT_control_flow_attributes : require
#ifdef SOFTWARE
#extension GL_KHR_shader_subgroup_shuffle : require
#endif

// FUNCTION: one of these. RESULT_TYPE: of the filter. OPTION: activation and flags. The parameters
// are in the order of kernels/product.cc.
const int TILE = 0;    // a work item computes 1, 2 or 4 positions of 8 channels
const int SINGLE = 1;  // a work item computes one element
const int WIDEN = 2;   // copies an image, so that its channels are a multiple of 4 or 16

const int ACTIVATION = OPTION & 3;
const bool IS_FLAT = (OPTION & 4) != 0;  // each position of the image is one of the result
const bool IS_ODD = (OPTION & 8) != 0;   // the result's channels are no multiple of 4
const bool IS_WHOLE = (OPTION & 16) != 0;  // one chunk holds all products of a result
const bool IS_WIDE = (OPTION & 256) != 0;  // bytes: taps have a multiple of 16, in the filter too
// Reals: the filter is not packed, but a tensor [batch][depth][channels] or [batch][channels][depth].
const bool IS_TENSOR = (OPTION & 512) != 0;
const bool IS_ROWS = (OPTION & 1024) != 0;

const int MOST = 4;                  // positions of a tile
const int POSITIONS = (OPTION >> 5) & 7;
const int CHANNELS = 8;
// Work items with the same channels. On a GPU they are a work group, so that their weights are read
// once for all; on a software device a subgroup, which shares them by shuffles.
#ifdef SOFTWARE
const int LANES = 8;
int tileOf(int item) { return item / LANES; }
#else
const int LANES = 64;
int tileOf(int item) { return int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x); }
#endif

ivec4 places;   // image, filter, bias, result
ivec4 extents;  // positions, channels, blocks of channels, fours of a tap
ivec4 steps;    // in fours: image, row, column, group
ivec4 result;   // height, width, blocks of a group, taps
ivec4 image;    // height, width, padding before both
ivec4 moves;    // strides, dilations
ivec4 chunks;   // filter's width; taps and fours of a chunk; place of the values outside
ivec4 scales;   // multipliers, zero points of the filter and of the result
ivec4 range;    // lowest and highest result
ivec4 batch;    // tiles; fours of the image, elements of the filter

// In a tensor: the first element of the tile's batch, and the first channel of the tile.
int filterFirst = 0;
int firstChannel = 0;

void readParameters() {
  places = parameters4(0);
  extents = parameters4(1);
  steps = parameters4(2);
  result = parameters4(3);
  image = parameters4(4);
  moves = parameters4(5);
  chunks = parameters4(6);
  scales = parameters4(7);
  range = parameters4(8);
  batch = parameters4(9);
}

vec4 valuesAt(int four) { return loadFour(TYPE, places.x, four); }
// Four weights of a channel. Those of reals are float32.
vec4 weightsAt(int four) {
  if (isReal(TYPE)) return loadFour(FLOAT32, places.y, four);
  return loadFour(RESULT_TYPE, places.y, four) - float(scales.y);
}

// Weights 4 i to 4 i + 3 of channel c of the tile.
vec4 tensorFour(int c, int i) {
  const int channel = min(firstChannel + c, extents.y - 1);
  if (IS_ROWS) return loadFour(TYPE, places.y, (filterFirst >> 2) + channel * extents.w + i);
  vec4 weights;
  [[unroll]] for (int d = 0; d < 4; ++d) {
    weights[d] = loadReal(TYPE, places.y, filterFirst + (4 * i + d) * extents.y + channel);
  }
  return weights;
}

struct Rows {
  int first[MOST];  // four of the image
  int top[MOST];    // of the window, in the image; negative in the padding
  int left[MOST];
};

// The windows of four positions from `position` on.
Rows rowsOf(int position, int block) {
  Rows rows;
  const int group = quickQuotient(block, result.z) * steps.w;
  const int cells = result.x * result.y;
  [[unroll]] for (int p = 0; p < POSITIONS; ++p) {
    const int at = min(position + p, extents.x - 1);
    if (IS_FLAT) {
      rows.first[p] = at * steps.z + group;
      continue;
    }
    const int n = quickQuotient(at, cells);
    const int y = quickQuotient(at - n * cells, result.y);
    const int x = at - n * cells - y * result.y;
    rows.first[p] = n * steps.x + group;
    rows.top[p] = y * moves.x - image.z;
    rows.left[p] = x * moves.y - image.w;
  }
  return rows;
}

// The fours below tap `tap`, or those of the padding.
int[MOST] cellsOf(Rows rows, int tap) {
  if (IS_FLAT) return rows.first;
  int cells[MOST];
  const int v = quickQuotient(tap, chunks.x);
  const int u = tap - v * chunks.x;
  const int outside = (chunks.w - places.x) >> (TYPE == FLOAT32 ? 4 : TYPE == FLOAT16 ? 3 : 2);
  [[unroll]] for (int p = 0; p < POSITIONS; ++p) {
    const int y = rows.top[p] + v * moves.z;
    const int x = rows.left[p] + u * moves.w;
    const bool isInside = y >= 0 && y < image.x && x >= 0 && x < image.y;
    cells[p] = isInside ? rows.first[p] + y * steps.y + x * steps.z : outside;
  }
  return cells;
}

// The stored results of four channels.
vec4 finishedReals(vec4 sums, int channel) {
  return activatedFour(sums + loadFour(FLOAT32, places.z, channel >> 2), ACTIVATION);
}
ivec4 finishedBytes(ivec4 totals, int channel) {
  totals += ivec4(quad((places.z + channel * 4) >> 4));
  const vec4 multipliers = loadFour(FLOAT32, scales.x, channel >> 2);
  return requantised(totals, multipliers, OutputScale(scales.z, range.x, range.y));
}

// Element `i` of four channels from `channel` on; those behind the last channel are left out.
void storeReals(int i, int channel, vec4 values) {
  if (channel >= extents.y) return;
  if (!IS_ODD) {
    storeFour(TYPE, places.w, i >> 2, values);
    return;
  }
  [[unroll]] for (int c = 0; c < 4; ++c) {
    if (channel + c < extents.y) storeReal(TYPE, places.w, i + c, values[c]);
  }
}
void storeBytes(int i, int channel, ivec4 values) {
  if (channel >= extents.y) return;
  if (!IS_ODD) {
    storeFour(places.w, i >> 2, values);
    return;
  }
  [[unroll]] for (int c = 0; c < 4; ++c) {
    if (channel + c < extents.y) storeInteger(TYPE, places.w, i + c, values[c]);
  }
}

// Adds the products of four `i` of the cells.
void addFour(int cells[MOST], int i, int weights, int lane, inout float sums[CHANNELS][MOST]) {
  vec4 values[MOST];
  [[unroll]] for (int p = 0; p < POSITIONS; ++p) values[p] = valuesAt(cells[p] + i);
#ifdef SOFTWARE
  const vec4 own = IS_TENSOR ? tensorFour(lane, i) : weightsAt(weights + lane);
#endif
  [[unroll]] for (int c = 0; c < CHANNELS; ++c) {
#ifdef SOFTWARE
    const vec4 weight = subgroupShuffle(own, c);
#else
    const vec4 weight = IS_TENSOR ? tensorFour(c, i) : weightsAt(weights + c);
#endif
    [[unroll]] for (int p = 0; p < POSITIONS; ++p) sums[c][p] += dot(values[p], weight);
  }
}

// The same for fours `i` to i + 3 of bytes.
void addSixteen(int cells[MOST], int i, int weights, int lane,
                inout float sums[CHANNELS][MOST]) {
  ivec4 words[MOST];
  [[unroll]] for (int p = 0; p < POSITIONS; ++p) {
    words[p] = ivec4(quad((places.x >> 4) + ((cells[p] + i) >> 2)));
  }
  const int own = (places.y + weights * 4) >> 4;
#ifdef SOFTWARE
  const ivec4 ownWords = ivec4(quad(own + lane));
#else
  ivec4 filterWords[CHANNELS];
  [[unroll]] for (int c = 0; c < CHANNELS; ++c) filterWords[c] = ivec4(quad(own + c));
#endif
  [[unroll]] for (int j = 0; j < 4; ++j) {
    vec4 values[MOST];
    [[unroll]] for (int p = 0; p < POSITIONS; ++p) values[p] = fourBytes(TYPE, words[p][j]);
#ifdef SOFTWARE
    const vec4 ownWeights = fourBytes(RESULT_TYPE, ownWords[j]) - float(scales.y);
#endif
    [[unroll]] for (int c = 0; c < CHANNELS; ++c) {
#ifdef SOFTWARE
      const vec4 weight = subgroupShuffle(ownWeights, c);
#else
      const vec4 weight = fourBytes(RESULT_TYPE, filterWords[c][j]) - float(scales.y);
#endif
      [[unroll]] for (int p = 0; p < POSITIONS; ++p) sums[c][p] += dot(values[p], weight);
    }
  }
}

// The same for the fours from x to y, the latter excluded.
void addFours(int cells[MOST], ivec2 fours, int weights, int lane,
              inout float sums[CHANNELS][MOST]) {
  if (IS_WIDE) {
    for (int i = fours.x; i < fours.y; i += 4) {
      addSixteen(cells, i, weights + i * CHANNELS, lane, sums);
    }
  } else {
    for (int i = fours.x; i < fours.y; ++i) {
      addFour(cells, i, weights + i * CHANNELS, lane, sums);
    }
  }
}

// The same for the taps from x to y, the latter excluded.
void addChunk(Rows rows, int block, int lane, ivec2 taps, ivec2 fours,
              inout float sums[CHANNELS][MOST]) {
  if (IS_FLAT) {
    addFours(rows.first, fours, block * extents.w * CHANNELS, lane, sums);
  } else {
    for (int tap = taps.x; tap < taps.y; ++tap) {
      const int weights = (block * result.w + tap) * extents.w * CHANNELS;
      addFours(cellsOf(rows, tap), fours, weights, lane, sums);
    }
  }
}

void computeTile(int item) {
  const int lane = item % LANES;
  int tile = tileOf(item);
  const int n = IS_TENSOR ? quickQuotient(tile, batch.x) : 0;
  if (IS_TENSOR) tile -= n * batch.x;
  const int stripe = quickQuotient(tile, extents.z);
  const int block = tile - stripe * extents.z;
  const int position = (stripe * LANES + lane) * POSITIONS;
  Rows rows = rowsOf(position, block);
  if (IS_TENSOR) {
    filterFirst = n * batch.z;
    firstChannel = block * CHANNELS;
    [[unroll]] for (int p = 0; p < POSITIONS; ++p) rows.first[p] += n * batch.y;
  }

  float sums[CHANNELS][MOST];
  int totals[CHANNELS][MOST];
  [[unroll]] for (int c = 0; c < CHANNELS; ++c) {
    [[unroll]] for (int p = 0; p < POSITIONS; ++p) {
      sums[c][p] = 0.0;
      totals[c][p] = 0;
    }
  }
  // Sums of bytes are exact as floats within a chunk.
  if (IS_WHOLE) {
    addChunk(rows, block, lane, ivec2(0, IS_FLAT ? 1 : result.w), ivec2(0, extents.w), sums);
    [[unroll]] for (int c = 0; c < CHANNELS; ++c) {
      [[unroll]] for (int p = 0; p < POSITIONS; ++p) totals[c][p] = int(sums[c][p]);
    }
  } else {
    for (int tap = 0; tap < result.w; tap += chunks.y) {
      for (int four = 0; four < extents.w; four += chunks.z) {
        const ivec2 taps = ivec2(tap, min(tap + chunks.y, result.w));
        const ivec2 fours = ivec2(four, min(four + chunks.z, extents.w));
        addChunk(rows, block, lane, taps, fours, sums);
        [[unroll]] for (int c = 0; c < CHANNELS; ++c) {
          [[unroll]] for (int p = 0; p < POSITIONS; ++p) {
            totals[c][p] += int(sums[c][p]);
            sums[c][p] = 0.0;
          }
        }
      }
    }
  }
  [[unroll]] for (int c = 0; c < CHANNELS; c += 4) {
    const int channel = block * CHANNELS + c;
    [[unroll]] for (int p = 0; p < POSITIONS; ++p) {
      if (position + p >= extents.x) continue;
      const int i = (n * extents.x + position + p) * extents.y + channel;
      if (isReal(TYPE)) {
        const vec4 four = vec4(sums[c][p], sums[c + 1][p], sums[c + 2][p], sums[c + 3][p]);
        storeReals(i, channel, finishedReals(four, channel));
      } else {
        const ivec4 four =
            ivec4(totals[c][p], totals[c + 1][p], totals[c + 2][p], totals[c + 3][p]);
        storeBytes(i, channel, finishedBytes(four, channel));
      }
    }
  }
}

// The image is flat, and has one group.
void computeSingle(int item) {
  const int row = quickQuotient(item, extents.z * CHANNELS);
  const int channel = item - row * extents.z * CHANNELS;
  const int first = row * steps.z;
  // In fours, or sixteens.
  const int depth = IS_WIDE ? extents.w >> 2 : extents.w;
  int weights = (channel / CHANNELS) * depth * CHANNELS + channel % CHANNELS;
  float sum = 0.0;
  int total = 0;
  for (int firstFour = 0; firstFour < extents.w; firstFour += chunks.z) {
    const int lastFour = min(firstFour + chunks.z, extents.w);
    if (IS_WIDE) {
      for (int i = firstFour; i < lastFour; i += 4) {
        const ivec4 values = ivec4(quad((places.x >> 4) + ((first + i) >> 2)));
        const ivec4 own = ivec4(quad((places.y >> 4) + weights));
        [[unroll]] for (int j = 0; j < 4; ++j) {
          const vec4 weight = fourBytes(RESULT_TYPE, own[j]) - float(scales.y);
          sum += dot(fourBytes(TYPE, values[j]), weight);
        }
        weights += CHANNELS;
      }
    } else {
      for (int i = firstFour; i < lastFour; ++i) {
        sum += dot(valuesAt(first + i), weightsAt(weights));
        weights += CHANNELS;
      }
    }
    if (isReal(TYPE)) continue;
    total += int(sum);
    sum = 0.0;
  }
  if (channel >= extents.y) return;
  const int i = row * extents.y + channel;
  if (isReal(TYPE)) {
    const float value = sum + loadReal(FLOAT32, places.z, channel);
    storeReal(TYPE, places.w, i, activated(value, ACTIVATION));
  } else {
    total += loadInteger(INT32, places.z, channel);
    const vec4 multiplier = vec4(loadReal(FLOAT32, scales.x, channel));
    const OutputScale scale = OutputScale(scales.z, range.x, range.y);
    storeInteger(TYPE, places.w, i, requantised(ivec4(total), multiplier, scale).x);
  }
}

// Parameters: image, -, -, result; positions, channels, fours of a position, -.
void widen(int item) {
  const int position = quickQuotient(item, extents.z);
  const int four = item - position * extents.z;
  const int first = position * extents.y + four * 4;
  vec4 values = vec4(0.0);
  if (!IS_ODD) {
    if (four * 4 < extents.y) values = valuesAt(first >> 2);
  } else {
    [[unroll]] for (int c = 0; c < 4; ++c) {
      if (four * 4 + c < extents.y) {
        values[c] = isReal(TYPE) ? loadReal(TYPE, places.x, first + c)
                                 : float(loadInteger(TYPE, places.x, first + c));
      }
    }
  }
  if (isReal(TYPE)) {
    storeFour(TYPE, places.w, item, values);
  } else {
    storeFour(places.w, item, ivec4(values));
  }
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  readParameters();
  if (FUNCTION == TILE) {
    computeTile(int(item));
  } else if (FUNCTION == SINGLE) {
    computeSingle(int(item));
  } else {
    widen(int(item));
  }
}
