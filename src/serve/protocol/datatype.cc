#include "serve/protocol/datatype.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace halyard::serve {
namespace {

struct DatatypeRow {
  std::string_view name;
  size_t size;
};

// In the order of Datatype.
constexpr std::array<DatatypeRow, 14> kDatatypes = {{
    {"BOOL", 1},
    {"UINT8", 1},
    {"UINT16", 2},
    {"UINT32", 4},
    {"UINT64", 8},
    {"INT8", 1},
    {"INT16", 2},
    {"INT32", 4},
    {"INT64", 8},
    {"FP16", 2},
    {"FP32", 4},
    {"FP64", 8},
    {"BF16", 2},
    {"BYTES", 0},
}};
constexpr uint64_t kMostElements = uint64_t{1} << 40;

}  // namespace

std::string_view datatypeName(Datatype datatype) {
  return kDatatypes[static_cast<size_t>(datatype)].name;
}

std::optional<Datatype> datatypeNamed(std::string_view name) {
  for (size_t i = 0; i < kDatatypes.size(); ++i) {
    if (kDatatypes[i].name == name) return static_cast<Datatype>(i);
  }
  return std::nullopt;
}

size_t datatypeSize(Datatype datatype) { return kDatatypes[static_cast<size_t>(datatype)].size; }

std::optional<uint64_t> elementCount(std::span<const int64_t> shape) {
  uint64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || static_cast<uint64_t>(extent) > kMostElements) return std::nullopt;
    // Both factors are at most 2^40, so the product may be too large for 64 bits.
    if (extent != 0 && count > kMostElements / static_cast<uint64_t>(extent)) return std::nullopt;
    count *= static_cast<uint64_t>(extent);
  }
  return count;
}

std::string shapeText(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

}  // namespace halyard::serve
