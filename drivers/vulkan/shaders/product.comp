// Convolutions, full connections and products of matrices. Rows are positions of the result, columns
// are its channels, the right side is the filter. With DOTS, products of bytes are integer dot
// products. With HALVES, real products and their short sums are float16.
#version 450
#include "memory.glsl"
#include "quads.glsl"
#extension GL_EXT_control_flow_attributes : require
#ifdef SOFTWARE
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#ifdef DOTS
#extension GL_EXT_spirv_intrinsics : require
#endif
#ifdef HALVES
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
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
const bool IS_ROWS = (OPTION & 512) != 0;  // the filter is [batch][channels][taps][depth]
// The bias is the model's. Bytes of the image lose their zero point first. Sums with the bias may
// leave 32 bits.
const bool IS_RAW = (OPTION & 1024) != 0;
// Each phase has the positions of the result that are a stride apart. They use the same taps, in
// descending order of the image's cells.
const bool IS_TRANSPOSED = (OPTION & 2048) != 0;
const bool HAS_FILTER_ZERO = (OPTION & 4096) != 0;  // with DOTS: the zero point is not 0

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
ivec4 scales;   // multipliers, zero points of the filter, of the result and of the image
ivec4 range;    // lowest and highest result
ivec4 parts;    // tiles of a batch or phase; fours of a batch of the image and of the filter, or
                // height and width of the result

// SHORT_SUM: of the products in a chunk. LONG_SUM: of all chunks. FOUR: four real values. BYTES:
// four bytes.
#ifdef HALVES
#define SHORT_SUM f16vec4
#define LONG_SUM float
#define FOUR f16vec4
const int PACKED = FLOAT16;
const bool HAS_LONG_SUMS = true;
f16vec4 productOf(f16vec4 a, f16vec4 b) { return a * b; }
float longSumOf(f16vec4 sum) { return dot(vec4(sum), vec4(1.0)); }
float realSum(f16vec4 last, float all) { return all; }
#else
#ifdef DOTS
#define SHORT_SUM int
#else
#define SHORT_SUM float
#endif
#define LONG_SUM int
#define FOUR vec4
const int PACKED = FLOAT32;
const bool HAS_LONG_SUMS = TYPE != FLOAT32 && TYPE != FLOAT16;
SHORT_SUM productOf(vec4 a, vec4 b) { return SHORT_SUM(dot(a, b)); }
int longSumOf(SHORT_SUM sum) { return int(sum); }
float realSum(SHORT_SUM last, int all) { return float(last); }
#endif

// Of the tile.
int firstWeight = 0;  // four of its batch
ivec2 phase;          // its first position in the result
ivec2 firstTap;
int tapCount;
int tapsOfRow;

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
  parts = parameters4(9);
  tapCount = result.w;
  tapsOfRow = chunks.x;
}

vec4 withoutZero(vec4 bytes) { return IS_RAW ? bytes - float(scales.w) : bytes; }

vec4 valuesAt(int four) {
  const vec4 values = loadFour(TYPE, places.x, four);
  return isReal(TYPE) ? values : withoutZero(values);
}
// Four weights of a channel.
vec4 weightsAt(int four) {
  if (isReal(TYPE)) return loadFour(IS_ROWS ? TYPE : PACKED, places.y, four);
  return loadFour(RESULT_TYPE, places.y, four) - float(scales.y);
}

#ifdef DOTS
#define BYTES int
// The signed bytes of a word. Unsigned ones lose 128.
int signedWord(int type, int word) { return type == INT8 ? word : word ^ 0x80808080; }
BYTES imageBytes(int word) { return signedWord(TYPE, word); }
BYTES weightBytes(int word) { return signedWord(RESULT_TYPE, word); }
// OpSDot of SPV_KHR_integer_dot_product, for four bytes in a word.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019],
                  id = 4450)
int signedDot(int a, int b, spirv_literal int format);
int productOf(int a, int b) { return signedDot(a, b, 0); }
// The sum of the image's values, of which each weight has the filter's zero point too much.
int valueSums[MOST] = int[MOST](0, 0, 0, 0);
void addValues(int p, int values) {
  if (HAS_FILTER_ZERO) valueSums[p] += productOf(values, 0x01010101);
}
int filterZeros(int p) { return valueSums[p] * scales.y; }
#else
#define BYTES FOUR
BYTES imageBytes(int word) { return BYTES(withoutZero(fourBytes(TYPE, word))); }
BYTES weightBytes(int word) { return BYTES(fourBytes(RESULT_TYPE, word) - float(scales.y)); }
void addValues(int p, BYTES values) {}
int filterZeros(int p) { return 0; }
#endif

// The distances of weights, in fours: from one four of the depth to the next, and of channels.
const int WEIGHT_STEP = IS_ROWS ? 1 : CHANNELS;
int channelStep() { return IS_ROWS ? result.w * extents.w : IS_WIDE ? 4 : 1; }
// The first weights of channel c of a block, below tap `tap` of the tile.
int weightsOf(int block, int tap, int c) {
  int filterTap = tap;
  if (IS_TRANSPOSED) {
    const int v = quickQuotient(tap, tapsOfRow);
    const int u = tap - v * tapsOfRow;
    filterTap = (firstTap.x + v * moves.x) * chunks.x + firstTap.y + u * moves.y;
  }
  if (IS_ROWS) {
    const int channel = block * CHANNELS + c;
    return firstWeight + (channel * result.w + filterTap) * extents.w;
  }
  return (block * result.w + filterTap) * extents.w * CHANNELS + c * channelStep();
}

void startPhase(int i) {
  const int across = min(moves.y, parts.z);
  phase = ivec2(i / across, i % across);
  const ivec2 filterExtents = ivec2(result.w / chunks.x, chunks.x);
  firstTap = (phase + image.zw) % moves.xy;
  const ivec2 counts = max((filterExtents - firstTap + moves.xy - 1) / moves.xy, 0);
  tapCount = counts.x * counts.y;
  tapsOfRow = counts.y;
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
    if (IS_TRANSPOSED) {
      const ivec2 first = ivec2(y, x) + (phase + image.zw) / moves.xy;
      rows.top[p] = first.x;
      rows.left[p] = first.y;
    } else {
      rows.top[p] = y * moves.x - image.z;
      rows.left[p] = x * moves.y - image.w;
    }
  }
  return rows;
}

// The fours below tap `tap`, or those of the padding.
int[MOST] cellsOf(Rows rows, int tap) {
  if (IS_FLAT) return rows.first;
  int cells[MOST];
  const int v = quickQuotient(tap, tapsOfRow);
  const int u = tap - v * tapsOfRow;
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
  const vec4 bias = loadFour(IS_RAW ? TYPE : FLOAT32, places.z, channel >> 2);
  return activatedFour(sums + bias, ACTIVATION);
}
ivec4 finishedBytes(ivec4 totals, int channel) {
  const ivec4 bias = ivec4(quad((places.z + channel * 4) >> 4));
  const vec4 sums = IS_RAW ? longSum(totals, bias) : vec4(totals + bias);
  const vec4 multipliers = loadFour(FLOAT32, scales.x, channel >> 2);
  return requantised(sums, multipliers, OutputScale(scales.z, range.x, range.y));
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

// Adds the products of four `i` of the cells. On a software device, a work item reads the weights of
// one channel, and gets the others from its neighbours.
void addFour(int cells[MOST], int i, int weights, inout SHORT_SUM sums[CHANNELS][MOST]) {
  FOUR values[MOST];
  [[unroll]] for (int p = 0; p < POSITIONS; ++p) values[p] = FOUR(valuesAt(cells[p] + i));
#ifdef SOFTWARE
  const FOUR own = FOUR(weightsAt(weights));
#endif
  [[unroll]] for (int c = 0; c < CHANNELS; ++c) {
#ifdef SOFTWARE
    const FOUR weight = subgroupShuffle(own, c);
#else
    const FOUR weight = FOUR(weightsAt(weights + c * channelStep()));
#endif
    [[unroll]] for (int p = 0; p < POSITIONS; ++p) sums[c][p] += productOf(values[p], weight);
  }
}

// The same for fours `i` to i + 3 of bytes.
void addSixteen(int cells[MOST], int i, int weights, inout SHORT_SUM sums[CHANNELS][MOST]) {
  ivec4 words[MOST];
  [[unroll]] for (int p = 0; p < POSITIONS; ++p) {
    words[p] = ivec4(quad((places.x >> 4) + ((cells[p] + i) >> 2)));
  }
#ifdef SOFTWARE
  const ivec4 ownWords = ivec4(quad((places.y >> 4) + (weights >> 2)));
#else
  ivec4 filterWords[CHANNELS];
  [[unroll]] for (int c = 0; c < CHANNELS; ++c) {
    filterWords[c] = ivec4(quad((places.y >> 4) + ((weights + c * channelStep()) >> 2)));
  }
#endif
  [[unroll]] for (int j = 0; j < 4; ++j) {
    BYTES values[MOST];
    [[unroll]] for (int p = 0; p < POSITIONS; ++p) {
      values[p] = imageBytes(words[p][j]);
      addValues(p, values[p]);
    }
#ifdef SOFTWARE
    const BYTES ownWeights = weightBytes(ownWords[j]);
#endif
    [[unroll]] for (int c = 0; c < CHANNELS; ++c) {
#ifdef SOFTWARE
      const BYTES weight = subgroupShuffle(ownWeights, c);
#else
      const BYTES weight = weightBytes(filterWords[c][j]);
#endif
      [[unroll]] for (int p = 0; p < POSITIONS; ++p) sums[c][p] += productOf(values[p], weight);
    }
  }
}

// The same for the fours from x to y, the latter excluded.
void addFours(int cells[MOST], ivec2 fours, int weights, inout SHORT_SUM sums[CHANNELS][MOST]) {
  if (IS_WIDE) {
    for (int i = fours.x; i < fours.y; i += 4) {
      addSixteen(cells, i, weights + i * WEIGHT_STEP, sums);
    }
  } else {
    for (int i = fours.x; i < fours.y; ++i) addFour(cells, i, weights + i * WEIGHT_STEP, sums);
  }
}

// The same for the taps from x to y, the latter excluded. `c`: the channel whose weights are read.
void addChunk(Rows rows, int block, int c, ivec2 taps, ivec2 fours,
              inout SHORT_SUM sums[CHANNELS][MOST]) {
  if (IS_FLAT) {
    addFours(rows.first, fours, weightsOf(block, 0, c), sums);
  } else {
    for (int tap = taps.x; tap < taps.y; ++tap) {
      addFours(cellsOf(rows, tap), fours, weightsOf(block, tap, c), sums);
    }
  }
}

// The place of a position in the result; negative: it is behind the last row or column.
int placeOf(int part, int position) {
  if (!IS_TRANSPOSED) return part * extents.x + position;
  const int cells = result.x * result.y;
  const int n = quickQuotient(position, cells);
  const int y = quickQuotient(position - n * cells, result.y);
  const int x = position - n * cells - y * result.y;
  const ivec2 at = phase + ivec2(y, x) * moves.xy;
  return at.x < parts.y && at.y < parts.z ? (n * parts.y + at.x) * parts.z + at.y : -1;
}

void computeTile(int item) {
  const int lane = item % LANES;
#ifdef SOFTWARE
  const int own = lane;
#else
  const int own = 0;
#endif
  int tile = tileOf(item);
  const int part = IS_ROWS || IS_TRANSPOSED ? quickQuotient(tile, parts.x) : 0;
  tile -= part * parts.x;
  if (IS_TRANSPOSED) startPhase(part);
  const int stripe = quickQuotient(tile, extents.z);
  const int block = tile - stripe * extents.z;
  const int position = (stripe * LANES + lane) * POSITIONS;
  Rows rows = rowsOf(position, block);
  if (IS_ROWS && !IS_TRANSPOSED) {
    firstWeight = part * parts.z;
    [[unroll]] for (int p = 0; p < POSITIONS; ++p) rows.first[p] += part * parts.y;
  }

  SHORT_SUM sums[CHANNELS][MOST];
  LONG_SUM totals[CHANNELS][MOST];
  [[unroll]] for (int c = 0; c < CHANNELS; ++c) {
    [[unroll]] for (int p = 0; p < POSITIONS; ++p) {
      sums[c][p] = SHORT_SUM(0);
      totals[c][p] = LONG_SUM(0);
    }
  }
  // Sums of bytes are exact as floats within a chunk.
  if (IS_WHOLE) {
    addChunk(rows, block, own, ivec2(0, tapCount), ivec2(0, extents.w), sums);
    [[unroll]] for (int c = 0; c < CHANNELS; ++c) {
      [[unroll]] for (int p = 0; p < POSITIONS; ++p) {
        totals[c][p] = longSumOf(sums[c][p]) - LONG_SUM(filterZeros(p));
      }
    }
  } else {
    for (int tap = 0; tap < tapCount; tap += chunks.y) {
      for (int four = 0; four < extents.w; four += chunks.z) {
        const ivec2 taps = ivec2(tap, min(tap + chunks.y, tapCount));
        const ivec2 fours = ivec2(four, min(four + chunks.z, extents.w));
        addChunk(rows, block, own, taps, fours, sums);
        [[unroll]] for (int c = 0; c < CHANNELS; ++c) {
          [[unroll]] for (int p = 0; p < POSITIONS; ++p) {
            totals[c][p] += longSumOf(sums[c][p]);
            sums[c][p] = SHORT_SUM(0);
          }
        }
      }
    }
  }
  [[unroll]] for (int c = 0; c < CHANNELS; c += 4) {
    const int channel = block * CHANNELS + c;
    [[unroll]] for (int p = 0; p < POSITIONS; ++p) {
      if (position + p >= extents.x) continue;
      const int place = placeOf(part, position + p);
      if (place < 0) continue;
      const int i = place * extents.y + channel;
      if (isReal(TYPE)) {
        vec4 four;
        [[unroll]] for (int k = 0; k < 4; ++k) four[k] = realSum(sums[c + k][p], totals[c + k][p]);
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
  const int weights = weightsOf(channel / CHANNELS, 0, channel % CHANNELS);
  SHORT_SUM sum = SHORT_SUM(0);
  LONG_SUM total = LONG_SUM(0);
  for (int firstFour = 0; firstFour < extents.w; firstFour += chunks.z) {
    const int lastFour = min(firstFour + chunks.z, extents.w);
    if (IS_WIDE) {
      for (int i = firstFour; i < lastFour; i += 4) {
        const ivec4 values = ivec4(quad((places.x >> 4) + ((first + i) >> 2)));
        const ivec4 own = ivec4(quad((places.y >> 4) + ((weights + i * WEIGHT_STEP) >> 2)));
        [[unroll]] for (int j = 0; j < 4; ++j) {
          const BYTES four = imageBytes(values[j]);
          sum += productOf(four, weightBytes(own[j]));
          addValues(0, four);
        }
      }
    } else {
      for (int i = firstFour; i < lastFour; ++i) {
        sum += productOf(FOUR(valuesAt(first + i)), FOUR(weightsAt(weights + i * WEIGHT_STEP)));
      }
    }
    if (!HAS_LONG_SUMS) continue;
    total += longSumOf(sum);
    sum = SHORT_SUM(0);
  }
  total -= LONG_SUM(filterZeros(0));
  if (channel >= extents.y) return;
  const int i = row * extents.y + channel;
  if (isReal(TYPE)) {
    const float value = realSum(sum, total) + loadReal(IS_RAW ? TYPE : FLOAT32, places.z, channel);
    storeReal(TYPE, places.w, i, activated(value, ACTIVATION));
  } else {
    const int bias = loadInteger(INT32, places.z, channel);
    const vec4 sums = IS_RAW ? longSum(ivec4(total), ivec4(bias)) : vec4(int(total) + bias);
    const vec4 multiplier = vec4(loadReal(FLOAT32, scales.x, channel));
    const OutputScale scale = OutputScale(scales.z, range.x, range.y);
    storeInteger(TYPE, places.w, i, requantised(sums, multiplier, scale).x);
  }
}

// Parameters: image, -, value of the new channels, result; positions, channels, fours of a
// position, -.
void widen(int item) {
  const int position = quickQuotient(item, extents.z);
  const int four = item - position * extents.z;
  const int first = position * extents.y + four * 4;
  vec4 values = vec4(places.z);
  if (!IS_ODD) {
    if (four * 4 < extents.y) values = loadFour(TYPE, places.x, first >> 2);
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
