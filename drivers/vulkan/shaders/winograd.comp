// The transformations of Winograd's convolutions F(4 x 4, 3 x 3): tiles of 6 x 6 cells overlap by
// two, and give 4 x 4 results. kernels/winograd.h says what happens between them.
#version 450
#include "memory.glsl"
#include "quads.glsl"
#extension GL_EXT_control_flow_attributes : require

// FUNCTION: one of these. OPTION: activation. One work item computes four channels of a tile, all of
// float32.
const int SPREAD = 0;   // cells of the image to values in 36 groups
const int COLLECT = 1;  // sums in 36 groups to results

ivec4 places;   // source, bias, target, fours of a tile in 36 groups
ivec4 extents;  // fours of channels, columns and rows of tiles, -
ivec4 image;    // of the side that is an image: height, width, padding before both

vec4[6] spread(vec4 d[6]) {
  const vec4 even = d[4] - 4.0 * d[2];
  const vec4 odd = d[3] - 4.0 * d[1];
  const vec4 nearEven = d[4] - d[2];
  const vec4 nearOdd = 2.0 * (d[3] - d[1]);
  return vec4[6](4.0 * d[0] - 5.0 * d[2] + d[4], even + odd, even - odd, nearEven + nearOdd,
                 nearEven - nearOdd, 4.0 * d[1] - 5.0 * d[3] + d[5]);
}

vec4[4] collected(vec4 m[6]) {
  const vec4 sum = m[1] + m[2];
  const vec4 difference = m[1] - m[2];
  const vec4 farSum = m[3] + m[4];
  const vec4 farDifference = m[3] - m[4];
  return vec4[4](m[0] + sum + farSum, difference + 2.0 * farDifference, sum + 4.0 * farSum,
                 difference + 8.0 * farDifference + m[5]);
}

vec4 load(int four) { return loadFour(FLOAT32, places.x, four); }

// `first`: four of the image at its origin.
void spreadTile(ivec2 corner, int first, int target) {
  vec4 lines[6][6];
  [[unroll]] for (int y = 0; y < 6; ++y) {
    vec4 cells[6];
    [[unroll]] for (int x = 0; x < 6; ++x) {
      const ivec2 at = corner + ivec2(y, x);
      const bool isInside = all(greaterThanEqual(at, ivec2(0))) && all(lessThan(at, image.xy));
      const int four = isInside ? (at.x * image.y + at.y) * extents.x : 0;
      cells[x] = isInside ? load(first + four) : vec4(0.0);
    }
    lines[y] = spread(cells);
  }
  [[unroll]] for (int x = 0; x < 6; ++x) {
    vec4 column[6];
    [[unroll]] for (int y = 0; y < 6; ++y) column[y] = lines[y][x];
    column = spread(column);
    [[unroll]] for (int y = 0; y < 6; ++y) {
      storeFour(FLOAT32, places.z, target + (y * 6 + x) * extents.x, column[y]);
    }
  }
}

void collectTile(int source, ivec2 corner, int first, vec4 bias) {
  vec4 lines[6][4];
  [[unroll]] for (int y = 0; y < 6; ++y) {
    vec4 sums[6];
    [[unroll]] for (int x = 0; x < 6; ++x) sums[x] = load(source + (y * 6 + x) * extents.x);
    lines[y] = collected(sums);
  }
  [[unroll]] for (int x = 0; x < 4; ++x) {
    vec4 column[6];
    [[unroll]] for (int y = 0; y < 6; ++y) column[y] = lines[y][x];
    const vec4 results[4] = collected(column);
    [[unroll]] for (int y = 0; y < 4; ++y) {
      const ivec2 at = corner + ivec2(y, x);
      if (any(greaterThanEqual(at, image.xy))) continue;
      storeFour(FLOAT32, places.z, first + (at.x * image.y + at.y) * extents.x,
                activatedFour(results[y] + bias, OPTION));
    }
  }
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  places = parameters4(0);
  extents = parameters4(1);
  image = parameters4(2);
  const int tile = quickQuotient(int(item), extents.x);
  const int four = int(item) - tile * extents.x;
  const int row = quickQuotient(tile, extents.y);
  const int n = quickQuotient(row, extents.z);
  const ivec2 corner = ivec2(row - n * extents.z, tile - row * extents.y) * 4 - image.zw;
  const int first = n * image.x * image.y * extents.x + four;
  const int ofTile = tile * places.w + four;
  if (FUNCTION == SPREAD) {
    spreadTile(corner, first, ofTile);
  } else {
    collectTile(ofTile, corner, first, loadFour(FLOAT32, places.y, four));
  }
}
