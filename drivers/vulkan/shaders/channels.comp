// Windows over each channel by itself: depthwise convolutions and pools.
#version 450
#include "memory.glsl"
#include "quads.glsl"
#extension GL_EXT_control_flow_attributes : require

// FUNCTION: one of these. RESULT_TYPE: of the filter. OPTION: activation and flags. The parameters
// are in the order of kernels/channels.cc. One work item computes 4 channels of 4 neighbours in a row.
const int SUM = 0;
const int AVERAGE = 1;
const int MAXIMUM = 3;

const int ACTIVATION = OPTION & 3;
const bool IS_DENSE = (OPTION & 4) != 0;  // the stride and the dilation in a row are 1
const bool IS_3X3 = (OPTION & 8) != 0;    // loops without a bound in memory take half of the time
// A channel of the image has several results; a multiple of four.
const bool IS_MULTIPLIED = (OPTION & 16) != 0;
const bool IS_SHARED = (OPTION & 32) != 0;
const bool IS_RAW = (OPTION & 64) != 0;   // sums with the bias may leave 32 bits

const int POSITIONS = 4;
const float LOWEST = -3.402823466e38;

ivec4 places;   // image, filter, bias, result
ivec4 extents;  // fours of channels, stripes of a row, rows, positions of a row
ivec4 image;    // height, width, steps of an image and of a row in fours, or in elements
ivec4 moves;    // strides, dilations
ivec4 filterOf; // height, width, padding before both
ivec4 scales;   // multipliers, zero points of input, filter and result
ivec4 range;    // lowest and highest result; step of a column, results of a channel

struct Window {
  int four;        // of the channels
  ivec4 channels;  // of the image
  int first;       // four or element of the image
  int top;
  int left;   // of the first position
};

float elementAt(int i) {
  return isReal(TYPE) ? loadReal(TYPE, places.x, i) : float(loadInteger(TYPE, places.x, i));
}

vec4 valueAt(Window w, int y, int x) {
  const int at = w.first + y * image.w + x * range.z;
  vec4 value;
  if (IS_SHARED) {
    value = vec4(elementAt(at + w.channels.x));
  } else if (IS_MULTIPLIED) {
    [[unroll]] for (int c = 0; c < 4; ++c) value[c] = elementAt(at + w.channels[c]);
  } else {
    value = loadFour(TYPE, places.x, at);
  }
  return FUNCTION == SUM && !isReal(TYPE) ? value - float(scales.y) : value;
}

bool isInside(int at, int extent) { return at >= 0 && at < extent; }

// The value at a cell, or one that changes nothing.
vec4 valueOrNothing(Window w, int y, int x) {
  const bool inside = isInside(y, image.x) && isInside(x, image.y);
  const vec4 value = valueAt(w, inside ? y : 0, inside ? x : 0);
  return inside ? value : vec4(FUNCTION == MAXIMUM ? LOWEST : 0.0);
}

vec4 combined(vec4 state, vec4 value, vec4 weight) {
  if (FUNCTION == MAXIMUM) return mix(state, value, greaterThan(value, state));
  return FUNCTION == SUM ? state + value * weight : state + value;
}

vec4 weightAt(Window w, int tap) {
  if (FUNCTION != SUM) return vec4(0.0);
  const vec4 weight = loadFour(RESULT_TYPE, places.y, tap * extents.x + w.four);
  return isReal(TYPE) ? weight : weight - float(scales.z);
}

void collect(Window w, inout vec4 states[POSITIONS]) {
  const int height = IS_3X3 ? 3 : filterOf.x;
  const int width = IS_3X3 ? 3 : filterOf.y;
  [[unroll]] for (int v = 0; v < height; ++v) {
    const int y = w.top + v * moves.z;
    if (IS_DENSE) {
      // Neighbours share all values but one.
      vec4 values[POSITIONS];
      [[unroll]] for (int p = 1; p < POSITIONS; ++p) {
        values[p] = valueOrNothing(w, y, w.left + p - 1);
      }
      [[unroll]] for (int u = 0; u < width; ++u) {
        [[unroll]] for (int p = 1; p < POSITIONS; ++p) values[p - 1] = values[p];
        values[POSITIONS - 1] = valueOrNothing(w, y, w.left + u + POSITIONS - 1);
        const vec4 weight = weightAt(w, v * width + u);
        [[unroll]] for (int p = 0; p < POSITIONS; ++p) {
          states[p] = combined(states[p], values[p], weight);
        }
      }
    } else {
      [[unroll]] for (int u = 0; u < width; ++u) {
        const vec4 weight = weightAt(w, v * width + u);
        [[unroll]] for (int p = 0; p < POSITIONS; ++p) {
          const vec4 value = valueOrNothing(w, y, w.left + p * moves.y + u * moves.w);
          states[p] = combined(states[p], value, weight);
        }
      }
    }
  }
}

// The cells of the window that are inside the image.
int cellsIn(int first, int filterExtent, int extent) {
  return min(first + filterExtent, extent) - max(first, 0);
}

// Divides to nearest, ties away from zero.
ivec4 quotients(ivec4 sums, int cells) {
  return sign(sums) * ((abs(sums) + cells / 2) / cells);
}

void store(int i, vec4 state, int four, int cells) {
  if (isReal(TYPE)) {
    if (FUNCTION == SUM) state += loadFour(TYPE, places.z, four);
    if (FUNCTION == AVERAGE) state /= float(cells);
    storeFour(TYPE, places.w, i, activatedFour(state, ACTIVATION));
    return;
  }
  ivec4 bytes = ivec4(state);
  if (FUNCTION == SUM) {
    const ivec4 bias = ivec4(quad((places.z >> 4) + four));
    const vec4 sums = IS_RAW ? longSum(bytes, bias) : vec4(bytes + bias);
    const vec4 multipliers = loadFour(FLOAT32, scales.x, four);
    bytes = requantised(sums, multipliers, OutputScale(scales.w, range.x, range.y));
  } else {
    if (FUNCTION == AVERAGE) bytes = quotients(bytes, cells);
    bytes = clamp(bytes, range.x, range.y);
  }
  storeFour(places.w, i, bytes);
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  places = parameters4(0);
  extents = parameters4(1);
  image = parameters4(2);
  moves = parameters4(3);
  filterOf = parameters4(4);
  scales = parameters4(5);
  range = parameters4(6);

  const int stripe = quickQuotient(int(item), extents.x);
  const int four = int(item) - stripe * extents.x;
  const int row = quickQuotient(stripe, extents.y);
  const int x = (stripe - row * extents.y) * POSITIONS;
  const int n = quickQuotient(row, extents.z);
  const int y = row - n * extents.z;
  ivec4 channels;
  [[unroll]] for (int c = 0; c < 4; ++c) channels[c] = quickQuotient(four * 4 + c, range.w);
  const Window w = Window(four, channels, n * image.z + (IS_MULTIPLIED ? 0 : four),
                          y * moves.x - filterOf.z, x * moves.y - filterOf.w);
  vec4 states[POSITIONS];
  [[unroll]] for (int p = 0; p < POSITIONS; ++p) states[p] = vec4(FUNCTION == MAXIMUM ? LOWEST : 0.0);
  collect(w, states);
  const int height = cellsIn(w.top, filterOf.x, image.x);
  [[unroll]] for (int p = 0; p < POSITIONS; ++p) {
    if (x + p >= extents.w) continue;
    const int cells = height * cellsIn(w.left + p * moves.y, filterOf.y, image.y);
    store((row * extents.w + x + p) * extents.x + four, states[p], four, cells);
  }
}
