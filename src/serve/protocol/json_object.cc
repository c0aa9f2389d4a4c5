#include "serve/protocol/json_object.h"

#include <algorithm>

namespace halyard::serve {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 32;

// Bytes of memory for each part of a text, with the headers of allocations. An element takes its
// place in an array that doubles, one in the list by which the array is freed, and one in a tensor.
constexpr uint64_t kElementBytes = 88;
constexpr uint64_t kContainerBytes = 112;
constexpr uint64_t kMemberBytes = 96;
constexpr uint64_t kStringBytes = 72;
// The parser keeps a string twice while both copies grow, and then makes the value.
constexpr uint64_t kCharacterBytes = 7;

// The parts of a text. They are right for JSON, and some numbers for other texts.
struct Parts {
  int depth = 0;  // the deepest nesting
  uint64_t containers = 0;
  uint64_t elements = 0;
  uint64_t members = 0;
  uint64_t strings = 0;
  uint64_t characters = 0;  // of all strings
};

Parts partsOf(std::string_view text) {
  Parts parts;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"': {
        const size_t begin = ++i;
        while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
        ++parts.strings;
        parts.characters += i - begin;
        break;
      }
      case '[':
      case '{':
        ++parts.containers;
        parts.depth = std::max(parts.depth, ++depth);
        break;
      case ']':
      case '}':
        --depth;
        break;
      case ',':
        ++parts.elements;
        break;
      case ':':
        ++parts.members;
        break;
      default:
        break;
    }
  }
  return parts;
}

}  // namespace

uint64_t memoryOfJson(std::string_view text) {
  const Parts parts = partsOf(text);
  return kElementBytes * parts.elements + kContainerBytes * parts.containers +
         kMemberBytes * parts.members + kStringBytes * parts.strings +
         kCharacterBytes * parts.characters;
}

// The depth comes from the text, not from a callback of the parser. With a callback, the parser
// looks at all siblings of an object when the object ends.
Result<json> parseJsonObject(std::string_view text) {
  const int depth = partsOf(text).depth;
  if (depth > kMaxDepth) {
    return badData("the JSON is nested deeper than {}: {} levels", kMaxDepth, depth);
  }
  json parsed = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return badData("the body is no JSON");
  if (!parsed.is_object()) {
    return badData("the body is a JSON {}, expected an object", parsed.type_name());
  }
  return parsed;
}

}  // namespace halyard::serve
