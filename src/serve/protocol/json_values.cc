#include "serve/protocol/json_values.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace halyard::serve {
namespace {

using nlohmann::json;

constexpr int kMaxDataDepth = 16;

// The element as text for errors, in few characters.
std::string shortText(const json& element) {
  std::string text = element.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 40) {
    text.resize(40);
    text += "...";
  }
  return text;
}

template <typename T>
Status appendNumber(const json& element, Datatype datatype, std::vector<uint8_t>& to) {
  T value = {};
  bool fits = false;
  if constexpr (std::is_floating_point_v<T>) {
    fits = element.is_number();
    if (fits) value = static_cast<T>(element.get<double>());
    fits = fits && std::isfinite(value);
  } else if (element.is_number_unsigned()) {
    const auto wide = element.get<uint64_t>();
    fits = wide <= static_cast<uint64_t>(std::numeric_limits<T>::max());
    value = static_cast<T>(wide);
  } else if (element.is_number_integer()) {
    const auto wide = element.get<int64_t>();
    fits = std::is_signed_v<T> && wide >= static_cast<int64_t>(std::numeric_limits<T>::min());
    value = static_cast<T>(wide);
  }
  if (!fits) {
    return badData("element {} is {}, expected a number of {}", to.size() / sizeof(T),
                   shortText(element), datatypeName(datatype));
  }
  const size_t at = to.size();
  to.resize(at + sizeof(T));
  std::memcpy(to.data() + at, &value, sizeof(T));
  return okStatus();
}

Status appendBool(const json& element, std::vector<uint8_t>& to) {
  if (element.is_boolean()) {
    to.push_back(element.get<bool>() ? 1 : 0);
    return okStatus();
  }
  if (element.is_number_integer() && (element == 0 || element == 1)) {
    to.push_back(element == 1 ? 1 : 0);
    return okStatus();
  }
  return badData("element {} is {}, expected true, false, 0 or 1", to.size(), shortText(element));
}

Status appendText(const json& element, std::vector<uint8_t>& to) {
  if (!element.is_string()) {
    return badData("an element is {}, expected a string", shortText(element));
  }
  const auto& text = element.get_ref<const std::string&>();
  const auto length = static_cast<uint32_t>(text.size());
  const size_t at = to.size();
  to.resize(at + sizeof(length) + text.size());
  std::memcpy(to.data() + at, &length, sizeof(length));
  std::memcpy(to.data() + at + sizeof(length), text.data(), text.size());
  return okStatus();
}

Status appendElement(const json& element, Datatype datatype, std::vector<uint8_t>& to) {
  switch (datatype) {
    case Datatype::BOOL:
      return appendBool(element, to);
    case Datatype::UINT8:
      return appendNumber<uint8_t>(element, datatype, to);
    case Datatype::UINT16:
      return appendNumber<uint16_t>(element, datatype, to);
    case Datatype::UINT32:
      return appendNumber<uint32_t>(element, datatype, to);
    case Datatype::UINT64:
      return appendNumber<uint64_t>(element, datatype, to);
    case Datatype::INT8:
      return appendNumber<int8_t>(element, datatype, to);
    case Datatype::INT16:
      return appendNumber<int16_t>(element, datatype, to);
    case Datatype::INT32:
      return appendNumber<int32_t>(element, datatype, to);
    case Datatype::INT64:
      return appendNumber<int64_t>(element, datatype, to);
    case Datatype::FP32:
      return appendNumber<float>(element, datatype, to);
    case Datatype::FP64:
      return appendNumber<double>(element, datatype, to);
    case Datatype::BYTES:
      return appendText(element, to);
    case Datatype::FP16:
    case Datatype::BF16:
      break;
  }
  return badData("{} has no form in JSON, send it as a binary tensor", datatypeName(datatype));
}

// Appends all elements in the order of the nested arrays.
Status flatten(const json& data, Datatype datatype, int depth, uint64_t most, uint64_t& count,
               std::vector<uint8_t>& to) {
  if (!data.is_array()) return badData("'data' is {}, expected an array", shortText(data));
  if (depth > kMaxDataDepth) return badData("'data' is nested deeper than {}", kMaxDataDepth);
  for (const json& element : data) {
    if (element.is_array()) {
      HALYARD_RETURN_IF_ERROR(flatten(element, datatype, depth + 1, most, count, to));
      continue;
    }
    if (++count > most) return badData("'data' has more than the {} elements of its shape", most);
    HALYARD_RETURN_IF_ERROR(appendElement(element, datatype, to));
  }
  return okStatus();
}

template <typename T>
Status appendNumbers(std::span<const uint8_t> bytes, std::string& to) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value = {};
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    if (at != 0) to += ',';
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) {
        return badData("element {} is {}, which has no form in JSON, ask for a binary tensor",
                       at / sizeof(T), value);
      }
      fmt::format_to(std::back_inserter(to), "{}", value);
    } else {
      fmt::format_to(std::back_inserter(to), "{}", static_cast<int64_t>(value));
    }
  }
  return okStatus();
}

void appendBools(std::span<const uint8_t> bytes, std::string& to) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i != 0) to += ',';
    to += bytes[i] != 0 ? "true" : "false";
  }
}

Status appendTexts(std::span<const uint8_t> bytes, std::string& to) {
  for (size_t at = 0; at < bytes.size();) {
    uint32_t length = 0;
    if (bytes.size() - at < sizeof(length)) return badData("an element without its length");
    std::memcpy(&length, bytes.data() + at, sizeof(length));
    if (at != 0) to += ',';
    at += sizeof(length);
    if (bytes.size() - at < length) return badData("an element of {} bytes is cut", length);
    const std::string text(reinterpret_cast<const char*>(bytes.data()) + at, length);
    to += json(text).dump(-1, ' ', false, json::error_handler_t::replace);
    at += length;
  }
  return okStatus();
}

Status appendAll(Datatype datatype, std::span<const uint8_t> bytes, std::string& to) {
  switch (datatype) {
    case Datatype::BOOL:
      appendBools(bytes, to);
      return okStatus();
    case Datatype::UINT8:
      return appendNumbers<uint8_t>(bytes, to);
    case Datatype::UINT16:
      return appendNumbers<uint16_t>(bytes, to);
    case Datatype::UINT32:
      return appendNumbers<uint32_t>(bytes, to);
    case Datatype::INT8:
      return appendNumbers<int8_t>(bytes, to);
    case Datatype::INT16:
      return appendNumbers<int16_t>(bytes, to);
    case Datatype::INT32:
      return appendNumbers<int32_t>(bytes, to);
    case Datatype::UINT64:  // no model of NNAPI has outputs of this type
    case Datatype::INT64:
      return appendNumbers<int64_t>(bytes, to);
    case Datatype::FP32:
      return appendNumbers<float>(bytes, to);
    case Datatype::FP64:
      return appendNumbers<double>(bytes, to);
    case Datatype::BYTES:
      return appendTexts(bytes, to);
    case Datatype::FP16:
    case Datatype::BF16:
      break;
  }
  return badData("{} has no form in JSON, ask for a binary tensor", datatypeName(datatype));
}

}  // namespace

Result<std::vector<uint8_t>> bytesOfJson(const json& data, Datatype datatype, uint64_t count) {
  std::vector<uint8_t> bytes;
  // The array has at most as many elements as the message has bytes, so only it decides the memory.
  bytes.reserve(data.size() * datatypeSize(datatype));
  uint64_t found = 0;
  HALYARD_RETURN_IF_ERROR(flatten(data, datatype, 1, count, found, bytes));
  if (found != count) return badData("'data' has {} elements, its shape has {}", found, count);
  return bytes;
}

Status appendJson(Datatype datatype, std::span<const uint8_t> bytes, std::string& to) {
  to += '[';
  HALYARD_RETURN_IF_ERROR(appendAll(datatype, bytes, to));
  to += ']';
  return okStatus();
}

}  // namespace halyard::serve
