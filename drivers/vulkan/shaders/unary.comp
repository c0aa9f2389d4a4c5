// A function of one element.
#version 450
#include "memory.glsl"
#include "quads.glsl"

// FUNCTION: as UnaryFunction. OPTION: 1 if a work item computes four elements. Parameters: offsets of input and result, two real numbers, two
// integers; for TABLE the offset of the table.
const int TABLE = 100;
const int CAST = 101;
const int QUANTIZE = 102;

// tanh and the logistic function without overflow.
float tangent(float x) {
  const float e = exp(-2.0 * abs(x));
  // For small values the quotient would lose digits.
  if (abs(x) < 0.01) return x - x * x * x / 3.0;
  return isnan(x) ? x : sign(x) * ((1.0 - e) / (1.0 + e));
}

// max(0, x) + min(0, alpha (e^x - 1)). With a negative alpha the second term is for positive x.
float exponentialUnit(float x) {
  // For small values the difference would lose digits.
  const float difference = abs(x) < 0.01 ? x + x * x / 2.0 + x * x * x / 6.0 : exp(x) - 1.0;
  const float second = realParameter(2) * difference;
  return (x < 0.0 ? 0.0 : x) + (second < 0.0 ? second : 0.0);
}

// The complement of the error function, within 1.5e-7: formula 7.1.26 of Abramowitz and Stegun,
// Handbook of Mathematical Functions.
float errorComplement(float x) {
  const float t = 1.0 / (1.0 + 0.3275911 * abs(x));
  const float factor =
      t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const float tail = factor * exp(-x * x);
  return x < 0.0 ? 2.0 - tail : tail;
}

float gaussianUnit(float x) { return 0.5 * x * errorComplement(-0.70710678 * x); }
float approximateGaussianUnit(float x) {
  return 0.5 * x * (1.0 + tangent(0.7978845608 * (x + 0.044715 * x * x * x)));
}

float realFunction(float x) {
  switch (FUNCTION) {
    case 0: return abs(x);
    case 1: return exp(x);
    case 2: return floor(x);
    case 3: return log(x);
    case 4: return -x;
    case 5: return 1.0 / sqrt(x);
    case 6: return sin(x);
    case 7: return sqrt(x);
    case 8: return isnan(x) ? x : max(x, 0.0);
    case 9: return isnan(x) ? x : clamp(x, -1.0, 1.0);
    case 10: return isnan(x) ? x : clamp(x, 0.0, 6.0);
    case 11: return tangent(x);
    case 12: return 1.0 / (1.0 + exp(-x));
    case 13: return exponentialUnit(x);
    case 16: return cos(x);
    case 17: return roundEven(x);
    case 18: return gaussianUnit(x);
    case 19: return approximateGaussianUnit(x);
    default: return x * clamp(x + 3.0, 0.0, 6.0) / 6.0;
  }
}

int castReal(float x, int low, int high) {
  if (x >= float(high)) return high;
  if (x > float(low)) return int(x);
  return x <= float(low) ? low : 0;
}

// Reals, and tables of bytes.
void computeFour(int i) {
  const ivec4 places = parameters4(0);  // of input and result, the table
  if (FUNCTION == TABLE) {
    const ivec4 entries = ivec4(loadFour(UINT8, places.x, i));
    if (isReal(RESULT_TYPE)) {
      vec4 values;
      for (int c = 0; c < 4; ++c) values[c] = loadReal(RESULT_TYPE, places.z, entries[c]);
      storeFour(RESULT_TYPE, places.y, i, values);
    } else {
      ivec4 values;
      for (int c = 0; c < 4; ++c) values[c] = loadInteger(UINT8, places.z, entries[c]);
      storeFour(places.y, i, values);
    }
    return;
  }
  const vec4 values = loadFour(TYPE, places.x, i);
  if (FUNCTION == QUANTIZE) {
    ivec4 bytes;
    for (int c = 0; c < 4; ++c) {
      bytes[c] = quantised(double(values[c] / realParameter(2)), places.w, parameter(4), parameter(5));
    }
    storeFour(places.y, i, bytes);
  } else {
    vec4 results;
    for (int c = 0; c < 4; ++c) results[c] = FUNCTION == CAST ? values[c] : realFunction(values[c]);
    storeFour(FUNCTION == CAST ? RESULT_TYPE : TYPE, places.y, i, results);
  }
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  const int i = int(item);
  if (OPTION == 1) {
    computeFour(i);
    return;
  }
  const int from = parameter(0);
  const int to = parameter(1);
  if (FUNCTION == TABLE) {
    const int entry = loadInteger(UINT8, from, i);
    const int table = parameter(2);
    if (isReal(RESULT_TYPE)) {
      storeReal(RESULT_TYPE, to, i, loadReal(RESULT_TYPE, table, entry));
    } else {
      storeInteger(RESULT_TYPE, to, i, loadInteger(RESULT_TYPE, table, entry));
    }
  } else if (FUNCTION == QUANTIZE) {
    const float units = loadReal(TYPE, from, i) / realParameter(2);
    storeInteger(RESULT_TYPE, to, i,
                 quantised(double(units), parameter(3), parameter(4), parameter(5)));
  } else if (FUNCTION == CAST) {
    if (isReal(TYPE)) {
      const float x = loadReal(TYPE, from, i);
      if (isReal(RESULT_TYPE)) {
        storeReal(RESULT_TYPE, to, i, x);
      } else {
        storeInteger(RESULT_TYPE, to, i, castReal(x, parameter(4), parameter(5)));
      }
    } else {
      const int x = loadInteger(TYPE, from, i);
      if (isReal(RESULT_TYPE)) {
        storeReal(RESULT_TYPE, to, i, float(x));
      } else {
        storeInteger(RESULT_TYPE, to, i, clamp(x, parameter(4), parameter(5)));
      }
    }
  } else if (isReal(TYPE)) {
    storeReal(TYPE, to, i, realFunction(loadReal(TYPE, from, i)));
  } else {
    const int x = loadInteger(TYPE, from, i);
    storeInteger(TYPE, to, i, TYPE == BOOL8 ? int(x == 0) : FUNCTION == 0 ? abs(x) : -x);
  }
}
