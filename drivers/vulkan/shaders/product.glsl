// The geometry and the results of products: what product.comp and matrices.comp have in common.
// RESULT_TYPE: of the filter. OPTION: activation and flags. The parameters are in the order of
// kernels/product.cc.
#extension GL_EXT_control_flow_attributes : require

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
const bool HAS_FILTER_ZERO = (OPTION & 4096) != 0;  // of signed bytes: the zero point is not 0

const int MOST = 4;                  // positions of a tile
const int POSITIONS = (OPTION >> 5) & 7;
const int CHANNELS = 8;

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
// The signed bytes of a word. Unsigned ones lose 128.
int signedWord(int type, int word) { return type == INT8 ? word : word ^ 0x80808080; }

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
