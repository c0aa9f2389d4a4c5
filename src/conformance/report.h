// Reports of a run of conformance cases, as text, JSON and JUnit XML.
// Thread safety: pure functions.
// Ownership: results own their data.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/runner.h"

namespace halyard::conformance {

// One case in one variant, or a line or file that could not be read.
struct CaseRecord {
  std::string file;
  size_t line = 0;      // 0: the file as a whole
  std::string name;     // empty: could not be read
  std::string variant;  // empty: could not be read
  CaseResult result;
  double seconds = 0;
  std::string repeat;  // the command that does just this again; empty when passed
};

struct RunReport {
  std::string device;
  std::string via;
  std::vector<std::string> variants;
  double seconds = 0;
  std::vector<CaseRecord> cases;

  size_t count(Outcome outcome) const;
  // How often each reason to skip occurs.
  std::map<std::string, size_t> skipReasons() const;
};

// A failure for a person; several lines.
std::string failureText(const RunReport& report, const CaseRecord& record);
// The reasons to skip, each with its count, then "N passed, N failed, N skipped".
std::string summaryText(const RunReport& report);
// One object; docs/conformance.md has its fields.
std::string jsonText(const RunReport& report);
// One testsuite per variant, one testcase per case.
std::string junitText(const RunReport& report);

}  // namespace halyard::conformance
