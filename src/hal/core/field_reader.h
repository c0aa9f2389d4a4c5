// FieldReader: reads the fields of a JSON object, each once, and checks them.
// Thread safety: none.
// Ownership: borrows the JSON value and the Status.
//
// The Status keeps the first error with its place ("faults[2].nth"). Later reads do nothing, so
// that a reader can ask for all fields in a row and check the Status once.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "halyard/driver/status.h"

namespace halyard::hal {

class FieldReader {
 public:
  using Json = nlohmann::json;
  using EachValue = std::function<void(const Json& value, const std::string& where)>;
  using EachMember =
      std::function<void(const std::string& name, const Json& value, const std::string& where)>;

  // `where`: the place of the object itself, empty for the outermost.
  FieldReader(const Json& value, std::string where, Status* status);

  bool ok() const { return status_->ok(); }
  void fail(std::string_view field, const std::string& what);

  bool has(std::string_view field) const;
  // Each function leaves `to` unchanged when the field is absent.
  void text(const char* field, std::string* to);
  void flag(const char* field, bool* to);
  void number(const char* field, double min, double max, double* to);
  void whole(const char* field, uint64_t min, uint64_t max, uint64_t* to);
  // Reads one of the names.
  template <typename T>
  void choice(const char* field, std::span<const std::pair<std::string_view, T>> names, T* to) {
    if (!has(field)) return (void)known_.insert(field);
    std::string name;
    text(field, &name);
    std::string expected;
    for (const auto& [candidate, value] : names) {
      if (candidate == name) return (void)(*to = value);
      expected += (expected.empty() ? "" : ", ") + std::string(candidate);
    }
    fail(field, fmt::format("is '{}', expected one of {}", name, expected));
  }
  void list(const char* field, const EachValue& each);
  void object(const char* field, const std::function<void(FieldReader&)>& read);
  // Reads an object with arbitrary field names.
  void members(const char* field, const EachMember& each);
  // Must be called last: a field that no call has read is an error.
  void finish();

 private:
  const Json* take(const char* field);
  std::string placeOf(std::string_view field) const;

  const Json* value_;
  const std::string where_;
  Status* const status_;
  std::set<std::string, std::less<>> known_;
};

// Returns the error for an unexpected value at `where`.
Status wrongValue(const std::string& where, const nlohmann::json& value, std::string_view expected);

}  // namespace halyard::hal
