// Images of another size, by the nearest pixel or between four.
#version 450
#include "memory.glsl"
#include "quads.glsl"

// FUNCTION: 0 between four pixels, 1 the nearest. OPTION: 1 align corners, 2 half pixel centers.
// Parameters: offsets of input and result; height, width, channels of the result; steps of input
// and result; height and width of the input; the distances of positions in the input.

struct Source {
  int low;
  int high;
  float weight;
};

Source sourceOf(int at, int size, float ratio) {
  const float position = OPTION == 2 ? (float(at) + 0.5) * ratio - 0.5 : float(at) * ratio;
  const float last = float(size - 1);
  const float low = clamp(floor(position), 0.0, last);
  const float high = clamp(ceil(position), low, last);
  return Source(int(low), int(high), low == high ? 0.0 : position - low);
}

int nearestOf(int at, int size, float ratio) {
  const float position = (float(at) + (OPTION == 2 ? 0.5 : 0.0)) * ratio;
  // Positions are not negative.
  const float whole = floor(position);
  const float chosen = OPTION == 1 && position - whole >= 0.5 ? whole + 1.0 : whole;
  return min(int(chosen), size - 1);
}

ivec4 places;   // offsets, height and width of the result
ivec4 from;     // channels of the result; steps of the input: image, row, column
ivec4 to;       // step of the input's channel; steps of the result: image, row, column
ivec4 sizes;    // step of the result's channel; height and width of the input; first distance

float value(int at) {
  return isReal(TYPE) ? loadReal(TYPE, places.x, at) : float(loadInteger(TYPE, places.x, at));
}

// Divides `rest`, and returns the remainder.
int takeIndex(inout int rest, int extent) {
  const int quotient = count < MOST_QUICK ? quickQuotient(rest, extent) : rest / extent;
  const int index = rest - quotient * extent;
  rest = quotient;
  return index;
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  places = parameters4(0);
  from = parameters4(1);
  to = parameters4(2);
  sizes = parameters4(3);
  const vec2 ratios = intBitsToFloat(ivec2(sizes.w, parameters4(4).x));
  int n = int(item);
  const int channel = takeIndex(n, from.x);
  const int x = takeIndex(n, places.w);
  const int y = takeIndex(n, places.z);
  const int first = n * from.y + channel * to.x;
  const int target = n * to.y + y * to.z + x * to.w + channel * sizes.x;
  precise float result;
  if (FUNCTION == 1) {
    result = value(first + nearestOf(y, sizes.y, ratios.x) * from.z +
                   nearestOf(x, sizes.z, ratios.y) * from.w);
  } else {
    const Source row = sourceOf(y, sizes.y, ratios.x);
    const Source column = sourceOf(x, sizes.z, ratios.y);
    const int top = first + row.low * from.z;
    const int bottom = first + row.high * from.z;
    const int left = column.low * from.w;
    const int right = column.high * from.w;
    result = value(top + left) * ((1.0 - row.weight) * (1.0 - column.weight)) +
             value(top + right) * ((1.0 - row.weight) * column.weight) +
             value(bottom + left) * (row.weight * (1.0 - column.weight)) +
             value(bottom + right) * (row.weight * column.weight);
  }
  if (isReal(TYPE)) {
    storeReal(TYPE, places.y, target, result);
  } else {
    // The largest number below one half: ties are away from zero.
    const float rounder = 0.49999997;
    storeInteger(TYPE, places.y, target,
                 int(result < 0.0 ? result - rounder : result + rounder));
  }
}
