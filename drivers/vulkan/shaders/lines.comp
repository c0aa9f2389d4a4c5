// Functions of the elements along some axes: reductions, positions of extremes, normalisations.
#version 450
#include "memory.glsl"

// FUNCTION: as LinesFunction. Parameters: offsets of input and result; elements of a line; extent
// and step of 4 axes that choose the line, and of 4 axes of the line, each the innermost first;
// then those of kernels/lines.cc. One work item computes one line. OPTION: 1 if the line has one
// axis.
const int SUM = 0;
const int MEAN = 1;
const int MAXIMUM = 2;
const int MINIMUM = 3;
const int ALL = 4;
const int ANY = 5;
const int PRODUCT = 6;
const int FIRST_MAXIMUM = 10;
const int FIRST_MINIMUM = 11;
const int SOFTMAX = 20;
const int LOG_SOFTMAX = 21;
const int UNIT_LENGTH = 22;
const int INSTANCE = 23;
const int RESPONSE = 24;
const int CUMULATIVE = 30;
const int ROUNDING = 31;

const bool HAS_ONE_AXIS = OPTION == 1;

int positionOf(int index, int axes) {
  int at = 0;
  for (int axis = 0; axis < 4; ++axis) {
    const int extent = parameter(axes + 2 * axis);
    if (extent == 1) continue;
    at += index % extent * parameter(axes + 2 * axis + 1);
    index /= extent;
  }
  return at;
}

// Element `i` of a line.
int stepOfLine;
int lineAt(int i) { return HAS_ONE_AXIS ? i * stepOfLine : positionOf(i, 11); }

double element(int at) {
  return isReal(TYPE) ? double(loadReal(TYPE, parameter(0), at))
                      : double(loadInteger(TYPE, parameter(0), at));
}

void reduceLine(int item, int start) {
  const int extent = parameter(2);
  double state = FUNCTION == ALL ? 1.0lf : 0.0lf;
  if (FUNCTION == MAXIMUM || FUNCTION == MINIMUM) {
    state = double(3.4028234663852886e38) * (FUNCTION == MAXIMUM ? -1.0lf : 1.0lf);
  }
  for (int i = 0; i < extent; ++i) {
    const double x = element(start + lineAt(i));
    if (FUNCTION <= MEAN) state += x;
    if (FUNCTION == MAXIMUM) state = x > state ? x : state;
    if (FUNCTION == MINIMUM) state = x < state ? x : state;
    if (FUNCTION == ALL) state = x != 0.0lf && state != 0.0lf ? 1.0lf : 0.0lf;
    if (FUNCTION == ANY) state = x != 0.0lf || state != 0.0lf ? 1.0lf : 0.0lf;
  }
  if (FUNCTION == MEAN) state /= double(extent);
  if (isReal(TYPE)) {
    storeReal(TYPE, parameter(1), item, float(state));
  } else {
    storeInteger(TYPE, parameter(1), item, quantised(state, 0, parameter(22), parameter(23)));
  }
}

// The factors may leave the range of doubles, and the product come back to it.
void multiplyLine(int item, int start) {
  const double big = 2.037035976334486e90lf;  // 2^300
  double state = 1.0lf;
  int scale = 0;
  for (int i = 0; i < parameter(2); ++i) {
    const double x = element(start + lineAt(i));
    // One factor of zero decides the result.
    state = x == 0.0lf || state == 0.0lf ? 0.0lf : state * x;
    if (abs(state) > big) {
      state /= big;
      ++scale;
    } else if (abs(state) < 1.0lf / big) {
      state *= big;
      --scale;
    }
  }
  for (int i = min(scale, 4); i > 0; --i) state *= big;
  for (int i = max(scale, -4); i < 0; ++i) state /= big;
  storeReal(TYPE, parameter(1), item, float(state));
}

void findExtreme(int item, int start) {
  int best = 0;
  double highest = element(start);
  for (int i = 1; i < parameter(2); ++i) {
    const double x = element(start + lineAt(i));
    const bool isBetter = FUNCTION == FIRST_MAXIMUM ? x > highest : x < highest;
    // Any number is better than NaN.
    if (isBetter || (highest != highest && x == x)) {
      best = i;
      highest = x;
    }
  }
  storeInteger(INT32, parameter(1), item, best);
}

void softmaxReal(int start) {
  const int extent = parameter(2);
  const float beta = realParameter(19);
  // Of beta x, which may be negative for the logarithm.
  float largest = beta * loadReal(TYPE, parameter(0), start);
  for (int i = 1; i < extent; ++i) {
    largest = max(largest, beta * loadReal(TYPE, parameter(0), start + lineAt(i)));
  }
  double sum = 0.0lf;
  for (int i = 0; i < extent; ++i) {
    const float x = beta * loadReal(TYPE, parameter(0), start + lineAt(i));
    sum += double(exp(x - largest));
  }
  for (int i = 0; i < extent; ++i) {
    const int at = start + lineAt(i);
    const float x = beta * loadReal(TYPE, parameter(0), at) - largest;
    const float y = FUNCTION == SOFTMAX ? exp(x) * float(1.0lf / sum) : x - log(float(sum));
    storeReal(TYPE, parameter(1), at, y);
  }
}

void softmaxBytes(int start) {
  const int extent = parameter(2);
  const int table = parameter(25) >> 3;
  int largest = -256;
  for (int i = 0; i < extent; ++i) {
    largest = max(largest, loadInteger(TYPE, parameter(0), start + lineAt(i)));
  }
  double sum = 0.0lf;
  for (int i = 0; i < extent; ++i) {
    sum += doubles[table + largest - loadInteger(TYPE, parameter(0), start + lineAt(i))];
  }
  const double factor = 1.0lf / (sum * double(realParameter(24)));
  for (int i = 0; i < extent; ++i) {
    const int at = start + lineAt(i);
    const double units = doubles[table + largest - loadInteger(TYPE, parameter(0), at)] * factor;
    storeInteger(TYPE, parameter(1), at,
                 quantised(units, parameter(21), parameter(22), parameter(23)));
  }
}

void normalise(int start) {
  const int extent = parameter(2);
  const double zeroPoint = isReal(TYPE) ? 0.0lf : double(parameter(20));
  double squares = 0.0lf;
  for (int i = 0; i < extent; ++i) {
    const double x = element(start + lineAt(i)) - zeroPoint;
    squares += x * x;
  }
  double len = sqrt(squares);
  if (isReal(TYPE)) {
    len = max(len, 1e-6lf);
  } else if (squares == 0.0lf) {
    len = 1.0lf;
  }
  for (int i = 0; i < extent; ++i) {
    const int at = start + lineAt(i);
    const double x = element(at) - zeroPoint;
    if (isReal(TYPE)) {
      storeReal(TYPE, parameter(1), at, float(x / len));
    } else {
      const double factor = 1.0lf / (len * double(realParameter(24)));
      storeInteger(TYPE, parameter(1), at,
                   quantised(x * factor, parameter(21), parameter(22), parameter(23)));
    }
  }
}

// Parameters from 25 on: factor, summand, and the least variance.
void normaliseInstance(int start) {
  const int extent = parameter(2);
  double sum = 0.0lf;
  for (int i = 0; i < extent; ++i) sum += element(start + lineAt(i));
  const double mean = sum / double(extent);
  double squares = 0.0lf;
  for (int i = 0; i < extent; ++i) {
    const double distance = element(start + lineAt(i)) - mean;
    squares += distance * distance;
  }
  const double variance = squares / double(extent) + double(realParameter(27));
  const double factor = double(realParameter(25)) / sqrt(variance);
  for (int i = 0; i < extent; ++i) {
    const int at = start + lineAt(i);
    const double y = (element(at) - mean) * factor + double(realParameter(26));
    storeReal(TYPE, parameter(1), at, float(y));
  }
}

// Parameters from 25 on: radius, bias, alpha, beta.
void normaliseResponse(int start) {
  const int extent = parameter(2);
  const int radius = parameter(25);
  for (int i = 0; i < extent; ++i) {
    double squares = 0.0lf;
    const int last = min(extent - 1, i + radius);
    for (int j = max(0, i - radius); j <= last; ++j) {
      const double x = element(start + lineAt(j));
      squares += x * x;
    }
    const float base = float(double(realParameter(26)) + double(realParameter(27)) * squares);
    const int at = start + lineAt(i);
    storeReal(TYPE, parameter(1), at, float(element(at)) * power(base, -realParameter(28)));
  }
}

// Parameters from 25 on: whether an element itself does not count, and whether the sums begin at the
// end.
void sumUp(int start) {
  const int extent = parameter(2);
  const bool isExclusive = parameter(25) != 0;
  const bool isReverse = parameter(26) != 0;
  float real = 0.0;
  int integer = 0;
  for (int i = 0; i < extent; ++i) {
    const int at = start + lineAt(isReverse ? extent - 1 - i : i);
    if (isReal(TYPE)) {
      const float next = real + loadReal(TYPE, parameter(0), at);
      storeReal(TYPE, parameter(1), at, isExclusive ? real : next);
      real = next;
    } else {
      const int next = integer + loadInteger(TYPE, parameter(0), at);
      storeInteger(TYPE, parameter(1), at, isExclusive ? integer : next);
      integer = next;
    }
  }
}

// Quotients are rounded to float32 on every device, and no product is fused.
void roundLine(int start) {
  const int extent = parameter(2);
  const float infinity = intBitsToFloat(0x7f800000);
  float low = 0.0;
  float high = 0.0;
  bool isFinite = true;
  for (int i = 0; i < extent; ++i) {
    const float x = loadReal(TYPE, parameter(0), start + i);
    low = x < low ? x : low;
    high = x > high ? x : high;
    isFinite = isFinite && abs(x) < infinity;
  }
  const float distance = high - low;
  isFinite = isFinite && distance < infinity;
  const float range = distance > 1e-30 ? distance : 1e-30;
  const float perUnit = float(255.0lf / double(range));
  const float step = float(double(range) / 255.0lf);
  precise const float lowest = low * perUnit;
  precise const float zeroPoint = floor(-127.5 - lowest);
  const float least = -128.0 - zeroPoint;
  const float greatest = 127.0 - zeroPoint;
  for (int i = 0; i < extent; ++i) {
    precise const float units = loadReal(TYPE, parameter(0), start + i) * perUnit;
    precise const float rounded = floor(units + 0.5);
    precise const float y = clamp(rounded, least, greatest) * step;
    storeReal(TYPE, parameter(1), start + i, isFinite ? y : intBitsToFloat(0x7fc00000));
  }
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  const int start = positionOf(int(item), 3);
  stepOfLine = parameter(12);
  if (FUNCTION == PRODUCT) {
    multiplyLine(int(item), start);
  } else if (FUNCTION == INSTANCE) {
    normaliseInstance(start);
  } else if (FUNCTION == RESPONSE) {
    normaliseResponse(start);
  } else if (FUNCTION < FIRST_MAXIMUM) {
    reduceLine(int(item), start);
  } else if (FUNCTION < SOFTMAX) {
    findExtreme(int(item), start);
  } else if (FUNCTION == CUMULATIVE) {
    sumUp(start);
  } else if (FUNCTION == ROUNDING) {
    roundLine(start);
  } else if (FUNCTION == UNIT_LENGTH) {
    normalise(start);
  } else if (isReal(TYPE)) {
    softmaxReal(start);
  } else {
    softmaxBytes(start);
  }
}
