// Copies elements between regularly spaced positions, or writes one value there.
#version 450
#include "memory.glsl"
#include "quads.glsl"

// FUNCTION: bytes of an element. OPTION: what is written. Parameters: offsets of source and target,
// first elements of both; then for 8 loops, the innermost first: count, steps of source and target,
// -; then the value, or the offset of the table.
const int COPY = 0;
const int FILL = 1;
const int TABLE = 2;  // a byte for each byte

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
        OPTION == FILL ? vec4(intBitsToFloat(value)) : uintBitsToFloat(quad((source >> 4) + from));
  } else if (FUNCTION == 4) {
    int word = OPTION == FILL ? value : ints[(source >> 2) + from];
    if (OPTION == TABLE) word = translated(value, word);
    ints[(target >> 2) + to] = word;
  } else if (FUNCTION == 2) {
    // Two bytes, so that the bits of a float16 stay.
    for (int i = 0; i < 2; ++i) {
      const int byte =
          OPTION == FILL ? value >> (8 * i) : loadInteger(UINT8, source, 2 * from + i);
      storeInteger(UINT8, target, 2 * to + i, byte);
    }
  } else {
    int byte = OPTION == FILL ? value : loadInteger(UINT8, source, from);
    if (OPTION == TABLE) byte = loadInteger(UINT8, value, byte);
    storeInteger(UINT8, target, to, byte);
  }
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  const ivec4 places = parameters4(0);
  int rest = int(item);
  int from = places.z;
  int to = places.w;
  for (int i = 0; i < 8; ++i) {
    const ivec4 loop = parameters4(1 + i);
    if (loop.x == 1) continue;
    const int next = count < MOST_QUICK ? quickQuotient(rest, loop.x) : rest / loop.x;
    const int at = rest - next * loop.x;
    rest = next;
    from += at * loop.y;
    to += at * loop.z;
  }
  move(places.x, places.y, from, to, parameters4(9).x);
}
