// The .npy format: header parsing and writing.
#include "media/npy.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>

#include "media/file_bytes.h"

namespace halyard::media {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// Magic and version; the header's length follows.
constexpr size_t kPrefix = 8;
// Data starts at a multiple of this, as NumPy writes it.
constexpr size_t kAlignment = 64;
// NumPy's own limit on the number of dimensions.
constexpr size_t kMaxRank = 32;

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortranOrder;
  std::optional<std::vector<uint64_t>> shape;
};

// Parses the Python dictionary literal of a header, but only the forms that NumPy writes.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Result<Header> parse() {
    Header header;
    if (!take('{')) return problem("'{'");
    while (!take('}')) {
      std::string key;
      if (!takeString(&key)) return problem("a key in quotes or '}'");
      if (!take(':')) return problem("':'");
      HALYARD_RETURN_IF_ERROR(parseValue(key, &header));
      if (take(',')) continue;
      if (!take('}')) return problem("',' or '}'");
      break;
    }
    skipSpace();
    if (at_ != text_.size()) return problem("the end");
    return header;
  }

 private:
  Status parseValue(const std::string& key, Header* header) {
    if (key == "descr" && !header->descr) {
      std::string descr;
      if (!takeString(&descr)) return problem("one element type in quotes (no structure)");
      header->descr = descr;
    } else if (key == "fortran_order" && !header->fortranOrder) {
      if (takeWord("True")) {
        header->fortranOrder = true;
      } else if (takeWord("False")) {
        header->fortranOrder = false;
      } else {
        return problem("True or False");
      }
    } else if (key == "shape" && !header->shape) {
      return parseShape(&header->shape.emplace());
    } else {
      return badData("npy header: unexpected or repeated key '{}'", key);
    }
    return okStatus();
  }

  Status parseShape(std::vector<uint64_t>* shape) {
    if (!take('(')) return problem("'('");
    while (!take(')')) {
      uint64_t extent = 0;
      if (!takeNumber(&extent)) return problem("a dimension or ')'");
      if (shape->size() == kMaxRank) {
        return badData("npy header: more than {} dimensions", kMaxRank);
      }
      shape->push_back(extent);
      if (take(',')) continue;
      if (!take(')')) return problem("',' or ')'");
      break;
    }
    return okStatus();
  }

  void skipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skipSpace();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool takeWord(std::string_view word) {
    skipSpace();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool takeString(std::string* value) {
    skipSpace();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return false;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return false;
    value->assign(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return true;
  }
  bool takeNumber(uint64_t* value) {
    skipSpace();
    const size_t begin = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      const auto digit = static_cast<uint64_t>(text_[at_] - '0');
      if (*value > (std::numeric_limits<uint64_t>::max() - digit) / 10) return false;
      *value = *value * 10 + digit;
      ++at_;
    }
    return at_ > begin;
  }
  Status problem(std::string_view expected) const {
    return badData("npy header: expected {} at byte {}", expected, at_);
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Returns the element type without its byte order, or the reason why it is not supported.
Result<std::string> dtypeOf(const std::string& descr) {
  if (descr.empty()) return badData("npy header: empty element type");
  const char order = descr[0];
  const std::string dtype = descr.substr(1);
  const size_t size = npyElementSize(dtype);
  if (size == 0) return badData("npy header: element type '{}' is not supported", descr);
  if (order != '<' && !(size == 1 && (order == '|' || order == '>' || order == '='))) {
    return badData("npy header: element type '{}' is not little-endian", descr);
  }
  return dtype;
}

// Returns the number of bytes of all elements; nullopt when it is more than 2^63.
std::optional<uint64_t> byteSize(std::string_view dtype, std::span<const uint64_t> shape) {
  constexpr uint64_t kLimit = uint64_t{1} << 63;
  // A zero anywhere makes the array empty, for any size of the other dimensions.
  if (std::find(shape.begin(), shape.end(), 0u) != shape.end()) return 0;
  uint64_t size = npyElementSize(dtype);
  for (const uint64_t extent : shape) {
    if (extent > kLimit / size) return std::nullopt;
    size *= extent;
  }
  return size;
}

}  // namespace

size_t npyElementSize(std::string_view dtype) {
  if (dtype.size() != 2) return 0;
  const auto size = static_cast<size_t>(dtype[1] - '0');
  switch (dtype[0]) {
    case 'b':
      return size == 1 ? size : 0;
    case 'i':
    case 'u':
      return size == 1 || size == 2 || size == 4 || size == 8 ? size : 0;
    case 'f':
      return size == 2 || size == 4 || size == 8 ? size : 0;
    case 'c':  // two floats of half the size
      return size == 8 ? size : 0;
    default:
      return 0;
  }
}

std::string npyShapeText(std::span<const uint64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

Result<NpyArray> parseNpy(std::span<const uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.substr(0, kMagic.size()) != kMagic) return badData("not a .npy file");
  if (bytes.size() < kPrefix) return badData("npy header: the file ends within it");
  const uint8_t major = bytes[6];
  if (major < 1 || major > 3) {
    return badData("npy format version {}.{} is not supported", major, bytes[7]);
  }
  const size_t lengthBytes = major == 1 ? 2 : 4;
  if (bytes.size() - kPrefix < lengthBytes) return badData("npy header: the file ends within it");
  uint64_t length = 0;
  for (size_t i = 0; i < lengthBytes; ++i) {
    length |= static_cast<uint64_t>(bytes[kPrefix + i]) << (8 * i);
  }
  const size_t begin = kPrefix + lengthBytes;
  if (bytes.size() - begin < length) {
    return badData("npy header: {} bytes announced, {} there", length, bytes.size() - begin);
  }
  HALYARD_ASSIGN_OR_RETURN(const Header header, HeaderParser(text.substr(begin, length)).parse());
  if (!header.descr || !header.fortranOrder || !header.shape) {
    return badData("npy header: descr, fortran_order or shape is missing");
  }
  NpyArray array;
  HALYARD_ASSIGN_OR_RETURN(array.dtype, dtypeOf(*header.descr));
  array.shape = *header.shape;
  if (*header.fortranOrder && array.shape.size() > 1) {
    return badData("the array is in Fortran order; save it in C order (numpy.ascontiguousarray)");
  }
  const std::span<const uint8_t> data = bytes.subspan(begin + length);
  const std::optional<uint64_t> size = byteSize(array.dtype, array.shape);
  if (!size || *size != data.size()) {
    return badData("{} elements of shape {} do not make the {} bytes of data that are there",
                   array.dtype, npyShapeText(array.shape), data.size());
  }
  array.data.assign(data.begin(), data.end());
  return array;
}

Result<NpyArray> loadNpy(const std::string& path) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, readFileBytes(path, kMaxNpyFileBytes));
  HALYARD_ASSIGN_OR_RETURN(NpyArray array, parseNpy(bytes), "{}", path);
  return array;
}

Result<std::vector<uint8_t>> encodeNpy(const NpyArray& array) {
  const size_t elementSize = npyElementSize(array.dtype);
  if (elementSize == 0) return badData("npy: element type '{}' is not supported", array.dtype);
  const std::optional<uint64_t> size = byteSize(array.dtype, array.shape);
  if (!size || *size != array.data.size() || array.shape.size() > kMaxRank) {
    return badData("npy: {} elements of shape {} do not make {} bytes", array.dtype,
                   npyShapeText(array.shape), array.data.size());
  }
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}",
                  elementSize == 1 ? '|' : '<', array.dtype, npyShapeText(array.shape));
  // At most 32 dimensions of at most 20 digits always fit in version 1.0.
  const size_t begin = kPrefix + 2;
  const size_t padded = (begin + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  header.append(padded - begin - header.size() - 1, ' ');
  header.push_back('\n');
  std::vector<uint8_t> bytes(kMagic.begin(), kMagic.end());
  bytes.insert(bytes.end(), {1, 0, static_cast<uint8_t>(header.size() & 0xff),
                             static_cast<uint8_t>(header.size() >> 8)});
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), array.data.begin(), array.data.end());
  return bytes;
}

Status saveNpy(const NpyArray& array, const std::string& path) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, encodeNpy(array), "{}", path);
  return writeFileBytes(path, bytes);
}

}  // namespace halyard::media
