// The element types of the Open Inference Protocol.
// Thread safety: pure functions. Ownership: names are static.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace halyard::serve {

enum class Datatype : uint8_t {
  BOOL,
  UINT8,
  UINT16,
  UINT32,
  UINT64,
  INT8,
  INT16,
  INT32,
  INT64,
  FP16,
  FP32,
  FP64,
  BF16,
  BYTES,
};

// The name on the wire, such as "FP32".
std::string_view datatypeName(Datatype datatype);
// nullopt for a name that the protocol lacks.
std::optional<Datatype> datatypeNamed(std::string_view name);
// Bytes of one element; 0 for BYTES, whose elements differ in size.
size_t datatypeSize(Datatype datatype);

// The number of elements; nullopt for a negative dimension or a product above 2^40.
std::optional<uint64_t> elementCount(std::span<const int64_t> shape);

// "[1,28,28,1]"; -1 stands for a variable dimension.
std::string shapeText(std::span<const int64_t> shape);

}  // namespace halyard::serve
