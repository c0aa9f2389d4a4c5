// SPDX-License-Identifier: Apache-2.0
//
// ARect: a rectangle of pixels.
// Thread safety: plain data.
// Ownership: none.

#ifndef HALYARD_ANDROID_RECT_H_
#define HALYARD_ANDROID_RECT_H_

#include <stdint.h>

/** The pixels (x, y) with left <= x < right and top <= y < bottom. */
typedef struct ARect {
  int32_t left;
  int32_t top;
  int32_t right;
  int32_t bottom;
} ARect;

#endif  // HALYARD_ANDROID_RECT_H_
