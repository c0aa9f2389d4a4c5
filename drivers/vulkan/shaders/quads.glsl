// Four elements at a time: neighbours in memory, the first of which has an index that is a multiple
// of four.
#extension GL_EXT_shader_explicit_arithmetic_types_int32 : require

// Reads 16 bytes. On a device that computes on the processor, formatted reads take a third of the
// time of others.
#ifdef SOFTWARE
layout(set = 0, binding = 1, rgba32ui) readonly uniform uimageBuffer quads;
uvec4 quad(int i) { return imageLoad(quads, i); }
#else
layout(set = 0, binding = 0) readonly buffer Quads { uvec4 quads[]; };
uvec4 quad(int i) { return quads[i]; }
#endif
layout(set = 0, binding = 0) buffer RealQuads { vec4 realQuads[]; };
layout(set = 0, binding = 0) buffer Pairs { uvec2 pairs[]; };

// Parameters 4 i to 4 i + 3.
ivec4 parameters4(int i) { return ivec4(quad(int(parameters >> 2) + i)); }

vec4 fourBytes(int type, int word) {
  const ivec4 first = ivec4(0, 8, 16, 24);
  if (type == INT8) {
    return vec4(bitfieldExtract(word, 0, 8), bitfieldExtract(word, 8, 8),
                bitfieldExtract(word, 16, 8), word >> 24);
  }
  return vec4((ivec4(word) >> first) & 255);
}

// Elements 4 i to 4 i + 3 of the tensor at `offset`. Bytes are numbers without a scale.
vec4 loadFour(int type, int offset, int i) {
  if (type == FLOAT32) return uintBitsToFloat(quad((offset >> 4) + i));
  if (type == FLOAT16) {
    const uvec2 pair = pairs[(offset >> 3) + i];
    return vec4(unpackHalf2x16(pair.x), unpackHalf2x16(pair.y));
  }
  return fourBytes(type, ints[(offset >> 2) + i]);
}

int packedBytes(ivec4 value) {
  const ivec4 low = value & 255;
  return low.x | low.y << 8 | low.z << 16 | low.w << 24;
}

void storeFour(int type, int offset, int i, vec4 value) {
  if (type == FLOAT32) {
    realQuads[(offset >> 4) + i] = value;
  } else {
    pairs[(offset >> 3) + i] = uvec2(packHalf2x16(value.xy), packHalf2x16(value.zw));
  }
}
void storeFour(int offset, int i, ivec4 value) { ints[(offset >> 2) + i] = packedBytes(value); }

vec4 activatedFour(vec4 value, int activation) {
  return vec4(activated(value.x, activation), activated(value.y, activation),
              activated(value.z, activation), activated(value.w, activation));
}

// The quotient of numbers below MOST_QUICK. Integer division is slow on most devices.
const uint MOST_QUICK = 1 << 22;
int quickQuotient(int a, int b) {
  int quotient = int(float(a) / float(b));
  const int rest = a - quotient * b;
  if (rest < 0) --quotient;
  if (rest >= b) ++quotient;
  return quotient;
}

// Bytes of results: sums in units of input times filter become those of the output.
struct OutputScale {
  int zeroPoint;
  int low;
  int high;
};
ivec4 requantised(vec4 sums, vec4 multiplier, OutputScale scale) {
  const vec4 low = vec4(scale.low - scale.zeroPoint);
  const vec4 high = vec4(scale.high - scale.zeroPoint);
  return ivec4(roundEven(clamp(sums * multiplier, low, high))) + scale.zeroPoint;
}
// Of 32-bit numbers, rounded once.
vec4 longSum(ivec4 a, ivec4 b) { return vec4(dvec4(a) + dvec4(b)); }
