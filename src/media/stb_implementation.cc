// The only file that compiles the code of the stb libraries. Their warnings are disabled.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#endif

#include <cstddef>
#include <cstdlib>

#include "media/image.h"

namespace {

// stb_image allocates the size that a file announces, and inflates its content, before it compares
// both with the picture's size. A picture within the limits never needs more at once than its file
// and 8 bytes per pixel. These are 16 bits each of red, green, blue and alpha.
constexpr size_t kMaxAllocation =
    halyard::media::kMaxImagePixels * 8 + halyard::media::kMaxImageFileBytes;

void* limitedRealloc(void* old, size_t size) {
  return size <= kMaxAllocation ? std::realloc(old, size) : nullptr;
}

}  // namespace

#define STBI_MALLOC(size) limitedRealloc(nullptr, size)
#define STBI_REALLOC(old, size) limitedRealloc(old, size)
#define STBI_FREE(old) std::free(old)

// Only the supported formats, because every other decoder would give hostile files more to attack.
#define STBI_ONLY_BMP
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#define STBI_MAX_DIMENSIONS 16384  // kMaxImageSide
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>

#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>

#define STB_IMAGE_RESIZE_IMPLEMENTATION
#include <stb/stb_image_resize.h>
