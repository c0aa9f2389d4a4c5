#include "hal/core/field_reader.h"

#include <cmath>

namespace halyard::hal {

Status wrongValue(const std::string& where, const nlohmann::json& value,
                  std::string_view expected) {
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  constexpr size_t kLongest = 60;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return badData("{}: is {}, expected {}", where.empty() ? "the whole" : where, text, expected);
}

FieldReader::FieldReader(const Json& value, std::string where, Status* status)
    : value_(&value), where_(std::move(where)), status_(status) {
  if (ok() && !value.is_object()) *status_ = wrongValue(where_, value, "an object");
}

std::string FieldReader::placeOf(std::string_view field) const {
  return where_.empty() ? std::string(field) : fmt::format("{}.{}", where_, field);
}

void FieldReader::fail(std::string_view field, const std::string& what) {
  if (ok()) *status_ = badData("{}: {}", placeOf(field), what);
}

bool FieldReader::has(std::string_view field) const {
  return ok() && value_->contains(std::string(field));
}

const FieldReader::Json* FieldReader::take(const char* field) {
  known_.insert(field);
  return has(field) ? &value_->at(field) : nullptr;
}

void FieldReader::text(const char* field, std::string* to) {
  const Json* value = take(field);
  if (value == nullptr) return;
  const auto* found = value->get_ptr<const std::string*>();
  if (found == nullptr || found->empty() || found->find('\0') != std::string::npos) {
    *status_ = wrongValue(placeOf(field), *value, "a text that is not empty");
    return;
  }
  *to = *found;
}

void FieldReader::flag(const char* field, bool* to) {
  const Json* value = take(field);
  if (value == nullptr) return;
  if (!value->is_boolean()) {
    *status_ = wrongValue(placeOf(field), *value, "true or false");
    return;
  }
  *to = value->get<bool>();
}

void FieldReader::number(const char* field, double min, double max, double* to) {
  const Json* value = take(field);
  if (value == nullptr) return;
  const double found = value->is_number() ? value->get<double>() : NAN;
  if (!(found >= min && found <= max)) {
    *status_ = wrongValue(placeOf(field), *value, fmt::format("a number from {} to {}", min, max));
    return;
  }
  *to = found;
}

void FieldReader::whole(const char* field, uint64_t min, uint64_t max, uint64_t* to) {
  const Json* value = take(field);
  if (value == nullptr) return;
  const uint64_t found = value->is_number_unsigned() ? value->get<uint64_t>() : 0;
  if (!value->is_number_unsigned() || found < min || found > max) {
    *status_ =
        wrongValue(placeOf(field), *value, fmt::format("a whole number from {} to {}", min, max));
    return;
  }
  *to = found;
}

void FieldReader::list(const char* field, const EachValue& each) {
  const Json* value = take(field);
  if (value == nullptr) return;
  if (!value->is_array()) {
    *status_ = wrongValue(placeOf(field), *value, "a list");
    return;
  }
  for (size_t i = 0; i < value->size() && ok(); ++i) {
    each((*value)[i], fmt::format("{}[{}]", placeOf(field), i));
  }
}

void FieldReader::object(const char* field, const std::function<void(FieldReader&)>& read) {
  const Json* value = take(field);
  if (value == nullptr) return;
  FieldReader inner(*value, placeOf(field), status_);
  if (!ok()) return;
  read(inner);
  inner.finish();
}

void FieldReader::members(const char* field, const EachMember& each) {
  const Json* value = take(field);
  if (value == nullptr) return;
  if (!value->is_object()) {
    *status_ = wrongValue(placeOf(field), *value, "an object");
    return;
  }
  for (const auto& [name, member] : value->items()) {
    if (!ok()) return;
    each(name, member, fmt::format("{}.{}", placeOf(field), name));
  }
}

void FieldReader::finish() {
  if (!ok()) return;
  for (const auto& [name, value] : value_->items()) {
    if (known_.contains(name)) continue;
    std::string expected;
    for (const std::string& known : known_) expected += (expected.empty() ? "" : ", ") + known;
    return fail(name, "there is no such field; there are " + expected);
  }
}

}  // namespace halyard::hal
