// The memory that every shader sees: all tensors, constants and parameters of a prepared model.
// Offsets of tensors are in bytes, and are multiples of 64.
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 64) in;

layout(constant_id = 0) const int FUNCTION = 0;
layout(constant_id = 1) const int TYPE = 0;
layout(constant_id = 2) const int RESULT_TYPE = 0;
layout(constant_id = 3) const int OPTION = 0;

layout(set = 0, binding = 0) buffer Ints { int ints[]; };
layout(set = 0, binding = 0) buffer Floats { float floats[]; };
layout(set = 0, binding = 0) buffer Doubles { double doubles[]; };
layout(set = 0, binding = 0) buffer Halves { float16_t halves[]; };
layout(set = 0, binding = 0) buffer Shorts { int16_t shorts[]; };
layout(set = 0, binding = 0) buffer Unsigned { uint8_t bytes[]; };
layout(set = 0, binding = 0) buffer Signed { int8_t signedBytes[]; };

layout(push_constant) uniform Constants {
  uint parameters;
  uint count;
};

// Types of elements, as in plan/dispatch.h.
const int FLOAT32 = 0;
const int FLOAT16 = 1;
const int INT32 = 2;
const int UINT8 = 3;
const int INT8 = 4;
const int BOOL8 = 5;

uint workItem() {
  return (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * 64 + gl_LocalInvocationID.x;
}

int parameter(int i) { return ints[parameters + i]; }
float realParameter(int i) { return floats[parameters + i]; }

bool isReal(int type) { return type == FLOAT32 || type == FLOAT16; }

// Element `i` of the tensor at `offset`.
float loadReal(int type, int offset, int i) {
  if (type == FLOAT32) return floats[(offset >> 2) + i];
  return float(halves[(offset >> 1) + i]);
}
int loadInteger(int type, int offset, int i) {
  if (type == INT32) return ints[(offset >> 2) + i];
  if (type == INT8) return int(signedBytes[offset + i]);
  // Any byte but 0 is true.
  if (type == BOOL8) return int(int(bytes[offset + i]) != 0);
  return int(bytes[offset + i]);
}

void storeReal(int type, int offset, int i, float value) {
  if (type == FLOAT32) {
    floats[(offset >> 2) + i] = value;
  } else {
    halves[(offset >> 1) + i] = float16_t(value);
  }
}
void storeInteger(int type, int offset, int i, int value) {
  if (type == INT32) {
    ints[(offset >> 2) + i] = value;
  } else if (type == INT8) {
    signedBytes[offset + i] = int8_t(value);
  } else {
    bytes[offset + i] = uint8_t(value);
  }
}

float activated(float value, int activation) {
  // Keeps NaN.
  const float low = activation == 2 ? -1.0 : 0.0;
  const float high = activation == 2 ? 1.0 : 6.0;
  const float raised = value < low ? low : value;
  const float limited = raised > high ? high : raised;
  return activation == 0 ? value : activation == 1 ? raised : limited;
}

// As pow() of C: Vulkan's has no negative bases.
float power(float x, float y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (isnan(x) || isnan(y)) return x + y;
  const bool isOdd = floor(y) == y && abs(y) < 16777216.0 && mod(abs(y), 2.0) == 1.0;
  const float magnitude = abs(x);
  if (x < 0.0 && floor(y) != y && !isinf(x)) return intBitsToFloat(0x7fc00000);
  float result = 1.0;
  if (magnitude == 0.0 || isinf(magnitude)) {
    result = (magnitude == 0.0) == (y > 0.0) ? 0.0 : intBitsToFloat(0x7f800000);
  } else if (magnitude != 1.0) {
    result = pow(magnitude, y);
  }
  const bool isNegative = floatBitsToInt(x) < 0;
  return isNegative && isOdd ? -result : result;
}

// The stored value of `units`, to nearest, with ties away from zero. NaN gives `low`.
int quantised(double units, int zeroPoint, int low, int high) {
  const double least = double(low - zeroPoint);
  const double most = double(high - zeroPoint);
  double limited = units > least ? units : least;
  limited = limited < most ? limited : most;
  // The largest number below one half.
  const double rounder = 0.49999999999999994lf;
  return int(limited + (limited < 0.0lf ? -rounder : rounder)) + zeroPoint;
}
