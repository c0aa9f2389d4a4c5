// Functions of long lines: softmax, its logarithm, the greatest elements, the normalisation of
// instances. One work group computes one line.
#version 450
#include "memory.glsl"

// FUNCTION: one of these. Parameters: offsets of input and result; elements of a line; then
// softmax: beta; zero point, lowest and highest result, and scale of bytes; the offset of the
// exponentials of bytes;
// greatest elements: their number, the offset of their positions; the first to find, and the end;
// instances: channels, distances of images, channels and positions; gamma, beta, epsilon.
const int SOFTMAX = 20;
const int LOG_SOFTMAX = 21;
const int GREATEST = 22;
const int INSTANCE = 23;

const int LANES = 64;
shared float partial[LANES];
shared double partialSums[LANES];
shared double byteFactor;
shared ivec2 candidates[LANES];
shared ivec2 greatest;

float realAt(int i) { return realParameter(3) * loadReal(TYPE, parameter(0), i); }
int byteAt(int i) { return loadInteger(TYPE, parameter(0), i); }

// Every lane gets the largest value, or the sum.
float largestOf(float own, int lane) {
  partial[lane] = own;
  barrier();
  float largest = partial[0];
  for (int i = 1; i < LANES; ++i) largest = max(largest, partial[i]);
  barrier();
  return largest;
}
float sumOf(float own, int lane) {
  partial[lane] = own;
  barrier();
  float sum = 0.0;
  for (int i = 0; i < LANES; ++i) sum += partial[i];
  return sum;
}

void computeReals(int first, int extent, int lane) {
  float largest = realAt(first);
  for (int i = lane; i < extent; i += LANES) largest = max(largest, realAt(first + i));
  largest = largestOf(largest, lane);
  float sum = 0.0;
  for (int i = lane; i < extent; i += LANES) sum += exp(realAt(first + i) - largest);
  sum = sumOf(sum, lane);
  const float factor = FUNCTION == SOFTMAX ? 1.0 / sum : log(sum);
  for (int i = lane; i < extent; i += LANES) {
    const float x = realAt(first + i) - largest;
    storeReal(TYPE, parameter(1), first + i, FUNCTION == SOFTMAX ? exp(x) * factor : x - factor);
  }
}

void computeBytes(int first, int extent, int lane) {
  const int table = parameter(8) >> 3;
  int own = -256;
  for (int i = lane; i < extent; i += LANES) own = max(own, byteAt(first + i));
  const int largest = int(largestOf(float(own), lane));
  if (lane == 0) {
    // In the reference's order, so that the last bit is the same.
    double sum = 0.0lf;
    for (int i = 0; i < extent; ++i) sum += doubles[table + largest - byteAt(first + i)];
    byteFactor = 1.0lf / (sum * double(realParameter(7)));
  }
  barrier();
  for (int i = lane; i < extent; i += LANES) {
    const double units = doubles[table + largest - byteAt(first + i)] * byteFactor;
    storeInteger(TYPE, parameter(1), first + i,
                 quantised(units, parameter(4), parameter(5), parameter(6)));
  }
}

double longSumOf(double own, int lane) {
  barrier();
  partialSums[lane] = own;
  barrier();
  double sum = 0.0lf;
  for (int i = 0; i < LANES; ++i) sum += partialSums[i];
  return sum;
}

void normaliseInstance(int line, int extent, int lane) {
  const int image = line / parameter(3);
  const int first = image * parameter(4) + (line - image * parameter(3)) * parameter(5);
  const int step = parameter(6);
  const int end = first + extent * step;
  const int start = first + lane * step;
  double sum = 0.0lf;
  for (int i = start; i < end; i += LANES * step) sum += loadReal(TYPE, parameter(0), i);
  const double mean = longSumOf(sum, lane) / double(extent);
  double squares = 0.0lf;
  for (int i = start; i < end; i += LANES * step) {
    const double distance = double(loadReal(TYPE, parameter(0), i)) - mean;
    squares += distance * distance;
  }
  const double variance = longSumOf(squares, lane) / double(extent) + double(realParameter(9));
  const double factor = double(realParameter(7)) / sqrt(variance);
  for (int i = start; i < end; i += LANES * step) {
    const double y = (double(loadReal(TYPE, parameter(0), i)) - mean) * factor;
    storeReal(TYPE, parameter(1), i, float(y + double(realParameter(8))));
  }
}

// Integers in the order of the elements. NaN is the least, and both zeros are equal.
int orderOf(int i) {
  if (!isReal(TYPE)) return loadInteger(TYPE, parameter(0), i);
  const float x = loadReal(TYPE, parameter(0), i);
  const int bits = floatBitsToInt(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return -2147483647 - 1;
  if (bits == -2147483647 - 1) return 0;
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}
// Pairs of order and position. Of equal elements, the later is greater.
bool isGreater(ivec2 a, ivec2 b) { return a.x > b.x || (a.x == b.x && a.y > b.y); }

// The greatest element of a lane behind `last`.
ivec2 greatestOf(int line, int extent, int lane, ivec2 last) {
  ivec2 best = ivec2(-2147483647 - 1, -1);
  for (int i = lane; i < extent; i += LANES) {
    const ivec2 element = ivec2(orderOf(line * extent + i), i);
    if (isGreater(last, element) && isGreater(element, best)) best = element;
  }
  return best;
}

void findGreatest(int line, int extent, int lane) {
  const int wanted = parameter(3);
  const int first = parameter(5);
  ivec2 last = ivec2(2147483647, extent);
  if (first > 0) {
    last.y = loadInteger(INT32, parameter(4), line * wanted + first - 1);
    last.x = orderOf(line * extent + last.y);
  }
  candidates[lane] = greatestOf(line, extent, lane, last);
  for (int k = first; k < parameter(6); ++k) {
    barrier();
    if (lane == 0) {
      ivec2 best = candidates[0];
      for (int i = 1; i < LANES; ++i) {
        if (isGreater(candidates[i], best)) best = candidates[i];
      }
      greatest = best;
      const int from = line * extent + best.y;
      const int to = line * wanted + k;
      storeInteger(INT32, parameter(4), to, best.y);
      if (isReal(TYPE)) {
        storeReal(TYPE, parameter(1), to, loadReal(TYPE, parameter(0), from));
      } else {
        storeInteger(TYPE, parameter(1), to, best.x);
      }
    }
    barrier();
    // Only the lane of that element needs another candidate.
    if (greatest.y % LANES == lane) candidates[lane] = greatestOf(line, extent, lane, greatest);
  }
}

void main() {
  const int line = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
  if (line * LANES >= int(count)) return;
  const int extent = parameter(2);
  const int lane = int(gl_LocalInvocationID.x);
  if (FUNCTION == GREATEST) {
    findGreatest(line, extent, lane);
  } else if (FUNCTION == INSTANCE) {
    normaliseInstance(line, extent, lane);
  } else if (isReal(TYPE)) {
    computeReals(line * extent, extent, lane);
  } else {
    computeBytes(line * extent, extent, lane);
  }
}
