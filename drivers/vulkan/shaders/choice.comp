// Elements that other elements choose.
#version 450
#include "memory.glsl"

// TYPE: bytes of an element. FUNCTION:
// SELECT: parameters: offsets of condition, a, b, result; for bytes the offsets of two tables.
// GATHER: parameters: offsets of input, positions, result; extent of the axis, elements below it,
// number of positions, offset of the word for faults.
const int SELECT = 0;

void copyElement(int from, int i, int to, int j) {
  if (TYPE == 4) {
    storeInteger(INT32, to, j, loadInteger(INT32, from, i));
    return;
  }
  // Single bytes, so that the bits of a float16 stay.
  for (int k = 0; k < TYPE; ++k) {
    storeInteger(UINT8, to, j * TYPE + k, loadInteger(UINT8, from, i * TYPE + k));
  }
}

void select(int i) {
  const bool first = loadInteger(BOOL8, parameter(0), i) != 0;
  const int from = parameter(first ? 1 : 2);
  if (TYPE != 1) {
    copyElement(from, i, parameter(3), i);
    return;
  }
  const int table = parameter(first ? 4 : 5);
  storeInteger(UINT8, parameter(3), i,
               loadInteger(UINT8, table, loadInteger(UINT8, from, i)));
}

void gather(int i) {
  const int inner = parameter(4);
  const int row = i / inner;
  const int positions = parameter(5);
  const int position = loadInteger(INT32, parameter(1), row % positions);
  if (position < 0 || position >= parameter(3)) {
    storeInteger(INT32, parameter(6), 0, 1);
    return;
  }
  const int from = (row / positions * parameter(3) + position) * inner + i % inner;
  copyElement(parameter(0), from, parameter(2), i);
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  if (FUNCTION == SELECT) {
    select(int(item));
  } else {
    gather(int(item));
  }
}
