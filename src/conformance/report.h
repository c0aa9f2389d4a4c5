// The results of a run of conformance cases as text, JSON and JUnit XML.
// Thread safety: pure functions.
// Ownership: results own their data.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/runner.h"

namespace halyard::conformance {

// One case in one variant, or an unreadable line or file.
struct CaseRecord {
  std::string file;
  size_t line = 0;      // 0: the whole file
  std::string name;     // empty: unreadable
  std::string variant;  // empty: unreadable
  CaseResult result;
  double seconds = 0;
  std::string repeat;  // the command that repeats this case; empty when passed
};

struct RunReport {
  std::string device;
  std::string via;
  std::vector<std::string> variants;
  double seconds = 0;
  std::vector<CaseRecord> cases;

  size_t count(Outcome outcome) const;
  // Returns the number of occurrences of each reason to skip.
  std::map<std::string, size_t> skipReasons() const;
};

// Describes a failure for a reader, in several lines.
std::string failureText(const RunReport& report, const CaseRecord& record);
// Lists the reasons to skip with their counts, then "N passed, N failed, N skipped".
std::string summaryText(const RunReport& report);
// Returns one object; docs/conformance.md has its fields.
std::string jsonText(const RunReport& report);
// Returns one testsuite per variant, and one testcase per case.
std::string junitText(const RunReport& report);

// Returns `text` for an attribute or the text of an XML element. Replaces the reserved characters
// by entities. Replaces characters that XML 1.0 does not allow, and bytes that are not ASCII, by
// '?', because nothing has checked their encoding.
std::string xmlText(std::string_view text);

// Returns the word for a POSIX shell, quoted if necessary.
std::string shellWord(std::string_view word);

}  // namespace halyard::conformance
