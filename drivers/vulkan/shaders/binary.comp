// A function of two elements, with broadcasting.
#version 450
#include "memory.glsl"

// FUNCTION: as BinaryFunction. OPTION: activation.
// Parameters: offsets of a, b, result; then for 4 axes from the innermost: extent, steps of a and b;
// for TABLE the offset of the results of all pairs of bytes.
const int TABLE = 100;

float realFunction(float a, float b) {
  switch (FUNCTION) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a / b;
    case 4: return isnan(a) || isnan(b) ? a + b : max(a, b);
    case 5: return isnan(a) || isnan(b) ? a + b : min(a, b);
    case 7: return power(a, b);
    default: return a < 0.0 ? a * b : a;
  }
}

int integerFunction(int a, int b) {
  switch (FUNCTION) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 4: return max(a, b);
    default: return min(a, b);
  }
}

bool logicalFunction(int a, int b) { return FUNCTION == 20 ? a != 0 && b != 0 : a != 0 || b != 0; }

bool comparison(float a, float b) {
  switch (FUNCTION) {
    case 10: return a == b;
    case 11: return a != b;
    case 12: return a < b;
    case 13: return a <= b;
    case 14: return a > b;
    default: return a >= b;
  }
}

bool comparison(int a, int b) {
  switch (FUNCTION) {
    case 10: return a == b;
    case 11: return a != b;
    case 12: return a < b;
    case 13: return a <= b;
    case 14: return a > b;
    default: return a >= b;
  }
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  int rest = int(item);
  int a = 0;
  int b = 0;
  for (int axis = 0; axis < 4; ++axis) {
    const int extent = parameter(3 + axis * 3);
    const int at = rest % extent;
    rest /= extent;
    a += at * parameter(4 + axis * 3);
    b += at * parameter(5 + axis * 3);
  }
  const int result = parameter(2);
  if (FUNCTION == TABLE) {
    const int entry = loadInteger(UINT8, parameter(0), a) * 256 + loadInteger(UINT8, parameter(1), b);
    storeInteger(UINT8, result, int(item), loadInteger(UINT8, parameter(15), entry));
    return;
  }
  if (isReal(TYPE)) {
    const float x = loadReal(TYPE, parameter(0), a);
    const float y = loadReal(TYPE, parameter(1), b);
    if (FUNCTION >= 10) {
      storeInteger(BOOL8, result, int(item), int(comparison(x, y)));
    } else {
      storeReal(TYPE, result, int(item), activated(realFunction(x, y), OPTION));
    }
    return;
  }
  const int x = loadInteger(TYPE, parameter(0), a);
  const int y = loadInteger(TYPE, parameter(1), b);
  int value = 0;
  if (FUNCTION >= 20) {
    value = int(logicalFunction(x, y));
  } else if (FUNCTION >= 10) {
    value = int(comparison(x, y));
  } else {
    value = integerFunction(x, y);
  }
  storeInteger(RESULT_TYPE, result, int(item), value);
}
