// Convolutions and full connections by cooperative matrices: a work group computes 64 positions of
// 32 channels. It brings a part of each tap to shared memory first. Real values are float16 there, and
// their sums are float32. With BYTES, signed bytes have sums of 32 bits.
#version 450
#pragma use_vulkan_memory_model
#include "memory.glsl"
#include "quads.glsl"
#include "product.glsl"
#extension GL_EXT_spirv_intrinsics : require
#extension GL_KHR_shader_subgroup_basic : require

// FUNCTION: the size of a matrix, and the subgroups of a work group.
const int ROWS = FUNCTION & 255;
const int COLUMNS = FUNCTION >> 8 & 255;
const int DEPTH = FUNCTION >> 16 & 255;
const int SUBGROUPS = FUNCTION >> 24;

const int TILE_ROWS = 64;
const int TILE_COLUMNS = 32;
const int BLOCKS = TILE_COLUMNS / CHANNELS;
const int PART = 16;    // words of a row in shared memory
const int STRIDE = 20;  // between rows: their words are in different banks

#ifdef BYTES
#define SUM int
#define INPUT_CAPABILITY 39
const int VALUES = 4;  // of a word
const int SIGNS = 15;  // all matrices have signed numbers
#else
#define SUM float
#define INPUT_CAPABILITY 9
const int VALUES = 2;
const int SIGNS = 0;
#endif
const int FOURS = PART * VALUES / 4;

shared int left[TILE_ROWS * STRIDE];      // [position][depth]
shared int right[TILE_COLUMNS * STRIDE];  // [channel][depth]
shared SUM results[TILE_ROWS * TILE_COLUMNS];

// glslc of Debian 12 knows neither these types nor their instructions, whose numbers are those of
// SPV_KHR_cooperative_matrix. It takes only numbers as operands of a type. device/matrix_code.cc
// replaces them: the component, 0 of inputs and 1 of sums; the scope; for rows and columns 0 ROWS,
// 1 COLUMNS, 2 DEPTH; the use.
#define MATRIX(component, rows, columns, use)                                                      \
  spirv_type(extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [INPUT_CAPABILITY, 6022], \
             id = 4456, component, 3, rows, columns, use)
#define LEFT MATRIX(0, 0, 2, 0)
#define RIGHT MATRIX(0, 2, 1, 1)
#define SUMS MATRIX(1, 0, 1, 2)
spirv_instruction(id = 4457)
LEFT loadLeft(spirv_by_reference int from, int order, int stride, spirv_literal int access,
              int scope);
spirv_instruction(id = 4457)
RIGHT loadRight(spirv_by_reference int from, int order, int stride, spirv_literal int access,
                int scope);
spirv_instruction(id = 4458)
void storeSums(spirv_by_reference SUM to, SUMS sums, int order, int stride,
               spirv_literal int access, int scope);
spirv_instruction(id = 4459)
SUMS addProduct(LEFT a, RIGHT b, SUMS c, spirv_literal int signs);
spirv_instruction(id = 80) SUMS filled(SUM value);
const int ROW_ORDER = 0;
const int COLUMN_ORDER = 1;
const int WORK_GROUP = 2;      // the scope in which accesses are visible
const int VISIBLE = 0x30;      // to this work item
const int AVAILABLE = 0x28;    // to other work items

int filterSum = 0;  // of the position's values, if the filter has a zero point

#ifdef BYTES
void bringLeft(int row, int cell, int first) {
  [[unroll]] for (int i = 0; i < FOURS; i += 4) {
    ivec4 words = ivec4(0);
    if (first + i < extents.w) {
      words = ivec4(quad((places.x >> 4) + ((cell + first + i) >> 2)));
      [[unroll]] for (int j = 0; j < 4; ++j) {
        words[j] = signedWord(TYPE, words[j]);
        if (HAS_FILTER_ZERO) filterSum += int(dot(fourBytes(INT8, words[j]), vec4(1.0)));
      }
    }
    [[unroll]] for (int j = 0; j < 4; ++j) left[row * STRIDE + i + j] = words[j];
  }
}
void bringRight(int item, int firstBlock, int tap, int first) {
  [[unroll]] for (int b = item / 32; b < BLOCKS; b += 2) {
    const int i = (item / CHANNELS % 4) * 4;
    const int c = item % CHANNELS;
    ivec4 words = ivec4(0);
    if (first + i < extents.w) {
      const int block = min(firstBlock + b, extents.z - 1);
      const int weights = weightsOf(block, tap, c) + (first + i) * WEIGHT_STEP;
      words = ivec4(quad((places.y >> 4) + (weights >> 2)));
    }
    [[unroll]] for (int j = 0; j < 4; ++j) {
      right[(b * CHANNELS + c) * STRIDE + i + j] = signedWord(RESULT_TYPE, words[j]);
    }
  }
}
#else
void bringLeft(int row, int cell, int first) {
  [[unroll]] for (int i = 0; i < FOURS; ++i) {
    uvec2 halves = uvec2(0);
    if (first + i < extents.w) {
      const int four = cell + first + i;
      if (TYPE == FLOAT16) {
        halves = pairs[(places.x >> 3) + four];
      } else {
        const vec4 values = valuesAt(four);
        halves = uvec2(packHalf2x16(values.xy), packHalf2x16(values.zw));
      }
    }
    left[row * STRIDE + i * 2] = int(halves.x);
    left[row * STRIDE + i * 2 + 1] = int(halves.y);
  }
}
void bringRight(int item, int firstBlock, int tap, int first) {
  const int i = item / CHANNELS;
  const int c = item % CHANNELS;
  [[unroll]] for (int b = 0; b < BLOCKS; ++b) {
    uvec2 halves = uvec2(0);
    if (first + i < extents.w) {
      const int block = min(firstBlock + b, extents.z - 1);
      halves = pairs[(places.y >> 3) + weightsOf(block, tap, c) + (first + i) * WEIGHT_STEP];
    }
    right[(b * CHANNELS + c) * STRIDE + i * 2] = int(halves.x);
    right[(b * CHANNELS + c) * STRIDE + i * 2 + 1] = int(halves.y);
  }
}
#endif

const int SUMS_OF_ROWS = TILE_ROWS / ROWS;
const int SUMS_OF_SUBGROUP = SUMS_OF_ROWS * (TILE_COLUMNS / COLUMNS) / SUBGROUPS;

// The first row and column of sum `i` of the subgroup.
ivec2 cornerOf(int i) {
  const int all = int(gl_SubgroupID) * SUMS_OF_SUBGROUP + i;
  return ivec2(all % SUMS_OF_ROWS * ROWS, all / SUMS_OF_ROWS * COLUMNS);
}

// Leaves the sums of the tile in `results`.
void addTile(int item, Rows rows, int firstBlock) {
  SUMS sums[SUMS_OF_SUBGROUP];
  for (int i = 0; i < SUMS_OF_SUBGROUP; ++i) sums[i] = filled(SUM(0));
  for (int tap = 0; tap < tapCount; ++tap) {
    const int cell = cellsOf(rows, tap)[0];
    for (int first = 0; first < extents.w; first += FOURS) {
      barrier();
      bringLeft(item, cell, first);
      bringRight(item, firstBlock, tap, first);
      barrier();
      for (int word = 0; word < PART; word += DEPTH / VALUES) {
        for (int i = 0; i < SUMS_OF_SUBGROUP; ++i) {
          const ivec2 corner = cornerOf(i);
          sums[i] = addProduct(
              loadLeft(left[corner.x * STRIDE + word], ROW_ORDER, STRIDE, VISIBLE, WORK_GROUP),
              loadRight(right[corner.y * STRIDE + word], COLUMN_ORDER, STRIDE, VISIBLE, WORK_GROUP),
              sums[i], SIGNS);
        }
      }
    }
  }
  for (int i = 0; i < SUMS_OF_SUBGROUP; ++i) {
    const ivec2 corner = cornerOf(i);
    storeSums(results[corner.x * TILE_COLUMNS + corner.y], sums[i], ROW_ORDER, TILE_COLUMNS,
              AVAILABLE, WORK_GROUP);
  }
  barrier();
}

void main() {
  const int group = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
  if (group * TILE_ROWS >= int(count)) return;  // all of the group
  readParameters();
  const int item = int(gl_LocalInvocationID.x);
  const int columns = (extents.z + BLOCKS - 1) / BLOCKS;
  const int stripe = quickQuotient(group, columns);
  const int firstBlock = (group - stripe * columns) * BLOCKS;
  const int position = stripe * TILE_ROWS + item;
  addTile(item, rowsOf(position, firstBlock), firstBlock);
  if (position >= extents.x) return;
  for (int c = 0; c < TILE_COLUMNS; c += 4) {
    const int channel = firstBlock * CHANNELS + c;
    const int i = item * TILE_COLUMNS + c;
#ifdef BYTES
    const ivec4 sums = ivec4(results[i], results[i + 1], results[i + 2], results[i + 3]);
    storeBytes(position * extents.y + channel, channel,
               finishedBytes(sums - filterSum * scales.y, channel));
#else
    const vec4 sums = vec4(results[i], results[i + 1], results[i + 2], results[i + 3]);
    storeReals(position * extents.y + channel, channel, finishedReals(sums, channel));
#endif
  }
}
