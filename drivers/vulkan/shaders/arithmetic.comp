// A loop of multiplications with additions in registers: the device's peak, for benchmarks.
#version 450
#include "memory.glsl"

// Parameters: offset of the result; rounds, of 256 multiplications with additions each; a factor.
// Each step waits for the one before it. So eight chains of steps keep the units busy.
#define STEP a = a * factor + factor; b = b * factor + factor;
#define STEPS_4 STEP STEP STEP STEP
#define STEPS_32 STEPS_4 STEPS_4 STEPS_4 STEPS_4 STEPS_4 STEPS_4 STEPS_4 STEPS_4

void main() {
  const float factor = realParameter(2);
  vec4 a = vec4(float(workItem()));
  vec4 b = a + 1.0;
  const int rounds = parameter(1);
  for (int i = 0; i < rounds; ++i) {
    STEPS_32
  }
  // The results must be used.
  const vec4 sum = a + b;
  if (sum.x + sum.y + sum.z + sum.w == 0.0) floats[parameter(0) >> 2] = sum.x;
}
