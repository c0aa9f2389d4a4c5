// NpyArray: arrays in NumPy's .npy files, read and written.
// Thread safety: pure functions over values.
// Ownership: an NpyArray owns its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::media {

// A dense array, C order (last dimension fastest), little-endian.
struct NpyArray {
  // NumPy's kind and size in bytes without the byte order: "f4", "u1", "i1", "b1", "f2", ...
  std::string dtype;
  std::vector<uint64_t> shape;  // empty: one element
  std::vector<uint8_t> data;    // its length matches dtype and shape
};

// The largest file that is read, in bytes.
inline constexpr size_t kMaxNpyFileBytes = size_t{1} << 30;

// Returns the bytes per element of "b1", "i1" to "i8", "u1" to "u8", "f2" to "f8" and "c8"; 0 for
// any other name.
size_t npyElementSize(std::string_view dtype);

// Returns a text such as "(1, 224, 224, 3)", as NumPy prints it.
std::string npyShapeText(std::span<const uint64_t> shape);

// Parses format versions 1.0, 2.0 and 3.0. Returns BAD_DATA with the reason for anything else.
// Examples: a bad magic or header, big-endian or structured elements, Fortran order, a shape that
// does not match the number of bytes.
Result<NpyArray> parseNpy(std::span<const uint8_t> bytes);
// As above. Errors begin with the file's name.
Result<NpyArray> loadNpy(const std::string& path);

// Returns a file's bytes in version 1.0. Returns BAD_DATA when dtype, shape (at most 32 dimensions)
// and data do not match.
Result<std::vector<uint8_t>> encodeNpy(const NpyArray& array);
Status saveNpy(const NpyArray& array, const std::string& path);

}  // namespace halyard::media
