// Convolutions, full connections and products of matrices. Rows are positions of the result, columns
// are its channels, the right side is the filter. With DOTS, products of bytes are integer dot
// products. With HALVES, real products and their short sums are float16.
#version 450
#include "memory.glsl"
#include "quads.glsl"
#include "product.glsl"
#ifdef SOFTWARE
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#ifdef DOTS
#extension GL_EXT_spirv_intrinsics : require
#endif
#ifdef HALVES
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#endif

// FUNCTION: one of these.
const int TILE = 0;    // a work item computes 1, 2 or 4 positions of 8 channels
const int SINGLE = 1;  // a work item computes one element
const int WIDEN = 2;   // copies an image, so that its channels are a multiple of 4 or 16

// Work items with the same channels. On a GPU they are a work group, so that their weights are read
// once for all; on a software device a subgroup, which shares them by shuffles.
#ifdef SOFTWARE
const int LANES = 8;
int tileOf(int item) { return item / LANES; }
#else
const int LANES = 64;
int tileOf(int item) { return int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x); }
#endif

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

// Four weights of a channel.
vec4 weightsAt(int four) {
  if (isReal(TYPE)) return loadFour(IS_ROWS ? TYPE : PACKED, places.y, four);
  return loadFour(RESULT_TYPE, places.y, four) - float(scales.y);
}

#ifdef DOTS
#define BYTES int
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
