// A bounds-checked reader of FlexBuffers maps.
//
// The format, from the end: the width of the root in bytes, its packed type (type << 2 | log2
// width), the root value. A map's value is the distance back to its first element. Three values of
// an element's width precede the elements. They are the distance back to the keys, the width of the
// keys' elements, and the number of elements. The packed types follow the elements. Keys are
// distances back to C strings.
#include "import/tflite/flex_map.h"

#include <bit>
#include <cstring>

#include "base/float16.h"

namespace halyard::import {
namespace {

// Limits the output of a small forged map, because all keys may share one long string.
constexpr size_t kMaxSize = 8192;

enum FlexType : uint8_t {
  kInt = 1,
  kUint = 2,
  kFloat = 3,
  kIndirectInt = 6,
  kIndirectUint = 7,
  kIndirectFloat = 8,
  kMap = 9,
  kBool = 26,
};

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  // Returns the unsigned number of `width` bytes (1, 2, 4 or 8) at `at`.
  std::optional<uint64_t> unsignedAt(size_t at, size_t width) const {
    if (width != 1 && width != 2 && width != 4 && width != 8) return std::nullopt;
    if (at > bytes_.size() || bytes_.size() - at < width) return std::nullopt;
    uint64_t value = 0;
    for (size_t i = 0; i < width; ++i) value |= uint64_t{bytes_[at + i]} << (8 * i);
    return value;
  }

  std::optional<int64_t> signedAt(size_t at, size_t width) const {
    const std::optional<uint64_t> value = unsignedAt(at, width);
    if (!value) return std::nullopt;
    const size_t unused = 64 - 8 * width;
    return std::bit_cast<int64_t>(*value << unused) >> unused;
  }

  std::optional<double> floatAt(size_t at, size_t width) const {
    const std::optional<uint64_t> value = unsignedAt(at, width);
    if (!value) return std::nullopt;
    if (width == 8) return std::bit_cast<double>(*value);
    if (width == 4) return std::bit_cast<float>(static_cast<uint32_t>(*value));
    if (width == 2) return toFloat(Float16{static_cast<uint16_t>(*value)});
    return std::nullopt;
  }

  // Returns the target of the distance at `at`.
  std::optional<size_t> targetOf(size_t at, size_t width) const {
    const std::optional<uint64_t> distance = unsignedAt(at, width);
    if (!distance || *distance > at) return std::nullopt;
    return at - static_cast<size_t>(*distance);
  }

  std::optional<std::string> stringAt(size_t at) const {
    if (at >= bytes_.size()) return std::nullopt;
    const void* end = std::memchr(bytes_.data() + at, 0, bytes_.size() - at);
    if (end == nullptr) return std::nullopt;
    const auto* begin = bytes_.data() + at;
    return std::string(begin, static_cast<const uint8_t*>(end));
  }

  // Returns the element at `at`, of `width` bytes, by its packed type; nullopt for other types,
  // too.
  std::optional<double> numberAt(size_t at, size_t width, uint8_t packedType) const {
    const uint8_t type = packedType >> 2;
    const size_t indirectWidth = size_t{1} << (packedType & 3);
    if (type >= kIndirectInt && type <= kIndirectFloat) {
      const std::optional<size_t> target = targetOf(at, width);
      if (!target) return std::nullopt;
      return directNumber(*target, indirectWidth, static_cast<uint8_t>(type - kIndirectInt + kInt));
    }
    return directNumber(at, width, type == kBool ? static_cast<uint8_t>(kUint) : type);
  }

 private:
  std::optional<double> directNumber(size_t at, size_t width, uint8_t type) const {
    if (type == kInt) {
      const std::optional<int64_t> value = signedAt(at, width);
      if (value) return static_cast<double>(*value);
    } else if (type == kUint) {
      const std::optional<uint64_t> value = unsignedAt(at, width);
      if (value) return static_cast<double>(*value);
    } else if (type == kFloat) {
      return floatAt(at, width);
    }
    return std::nullopt;
  }

  std::span<const uint8_t> bytes_;
};

Status damaged(std::string_view what) { return badData("options are damaged: {}", what); }

}  // namespace

Result<FlexMap> FlexMap::parse(std::span<const uint8_t> bytes) {
  const Reader reader(bytes);
  if (bytes.size() > kMaxSize) {
    return badData("options have {} bytes, at most {} are read", bytes.size(), kMaxSize);
  }
  if (bytes.size() < 3) return damaged("too short");
  const size_t rootWidth = bytes.back();
  const uint8_t rootType = bytes[bytes.size() - 2];
  if (rootWidth > bytes.size() - 2) return damaged("no root");
  if (rootType >> 2 != kMap) return badData("options are not a FlexBuffers map");
  const std::optional<size_t> map = reader.targetOf(bytes.size() - 2 - rootWidth, rootWidth);
  const size_t width = size_t{1} << (rootType & 3);
  if (!map || *map < 3 * width) return damaged("map out of range");

  const std::optional<uint64_t> count = reader.unsignedAt(*map - width, width);
  const std::optional<uint64_t> keyWidth = reader.unsignedAt(*map - 2 * width, width);
  const std::optional<size_t> keys = reader.targetOf(*map - 3 * width, width);
  if (!count || !keyWidth || !keys) return damaged("map header out of range");
  if (*keyWidth != 1 && *keyWidth != 2 && *keyWidth != 4 && *keyWidth != 8) {
    return damaged("key width");
  }
  // Elements and their types follow. The check also limits the number of keys by the buffer's size.
  if (*count > (bytes.size() - *map) / (width + 1)) return damaged("elements out of range");

  FlexMap result;
  for (size_t i = 0; i < *count; ++i) {
    const std::optional<size_t> keyAt =
        reader.targetOf(*keys + i * static_cast<size_t>(*keyWidth), static_cast<size_t>(*keyWidth));
    if (!keyAt) return damaged("key out of range");
    std::optional<std::string> key = reader.stringAt(*keyAt);
    if (!key) return damaged("key without end");
    const uint8_t type = bytes[*map + *count * width + i];
    const std::optional<double> value = reader.numberAt(*map + i * width, width, type);
    if (value) result.numbers_.emplace(std::move(*key), *value);
  }
  return result;
}

std::optional<double> FlexMap::number(std::string_view key) const {
  const auto found = numbers_.find(key);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

}  // namespace halyard::import
