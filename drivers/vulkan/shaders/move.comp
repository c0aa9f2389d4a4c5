// Copies elements between regularly spaced positions, or writes one value there.
#version 450
#include "memory.glsl"

// FUNCTION: bytes of an element. OPTION: what is written. Parameters: offsets of source and target,
// first elements of both; then for 8 loops, the innermost first: count, steps of source and target;
// then the value, or the offset of the table.
const int COPY = 0;
const int FILL = 1;
const int TABLE = 2;

void main() {
  const uint item = workItem();
  if (item >= count) return;
  int rest = int(item);
  int from = parameter(2);
  int to = parameter(3);
  for (int loop = 0; loop < 8; ++loop) {
    const int extent = parameter(4 + loop * 3);
    if (extent == 1) continue;
    const int at = rest % extent;
    rest /= extent;
    from += at * parameter(5 + loop * 3);
    to += at * parameter(6 + loop * 3);
  }
  const int type = FUNCTION == 4 ? INT32 : UINT8;
  const int source = parameter(0);
  const int target = parameter(1);
  if (FUNCTION == 2) {
    // Two bytes, so that the bits of a float16 stay.
    for (int i = 0; i < 2; ++i) {
      int value = parameter(28) >> (8 * i);
      if (OPTION == COPY) value = loadInteger(UINT8, source, 2 * from + i);
      storeInteger(UINT8, target, 2 * to + i, value);
    }
    return;
  }
  int value = OPTION == FILL ? parameter(28) : loadInteger(type, source, from);
  if (OPTION == TABLE) value = loadInteger(UINT8, parameter(28), value);
  storeInteger(type, target, to, value);
}
