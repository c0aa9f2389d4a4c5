// Images of another size, by the nearest pixel or between four.
#version 450
#include "memory.glsl"
#include "quads.glsl"
#extension GL_EXT_control_flow_attributes : require

// FUNCTION: 0 between four pixels, 1 the nearest. OPTION: 1 align corners, 2 half pixel centers;
// flags. Parameters: offsets of input and result; height, width, groups of channels of the result;
// steps of input and result; height and width of the input; the distances of positions in the input;
// channels. One work item computes four channels of a pixel.
const int CENTERS = OPTION & 3;
// Channels are neighbours, and a multiple of four.
const bool READS_FOURS = (OPTION & 4) != 0;
const bool STORES_FOURS = (OPTION & 8) != 0;
const bool IS_QUICK = (OPTION & 16) != 0;

struct Source {
  int low;
  int high;
  float weight;
};

// Positions are precise: rounded before something is taken from them.
Source sourceOf(int at, int size, float ratio) {
  precise const float position =
      CENTERS == 2 ? (float(at) + 0.5) * ratio - 0.5 : float(at) * ratio;
  const float last = float(size - 1);
  const float low = clamp(floor(position), 0.0, last);
  const float high = clamp(ceil(position), low, last);
  return Source(int(low), int(high), low == high ? 0.0 : position - low);
}

int nearestOf(int at, int size, float ratio) {
  precise const float position = (float(at) + (CENTERS == 2 ? 0.5 : 0.0)) * ratio;
  // Positions are not negative.
  const float whole = floor(position);
  const float chosen = CENTERS == 1 && position - whole >= 0.5 ? whole + 1.0 : whole;
  return min(int(chosen), size - 1);
}

ivec4 places;   // offsets, height and width of the result
ivec4 from;     // groups of channels; steps of the input: image, row, column
ivec4 to;       // step of the input's channel; steps of the result: image, row, column
ivec4 sizes;    // step of the result's channel; height and width of the input; first distance
ivec4 rest;     // second distance, channels

float elementAt(int i) {
  return isReal(TYPE) ? loadReal(TYPE, places.x, i) : float(loadInteger(TYPE, places.x, i));
}

// The four channels from `channel` on of the pixel that begins at element `pixel`. Those behind the
// last channel are repetitions of it.
vec4 valuesAt(int pixel, int channel) {
  if (READS_FOURS) return loadFour(TYPE, places.x, (pixel + channel) >> 2);
  vec4 values;
  [[unroll]] for (int c = 0; c < 4; ++c) {
    values[c] = elementAt(pixel + min(channel + c, rest.y - 1) * to.x);
  }
  return values;
}

void store(int pixel, int channel, vec4 values) {
  // The largest number below one half: ties are away from zero.
  const float rounder = 0.49999997;
  const ivec4 integers = ivec4(values + mix(vec4(rounder), vec4(-rounder), lessThan(values, vec4(0.0))));
  if (STORES_FOURS) {
    if (isReal(TYPE)) {
      storeFour(TYPE, places.y, (pixel + channel) >> 2, values);
    } else {
      storeFour(places.y, (pixel + channel) >> 2, integers);
    }
    return;
  }
  [[unroll]] for (int c = 0; c < 4; ++c) {
    if (channel + c >= rest.y) continue;
    const int at = pixel + (channel + c) * sizes.x;
    if (isReal(TYPE)) {
      storeReal(TYPE, places.y, at, values[c]);
    } else {
      storeInteger(TYPE, places.y, at, integers[c]);
    }
  }
}

// Divides `n`, and returns the remainder.
int takeIndex(inout int n, int extent) {
  const int quotient = IS_QUICK ? quickQuotient(n, extent) : n / extent;
  const int index = n - quotient * extent;
  n = quotient;
  return index;
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  places = parameters4(0);
  from = parameters4(1);
  to = parameters4(2);
  sizes = parameters4(3);
  rest = parameters4(4);
  const vec2 ratios = intBitsToFloat(ivec2(sizes.w, rest.x));
  int n = int(item);
  const int channel = takeIndex(n, from.x) * 4;
  const int x = takeIndex(n, places.w);
  const int y = takeIndex(n, places.z);
  const int first = n * from.y;
  const int target = n * to.y + y * to.z + x * to.w;
  precise vec4 result;
  if (FUNCTION == 1) {
    const int pixel = first + nearestOf(y, sizes.y, ratios.x) * from.z +
                      nearestOf(x, sizes.z, ratios.y) * from.w;
    result = valuesAt(pixel, channel);
  } else {
    const Source row = sourceOf(y, sizes.y, ratios.x);
    const Source column = sourceOf(x, sizes.z, ratios.y);
    const int top = first + row.low * from.z;
    const int bottom = first + row.high * from.z;
    const int left = column.low * from.w;
    const int right = column.high * from.w;
    result = valuesAt(top + left, channel) * ((1.0 - row.weight) * (1.0 - column.weight)) +
             valuesAt(top + right, channel) * ((1.0 - row.weight) * column.weight) +
             valuesAt(bottom + left, channel) * (row.weight * (1.0 - column.weight)) +
             valuesAt(bottom + right, channel) * (row.weight * column.weight);
  }
  store(target, channel, result);
}
