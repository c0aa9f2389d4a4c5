// Images of another size, by the nearest pixel or between four.
#version 450
#include "memory.glsl"

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

float value(int at) {
  return isReal(TYPE) ? loadReal(TYPE, parameter(0), at)
                      : float(loadInteger(TYPE, parameter(0), at));
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  int rest = int(item);
  const int channel = rest % parameter(4);
  rest /= parameter(4);
  const int x = rest % parameter(3);
  rest /= parameter(3);
  const int y = rest % parameter(2);
  const int n = rest / parameter(2);
  const int from = n * parameter(5) + channel * parameter(8);
  const int to =
      n * parameter(9) + y * parameter(10) + x * parameter(11) + channel * parameter(12);
  precise float result;
  if (FUNCTION == 1) {
    result = value(from + nearestOf(y, parameter(13), realParameter(15)) * parameter(6) +
                   nearestOf(x, parameter(14), realParameter(16)) * parameter(7));
  } else {
    const Source row = sourceOf(y, parameter(13), realParameter(15));
    const Source column = sourceOf(x, parameter(14), realParameter(16));
    const int top = from + row.low * parameter(6);
    const int bottom = from + row.high * parameter(6);
    const int left = column.low * parameter(7);
    const int right = column.high * parameter(7);
    result = value(top + left) * ((1.0 - row.weight) * (1.0 - column.weight)) +
             value(top + right) * ((1.0 - row.weight) * column.weight) +
             value(bottom + left) * (row.weight * (1.0 - column.weight)) +
             value(bottom + right) * (row.weight * column.weight);
  }
  if (isReal(TYPE)) {
    storeReal(TYPE, parameter(1), to, result);
  } else {
    // The largest number below one half: ties are away from zero.
    const float rounder = 0.49999997;
    storeInteger(TYPE, parameter(1), to, int(result < 0.0 ? result - rounder : result + rounder));
  }
}
