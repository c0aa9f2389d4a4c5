// Copies elements between regularly spaced positions, or writes one value there.
#version 450
#include "memory.glsl"
#include "quads.glsl"
#extension GL_EXT_control_flow_attributes : require

// FUNCTION: bytes of an element. OPTION: what is written, and the number of loops. Parameters:
// offsets of source and target, first elements of both; then for each loop, the innermost first:
// count, steps of source and target, -; then the value, or the offset of the table, or -; for blocks
// the distances of their lines in source and target.
const int COPY = 0;
const int FILL = 1;
const int TABLE = 2;   // a byte for each byte
const int BLOCKS = 3;  // of 4 x 4 elements, rows become columns; places and distances are in fours

const int KIND = OPTION & 3;
const bool IS_QUICK = (OPTION & 4) != 0;
const int LOOPS = OPTION >> 3;

int translated(int table, int word) {
  ivec4 result;
  for (int i = 0; i < 4; ++i) {
    result[i] = loadInteger(UINT8, table, bitfieldExtract(word, 8 * i, 8) & 255);
  }
  return packedBytes(result);
}

void move(int source, int target, int from, int to, int value) {
  if (FUNCTION == 16) {
    realQuads[(target >> 4) + to] =
        KIND == FILL ? vec4(intBitsToFloat(value)) : uintBitsToFloat(quad((source >> 4) + from));
  } else if (FUNCTION == 4) {
    int word = KIND == FILL ? value : ints[(source >> 2) + from];
    if (KIND == TABLE) word = translated(value, word);
    ints[(target >> 2) + to] = word;
  } else if (FUNCTION == 2) {
    // Two bytes, so that the bits of a float16 stay.
    for (int i = 0; i < 2; ++i) {
      const int byte =
          KIND == FILL ? value >> (8 * i) : loadInteger(UINT8, source, 2 * from + i);
      storeInteger(UINT8, target, 2 * to + i, byte);
    }
  } else {
    int byte = KIND == FILL ? value : loadInteger(UINT8, source, from);
    if (KIND == TABLE) byte = loadInteger(UINT8, value, byte);
    storeInteger(UINT8, target, to, byte);
  }
}

void moveBlock(int source, int target, ivec2 lines) {
  uvec4 rows[4];
  [[unroll]] for (int i = 0; i < 4; ++i) {
    const int from = source + i * lines.x;
    if (FUNCTION == 4) {
      rows[i] = quad(from);
    } else if (FUNCTION == 2) {
      const uvec2 pair = pairs[from];
      rows[i] = uvec4(pair.x & 0xffff, pair.x >> 16, pair.y & 0xffff, pair.y >> 16);
    } else {
      rows[i] = (uvec4(ints[from]) >> uvec4(0, 8, 16, 24)) & 255;
    }
  }
  [[unroll]] for (int i = 0; i < 4; ++i) {
    const int to = target + i * lines.y;
    const uvec4 column = uvec4(rows[0][i], rows[1][i], rows[2][i], rows[3][i]);
    if (FUNCTION == 4) {
      realQuads[to] = uintBitsToFloat(column);
    } else if (FUNCTION == 2) {
      pairs[to] = uvec2(column.x | column.y << 16, column.z | column.w << 16);
    } else {
      ints[to] = int(column.x | column.y << 8 | column.z << 16 | column.w << 24);
    }
  }
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  const ivec4 places = parameters4(0);
  int rest = int(item);
  int from = places.z;
  int to = places.w;
  [[unroll]] for (int i = 0; i < LOOPS; ++i) {
    const ivec4 loop = parameters4(1 + i);
    const int next = IS_QUICK ? quickQuotient(rest, loop.x) : rest / loop.x;
    const int at = rest - next * loop.x;
    rest = next;
    from += at * loop.y;
    to += at * loop.z;
  }
  const ivec4 last = parameters4(1 + LOOPS);
  if (KIND == BLOCKS) {
    moveBlock(places.x / (4 * FUNCTION) + from, places.y / (4 * FUNCTION) + to, last.yz);
  } else {
    move(places.x, places.y, from, to, last.x);
  }
}
