// Softmax and its logarithm of long lines of neighbours. One work group computes one line.
#version 450
#include "memory.glsl"

// FUNCTION: one of these. Parameters: offsets of input and result; elements of a line; beta; zero
// point, lowest and highest result, and scale of bytes; the offset of the exponentials of bytes.
const int SOFTMAX = 20;
const int LOG_SOFTMAX = 21;

const int LANES = 64;
shared float partial[LANES];
shared double byteFactor;

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

void main() {
  const int line = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
  if (line * LANES >= int(count)) return;
  const int extent = parameter(2);
  const int lane = int(gl_LocalInvocationID.x);
  if (isReal(TYPE)) {
    computeReals(line * extent, extent, lane);
  } else {
    computeBytes(line * extent, extent, lane);
  }
}
