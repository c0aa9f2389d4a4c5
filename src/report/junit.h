// JUnit XML: the form of results that build servers read.
// Thread safety: pure functions. Ownership: results own their text.
//
// All texts may hold anything: they are escaped here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halyard::report {

using JUnitProperties = std::vector<std::pair<std::string, std::string>>;

struct JUnitCase {
  enum class Outcome : uint8_t { PASSED, FAILED, SKIPPED };
  std::string className;
  std::string name;
  JUnitProperties attributes = {};  // further ones, such as the file
  double seconds = 0;
  JUnitProperties properties = {};
  Outcome outcome = Outcome::PASSED;
  std::string type = {};     // of a failure; may be empty
  std::string message = {};  // why it failed or was skipped
  std::string details = {};  // of a failure
  std::string log = {};      // text on standard error; may be empty
};
struct JUnitSuite {
  std::string name;
  double seconds = 0;
  JUnitProperties properties = {};
  std::vector<JUnitCase> cases = {};

  size_t count(JUnitCase::Outcome outcome) const;
};

// The whole document. `errors`: problems of the run itself.
std::string junitDocument(std::string_view name, const std::vector<JUnitSuite>& suites,
                          size_t errors, double seconds);

// `text` for an attribute or the text of an XML element: what XML reserves replaced. '?' stands for
// what XML 1.0 does not allow and for bytes beyond ASCII, whose encoding is not checked.
std::string xmlText(std::string_view text);

}  // namespace halyard::report
