// The parts of a step of recurrent networks. Values between the parts are float32.
#version 450
#include "memory.glsl"
#include "quads.glsl"

// FUNCTION: one of these. TYPE: the model's type. OPTION: the activation, as an NNAPI code with
// TANH 4 and SIGMOID 6.
const int COPY = 0;
const int PRODUCTS = 1;
const int NORMALIZE = 2;
const int LSTM_CELL = 3;
const int RESULT = 4;
const int SVDF = 5;

const int ABSENT = -1;
const float VARIANCE_FLOOR = 1e-8;

float single(int offset, int i) { return loadReal(FLOAT32, offset, i); }
void setSingle(int offset, int i, float value) { storeReal(FLOAT32, offset, i, value); }

float sigmoid(float x) { return 1.0 / (1.0 + exp(-x)); }
float hyperbolicTangent(float x) {
  // For small values the quotient would lose digits.
  if (abs(x) < 0.01) return x - x * x * x / 3.0;
  const float e = exp(-2.0 * abs(x));
  return isnan(x) ? x : sign(x) * ((1.0 - e) / (1.0 + e));
}
float applied(float x) {
  if (OPTION == 4) return hyperbolicTangent(x);
  if (OPTION == 6) return sigmoid(x);
  return activated(x, OPTION);
}
// A limit of 0 is none.
float limited(float x, float limit) { return limit > 0.0 ? clamp(x, -limit, limit) : x; }

// Parameters: source, result. Converts from TYPE to RESULT_TYPE.
void copyValue(int i) { storeReal(RESULT_TYPE, parameter(1), i, loadReal(TYPE, parameter(0), i)); }

// Sums of products for all gates of a row: [rows][gates][cells].
// Parameters: sums, gates, cells, terms. For each term: values, whether they are float32, first
// element, step between rows, depth, and four offsets of weights [cells][depth]. OPTION: 1 if all of
// first, step and depth are multiples of 4.
void multiply(int i) {
  const int cells = parameter(2);
  const int width = parameter(1) * cells;
  const int row = i / width;
  const int gate = i % width / cells;
  const int cell = i % cells;
  float sum = 0.0;
  for (int term = 0; term < parameter(3); ++term) {
    const int at = 4 + term * 9;
    const int values = parameter(at);
    const bool isSingle = parameter(at + 1) != 0;
    const int first = parameter(at + 2) + row * parameter(at + 3);
    const int depth = parameter(at + 4);
    const int weights = parameter(at + 5 + gate);
    if (OPTION == 1) {
      for (int d = 0; d < depth >> 2; ++d) {
        vec4 value = loadFour(FLOAT32, values, (first >> 2) + d);
        if (TYPE != FLOAT32) value = isSingle ? value : loadFour(TYPE, values, (first >> 2) + d);
        sum += dot(value, loadFour(TYPE, weights, cell * (depth >> 2) + d));
      }
      continue;
    }
    for (int d = 0; d < depth; ++d) {
      const float value =
          isSingle ? single(values, first + d) : loadReal(TYPE, values, first + d);
      sum += value * loadReal(TYPE, weights, cell * depth + d);
    }
  }
  setSingle(parameter(0), i, sum);
}

// Adds the peephole of one gate to a row of its sums, and scales them to mean 0 and variance 1,
// times weights. Parameters: sums, gates, gate, cells, state, peephole or ABSENT, weights.
void normalizeRow(int row) {
  const int cells = parameter(3);
  const int first = (row * parameter(1) + parameter(2)) * cells;
  float sum = 0.0;
  for (int c = 0; c < cells; ++c) {
    float value = single(parameter(0), first + c);
    if (parameter(5) != ABSENT) {
      value += loadReal(TYPE, parameter(5), c) * single(parameter(4), row * cells + c);
    }
    setSingle(parameter(0), first + c, value);
    sum += value;
  }
  const float mean = sum / float(cells);
  float squares = 0.0;
  for (int c = 0; c < cells; ++c) {
    const float distance = single(parameter(0), first + c) - mean;
    squares += distance * distance;
  }
  const float factor = 1.0 / sqrt(squares / float(cells) + VARIANCE_FLOOR);
  for (int c = 0; c < cells; ++c) {
    const float normal = (single(parameter(0), first + c) - mean) * factor;
    setSingle(parameter(0), first + c, normal * loadReal(TYPE, parameter(6), c));
  }
}

// The sum of a gate with its bias and peephole. `gate` counts from the input gate.
float gateSum(int row, int gate, int cell, float state) {
  const int gates = parameter(1);
  const int cells = parameter(2);
  const int position = gate - (4 - gates);
  float sum = single(parameter(0), (row * gates + position) * cells + cell);
  const int peephole = parameter(12 + gate);
  if (peephole != ABSENT) sum += loadReal(TYPE, peephole, cell) * state;
  return sum + loadReal(TYPE, parameter(8 + gate), cell);
}

// Parameters: sums, gates (3: the input gate is coupled), cells, state, result, whether to update
// the state, whether to write the result, limit of the state; by gate the bias; by gate the
// peephole or ABSENT.
void runLstmCell(int i) {
  const int cells = parameter(2);
  const int row = i / cells;
  const int cell = i % cells;
  float state = single(parameter(3), i);
  if (parameter(5) != 0) {
    const float forget = sigmoid(gateSum(row, 1, cell, state));
    const float candidate = applied(gateSum(row, 2, cell, state));
    const float entry = parameter(1) == 4 ? sigmoid(gateSum(row, 0, cell, state)) : 1.0 - forget;
    state = limited(forget * state + candidate * entry, realParameter(7));
    setSingle(parameter(3), i, state);
  }
  if (parameter(6) != 0) {
    setSingle(parameter(4), i, sigmoid(gateSum(row, 3, cell, state)) * applied(state));
  }
}

// Parameters: source, width, bias or ABSENT, limit, state, output or ABSENT, its first element, the
// step between its rows. The state is float32.
void storeResult(int i) {
  const int row = i / parameter(1);
  const int column = i % parameter(1);
  float value = single(parameter(0), i);
  if (parameter(2) != ABSENT) value += loadReal(TYPE, parameter(2), column);
  value = limited(applied(value), realParameter(3));
  setSingle(parameter(4), i, value);
  if (parameter(5) != ABSENT) {
    storeReal(TYPE, parameter(5), parameter(6) + row * parameter(7) + column, value);
  }
}

// Parameters: newest values [rows][filters], units, rank, memory, weights, bias or ABSENT, state,
// its result, output.
void runSvdf(int i) {
  const int units = parameter(1);
  const int rank = parameter(2);
  const int memory = parameter(3);
  const int unit = i % units;
  float sum = parameter(5) == ABSENT ? 0.0 : loadReal(TYPE, parameter(5), unit);
  for (int r = 0; r < rank; ++r) {
    const int position = unit * rank + r;
    const int line = i / units * units * rank + position;
    const float newest = single(parameter(0), line);
    // All values move down by one place, which leaves the last place empty.
    for (int m = 0; m < memory; ++m) {
      const float value =
          m + 1 < memory ? loadReal(TYPE, parameter(6), line * memory + m) : newest;
      sum += value * loadReal(TYPE, parameter(4), position * memory + m);
      if (m > 0) storeReal(TYPE, parameter(7), line * memory + m - 1, value);
    }
    storeReal(TYPE, parameter(7), line * memory + memory - 1, 0.0);
  }
  storeReal(TYPE, parameter(8), i, applied(sum));
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  const int i = int(item);
  switch (FUNCTION) {
    case COPY: copyValue(i); break;
    case PRODUCTS: multiply(i); break;
    case NORMALIZE: normalizeRow(i); break;
    case LSTM_CELL: runLstmCell(i); break;
    case RESULT: storeResult(i); break;
    default: runSvdf(i);
  }
}
