// LSTM cells in fixed point: values of 8 bits, a state of 16. Results equal those of the reference
// kernels to the bit.
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#include "memory.glsl"
#include "quads.glsl"

// FUNCTION: one of these. TYPE: of values and weights. A multiplier is two parameters: significand
// and exponent. Tables have the function's result for each value of 16 bits.
const int PRODUCTS = 0;
const int GATE = 1;
const int NORMALIZE = 2;
const int UPDATE = 3;
const int HIDDEN = 4;
const int PROJECTION = 5;
const int UNSIGNED_CELL = 6;

const int ABSENT = -1;

int shortAt(int offset, int i) { return int(shorts[(offset >> 1) + i]); }
void setShort(int offset, int i, int value) { shorts[(offset >> 1) + i] = int16_t(value); }
int intAt(int offset, int i) { return ints[(offset >> 2) + i]; }
int entryOf(int table, int value) { return shortAt(table, value & 0xffff); }

int saturated(int64_t value, int low, int high) {
  return int(clamp(value, int64_t(low), int64_t(high)));
}
int saturated16(int64_t value) { return saturated(value, -32768, 32767); }
int saturated32(int64_t value) { return saturated(value, -2147483647 - 1, 2147483647); }

// As the functions of these names in src/ops/fixed_point.h.
int multiplyHigh16(int a, int b) { return min((a * b + (1 << 14)) >> 15, 32767); }
int multiplyHigh32(int a, int b) {
  return saturated32((int64_t(a) * int64_t(b) + (int64_t(1) << 30)) >> 31);
}
int shiftRightRounding(int x, int exponent) {
  if (exponent <= 0) return x;
  const int64_t magnitude = abs(int64_t(x));
  const int rounded = int((magnitude + (int64_t(1) << (exponent - 1))) >> exponent);
  return x < 0 ? -rounded : rounded;
}
int multiplyByFixed(int x, int significand, int exponent) {
  const int scaled = saturated32(int64_t(x) * (int64_t(1) << clamp(exponent, 0, 31)));
  return shiftRightRounding(multiplyHigh32(scaled, significand), -min(exponent, 0));
}
// By the multiplier at parameter `at`.
int multiplied(int x, int at) { return multiplyByFixed(x, parameter(at), parameter(at + 1)); }

// Significand and exponent of 1 / sqrt(v).
ivec2 inverseSqrt(int v) {
  if (v <= 1) return ivec2(2147483647, 0);
  int shift = 11;
  while (v >= 1 << 29) {
    v /= 4;
    ++shift;
  }
  const int pairs = (30 - findMSB(v)) / 2 - 1;
  shift -= pairs;
  v *= 1 << (2 * pairs);
  const int halfV = shiftRightRounding(v >> 1, 1);
  const int threeHalves = 3 << 27;
  int x = 1 << 28;
  for (int i = 0; i < 5; ++i) {
    const int cube = saturated32(int64_t(multiplyHigh32(multiplyHigh32(x, x), x)) * 64);
    const int64_t difference =
        int64_t(multiplyHigh32(threeHalves, x)) - int64_t(multiplyHigh32(halfV, cube));
    x = saturated32(difference * 8);
  }
  int significand = multiplyHigh32(x, 1518500250);
  if (shift < 0) significand = saturated32(int64_t(significand) * (int64_t(1) << -shift));
  return ivec2(significand, -max(shift, 0));
}

// Sums of products for all gates of a row: [rows][gates][cells].
// Parameters: sums, gates, cells, zero points of values and of weights, terms. For each term:
// values, first value, step between rows, depth, first weight, step between cells, and four offsets
// of weights. OPTION: 1 if all these numbers of elements are multiples of 16.
void multiply(int i) {
  const int cells = parameter(2);
  const int width = parameter(1) * cells;
  const int row = i / width;
  const int gate = i % width / cells;
  const int cell = i % cells;
  const int valueZero = parameter(3);
  const int weightZero = parameter(4);
  int sum = 0;
  for (int term = 0; term < parameter(5); ++term) {
    const int at = 6 + term * 10;
    const int values = parameter(at) + parameter(at + 1) + row * parameter(at + 2);
    const int weights = parameter(at + 6 + gate) + parameter(at + 4) + cell * parameter(at + 5);
    const int depth = parameter(at + 3);
    if (OPTION == 1) {
      // So many products are exact as float32.
      const int most = 16;
      for (int first = 0; first < depth >> 4; first += most) {
        float part = 0.0;
        const int last = min(first + most, depth >> 4);
        for (int d = first; d < last; ++d) {
          const ivec4 value = ivec4(quad((values >> 4) + d));
          const ivec4 weight = ivec4(quad((weights >> 4) + d));
          for (int word = 0; word < 4; ++word) {
            part += dot(fourBytes(TYPE, value[word]) - float(valueZero),
                        fourBytes(TYPE, weight[word]) - float(weightZero));
          }
        }
        sum += int(part);
      }
      continue;
    }
    for (int d = 0; d < depth; ++d) {
      sum += (loadInteger(TYPE, values, d) - valueZero) *
             (loadInteger(TYPE, weights, d) - weightZero);
    }
  }
  ints[(parameter(0) >> 2) + i] = sum;
}

// The input of one gate. Parameters: sums of inputs and of hidden values, gates, position of the
// gate, cells, state, result [rows][cells], bias and peephole or ABSENT, and three multipliers: of
// inputs, hidden values and peephole.
void addUp(int i) {
  const int cells = parameter(4);
  const int cell = i % cells;
  const int at = (i / cells * parameter(2) + parameter(3)) * cells + cell;
  int inputs = intAt(parameter(0), at);
  if (parameter(7) != ABSENT) inputs += intAt(parameter(7), cell);
  int value = saturated16(int64_t(multiplied(inputs, 9)));
  value = saturated16(int64_t(value) + int64_t(multiplied(intAt(parameter(1), at), 11)));
  if (parameter(8) != ABSENT) {
    const int product = shortAt(parameter(8), cell) * shortAt(parameter(5), i);
    value = saturated16(int64_t(value) + int64_t(multiplied(product, 13)));
  }
  ints[(parameter(6) >> 2) + i] = value;
}

// Normalises a row of a gate's input. Parameters: values [rows][cells], cells, weights, bias, and
// the multiplier of the result.
void normalizeRow(int row) {
  const int cells = parameter(1);
  const int values = (parameter(0) >> 2) + row * cells;
  int64_t sum = 0;
  int64_t squares = 0;
  for (int c = 0; c < cells; ++c) {
    const int64_t value = int64_t(ints[values + c]);
    sum += value;
    squares += value * value;
  }
  const int64_t one = int64_t(1) << 20;
  const int64_t mean = sum * 1024 / int64_t(cells);
  const int64_t variance = (squares * (one / int64_t(cells)) - mean * mean) / one;
  const ivec2 inverse = inverseSqrt(int(max(variance, int64_t(1))));
  for (int c = 0; c < cells; ++c) {
    const int distance = int(int64_t(ints[values + c]) * 1024 - mean);
    const int normal = multiplyByFixed(distance, inverse.x, inverse.y);
    const int64_t weighted = int64_t(normal) * int64_t(shortAt(parameter(2), c)) +
                             int64_t(intAt(parameter(3), c));
    const int64_t rounder = int64_t(weighted > 0 ? 512 : -512);
    const int units = saturated32((weighted + rounder) / 1024);
    ints[values + c] = saturated16(int64_t(multiplied(units, 4)));
  }
}

// The next state. Parameters: inputs of the input gate (ABSENT: it is coupled), the forget gate and
// the candidate; state before and after; tables of the logistic function and of the hyperbolic
// tangent; the exponent of the state's scale; the largest state.
void updateState(int i) {
  const int forget = entryOf(parameter(5), intAt(parameter(1), i));
  const int candidate = entryOf(parameter(6), intAt(parameter(2), i));
  int entry = 32767 - forget;
  if (parameter(0) != ABSENT) entry = entryOf(parameter(5), intAt(parameter(0), i));
  const int kept = shiftRightRounding(forget * shortAt(parameter(3), i), 15);
  const int added = shiftRightRounding(entry * candidate, 30 + parameter(7));
  const int state = saturated16(int64_t(kept) + int64_t(added));
  setShort(parameter(4), i, clamp(state, -parameter(8), parameter(8)));
}

// A byte of the hidden state, and the same in the result: offset, cells of a row, first element,
// step between rows, from parameter `at` on.
void storeByte(int i, int value, int hidden, int at) {
  const int width = parameter(at + 1);
  storeInteger(TYPE, hidden, i, value);
  const int place = parameter(at + 2) + i / width * parameter(at + 3) + i % width;
  if (parameter(at) != ABSENT) storeInteger(TYPE, parameter(at), place, value);
}

// The hidden values. Parameters: input of the output gate, state, hidden values, tables of the
// logistic function and of the state's tangent, multiplier, zero point; then as storeByte.
void openOutput(int i) {
  const int open = entryOf(parameter(3), intAt(parameter(0), i));
  const int squashed = entryOf(parameter(4), shortAt(parameter(1), i));
  const int units = multiplied(open * squashed, 5);
  const int value = saturated(int64_t(units) - int64_t(parameter(7)), -128, 127);
  storeByte(i, value, parameter(2), 8);
}

// Parameters: sums, bias or ABSENT, hidden values, multiplier, zero point, the largest value; then
// as storeByte.
void project(int i) {
  int sum = intAt(parameter(0), i);
  if (parameter(1) != ABSENT) sum += intAt(parameter(1), i % parameter(8));
  const int64_t units = int64_t(multiplied(sum, 3)) + int64_t(parameter(5));
  const int value = clamp(saturated(units, -128, 127), -parameter(6), parameter(6));
  storeByte(i, value, parameter(2), 7);
}

// The cell of QUANTIZED_16BIT_LSTM. Parameters: sums, cells, multiplier, state before and after,
// hidden values, tables of the logistic function and of the hyperbolic tangent, four biases.
void runUnsignedCell(int i) {
  const int cells = parameter(1);
  int gates[4];
  for (int gate = 0; gate < 4; ++gate) {
    const int sum = intAt(parameter(0), (i / cells * 4 + gate) * cells + i % cells);
    const int value = multiplied(sum + intAt(parameter(9 + gate), i % cells), 2);
    gates[gate] = entryOf(parameter(gate == 2 ? 8 : 7), saturated16(int64_t(value)));
  }
  const int added = shiftRightRounding(multiplyHigh16(gates[0], gates[2]), 4);
  const int kept = multiplyHigh16(gates[1], shortAt(parameter(4), i));
  const int state = clamp(added + kept, -32768, 32767);
  setShort(parameter(5), i, state);
  const int tangent = entryOf(parameter(8), clamp(2 * state, -32768, 32767));
  const int units = shiftRightRounding(multiplyHigh16(gates[3], tangent), 8);
  storeInteger(TYPE, parameter(6), i, clamp(units, -128, 127) + 128);
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  const int i = int(item);
  switch (FUNCTION) {
    case PRODUCTS: multiply(i); break;
    case GATE: addUp(i); break;
    case NORMALIZE: normalizeRow(i); break;
    case UPDATE: updateState(i); break;
    case HIDDEN: openOutput(i); break;
    case PROJECTION: project(i); break;
    default: runUnsignedCell(i);
  }
}
