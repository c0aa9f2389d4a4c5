// Elements that other elements choose.
#version 450
#include "memory.glsl"

// TYPE: bytes of an element. FUNCTION:
// SELECT: parameters: offsets of condition, a, b, result; for bytes the offsets of two tables.
// GATHER: parameters: offsets of input, positions, result; extent of the axis, elements below it,
// number of positions, offset of the word for faults.
// BROADCAST_SELECT: parameters: offsets of condition, a, b, result; then for 6 axes from the innermost:
// extent, steps of condition, a and b.
// GATHER_ND: parameters: offsets of input, tuples, result; indices of a tuple, elements of a slice,
// offset of the word for faults; then the extents of the axes that a tuple names.
// LOOKUP: parameters: offsets of lookups, keys in order, rows of values, result, hits; number of
// keys, elements of a row.
const int SELECT = 0;
const int GATHER = 1;
const int BROADCAST_SELECT = 2;
const int LOOKUP = 4;

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

void broadcastSelect(int i) {
  int rest = i;
  ivec3 at = ivec3(0);
  for (int axis = 0; axis < 6; ++axis) {
    const int first = 4 + 4 * axis;
    const int extent = parameter(first);
    if (extent == 1) continue;
    at += rest % extent * ivec3(parameter(first + 1), parameter(first + 2), parameter(first + 3));
    rest /= extent;
  }
  const bool isFirst = loadInteger(BOOL8, parameter(0), at.x) != 0;
  copyElement(parameter(isFirst ? 1 : 2), isFirst ? at.y : at.z, parameter(3), i);
}

void gatherSlice(int i) {
  const int names = parameter(3);
  const int inner = parameter(4);
  const int tuple = i / inner;
  int slice = 0;
  for (int d = 0; d < names; ++d) {
    const int index = loadInteger(INT32, parameter(1), tuple * names + d);
    const int extent = parameter(6 + d);
    if (index < 0 || index >= extent) {
      storeInteger(INT32, parameter(5), 0, 1);
      return;
    }
    slice = slice * extent + index;
  }
  copyElement(parameter(0), slice * inner + i % inner, parameter(2), i);
}

// A lookup without its key gives zeros.
void lookUp(int i) {
  const int inner = parameter(6);
  const int lookup = loadInteger(INT32, parameter(0), i / inner);
  int first = 0;
  int length = parameter(5);
  while (length > 0) {
    const int before = length / 2;
    const bool isLess = loadInteger(INT32, parameter(1), first + before) < lookup;
    first = isLess ? first + before + 1 : first;
    length = isLess ? length - before - 1 : before;
  }
  const bool isHit =
      first < parameter(5) && loadInteger(INT32, parameter(1), first) == lookup;
  if (i % inner == 0) storeInteger(UINT8, parameter(4), i / inner, isHit ? 1 : 0);
  if (isHit) {
    copyElement(parameter(2), first * inner + i % inner, parameter(3), i);
  } else {
    for (int k = 0; k < TYPE; ++k) storeInteger(UINT8, parameter(3), i * TYPE + k, 0);
  }
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  if (FUNCTION == SELECT) {
    select(int(item));
  } else if (FUNCTION == GATHER) {
    gather(int(item));
  } else if (FUNCTION == BROADCAST_SELECT) {
    broadcastSelect(int(item));
  } else if (FUNCTION == LOOKUP) {
    lookUp(int(item));
  } else {
    gatherSlice(int(item));
  }
}
