// A function of two elements, with broadcasting.
#version 450
#include "memory.glsl"
#include "quads.glsl"
#extension GL_EXT_control_flow_attributes : require

// FUNCTION: as BinaryFunction. OPTION: activation, and how several results at once find a and b.
// Parameters: offsets of a, b, result; then for 4 axes from the innermost: extent, steps of a and b;
// for TABLE the offset of the results of all pairs of bytes. For several results: offsets of a, b,
// result and table; then after how many work items a and b repeat. For FIXED_SUM from 16 on: factors
// of a and b, first summand, shift; zero point, lowest and highest result.
const int TABLE = 100;
const int FIXED_SUM = 103;

const int ACTIVATION = OPTION & 3;
const bool IS_FOURS = (OPTION & 4) != 0;
// Of a; 4 times as much for b.
const int REPEATS = 8;
const int SCALAR = 16;
const int WORDS = (OPTION & 128) != 0 ? 4 : 1;  // of four bytes

// The angle of the point (x, y). GLSL's function has no value for the origin.
float angleOf(float y, float x) {
  if (x != 0.0 || y != 0.0) return atan(y, x);
  const float angle = floatBitsToInt(x) < 0 ? 3.14159265 : 0.0;
  return floatBitsToInt(y) < 0 ? -angle : angle;
}

// With the sign of the divisor. The quotient is exact enough in double precision.
float remainderOf(float a, float b) {
  const double quotient = double(a) / double(b);
  float rest = float(double(a) - trunc(quotient) * double(b));
  if (isinf(b) && !isinf(a)) rest = a;
  return rest != 0.0 && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}
int remainderOf(int a, int b) {
  // -1 has no other remainder, and its quotient may need 33 bits.
  if (b == 0) return a;
  if (b == -1) return 0;
  const int rest = a - a / b * b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

float realFunction(float a, float b) {
  switch (FUNCTION) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a / b;
    case 4: return isnan(a) || isnan(b) ? a + b : max(a, b);
    case 5: return isnan(a) || isnan(b) ? a + b : min(a, b);
    case 7: return power(a, b);
    case 8: return angleOf(a, b);
    case 9: return remainderOf(a, b);
    default: return a < 0.0 ? a * b : a;
  }
}

int integerFunction(int a, int b) {
  switch (FUNCTION) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 4: return max(a, b);
    case 9: return remainderOf(a, b);
    case 30: return b == 0 ? 0 : b == -1 ? -a : a / b;
    case 31: return a ^ b;
    case 32: return a >> clamp(b, 0, 31);
    case 33: return b < 0 || b > 31 ? 0 : a << b;
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

int entryOf(int a, int b, int table) { return loadInteger(UINT8, table, a * 256 + b); }

// Four elements from four `i` on, or one element four times.
vec4 realsAt(int place, int i, int period, int how) {
  if ((how & SCALAR) != 0) return vec4(loadReal(TYPE, place, 0));
  return loadFour(TYPE, place, (how & REPEATS) != 0 ? i - quickQuotient(i, period) * period : i);
}
// The same of bytes, in WORDS words.
ivec4 wordsAt(int place, int i, int period, int how) {
  if ((how & SCALAR) != 0) return ivec4(loadInteger(UINT8, place, 0) * 0x01010101);
  const int at = (how & REPEATS) != 0 ? i - quickQuotient(i, period) * period : i;
  return WORDS == 4 ? ivec4(quad((place >> 4) + at)) : ivec4(ints[(place >> 2) + at]);
}

ivec4 fixedSum(ivec4 a, ivec4 b) {
  const ivec4 sum = parameters4(4);
  const ivec4 range = parameters4(5);
  return clamp(((sum.z + a * sum.x + b * sum.y) >> sum.w) + range.x, range.y, range.z);
}

void computeBytes(int i) {
  const ivec4 places = parameters4(0);
  const ivec4 periods = parameters4(1);
  const ivec4 a = wordsAt(places.x, i, periods.x, OPTION);
  const ivec4 b = wordsAt(places.y, i, periods.y, OPTION >> 2);
  ivec4 words = ivec4(0);
  [[unroll]] for (int w = 0; w < WORDS; ++w) {
    // For TABLE, bytes are indices.
    const int type = FUNCTION == TABLE ? UINT8 : TYPE;
    const ivec4 x = ivec4(fourBytes(type, a[w]));
    const ivec4 y = ivec4(fourBytes(type, b[w]));
    ivec4 results;
    if (FUNCTION == FIXED_SUM) {
      results = fixedSum(x, y);
    } else {
      [[unroll]] for (int c = 0; c < 4; ++c) results[c] = entryOf(x[c], y[c], places.w);
    }
    words[w] = packedBytes(results);
  }
  if (WORDS == 4) {
    realQuads[(places.z >> 4) + i] = intBitsToFloat(words);
  } else {
    ints[(places.z >> 2) + i] = words.x;
  }
}

void computeReals(int i) {
  const ivec4 places = parameters4(0);
  const ivec4 periods = parameters4(1);
  const vec4 a = realsAt(places.x, i, periods.x, OPTION);
  const vec4 b = realsAt(places.y, i, periods.y, OPTION >> 2);
  vec4 results;
  for (int c = 0; c < 4; ++c) results[c] = realFunction(a[c], b[c]);
  storeFour(TYPE, places.z, i, activatedFour(results, ACTIVATION));
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  if (IS_FOURS) {
    if (isReal(TYPE)) {
      computeReals(int(item));
    } else {
      computeBytes(int(item));
    }
    return;
  }
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
    const int x = loadInteger(UINT8, parameter(0), a);
    const int y = loadInteger(UINT8, parameter(1), b);
    storeInteger(UINT8, result, int(item), entryOf(x, y, parameter(15)));
    return;
  }
  if (isReal(TYPE)) {
    const float x = loadReal(TYPE, parameter(0), a);
    const float y = loadReal(TYPE, parameter(1), b);
    if (FUNCTION >= 10) {
      storeInteger(BOOL8, result, int(item), int(comparison(x, y)));
    } else {
      storeReal(TYPE, result, int(item), activated(realFunction(x, y), ACTIVATION));
    }
    return;
  }
  const int x = loadInteger(TYPE, parameter(0), a);
  const int y = loadInteger(TYPE, parameter(1), b);
  int value = 0;
  if (FUNCTION == FIXED_SUM) {
    value = fixedSum(ivec4(x), ivec4(y)).x;
  } else if (FUNCTION >= 20 && FUNCTION < 30) {
    value = int(logicalFunction(x, y));
  } else if (FUNCTION >= 10 && FUNCTION < 20) {
    value = int(comparison(x, y));
  } else {
    value = integerFunction(x, y);
  }
  storeInteger(RESULT_TYPE, result, int(item), value);
}
