// The result of a validation: the record of each check, and the forms that people and programs
// read.
// Thread safety: plain data, pure functions.
// Ownership: results own their data.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "validation/kit/check.h"

namespace halyard::validation {

struct CheckRecord {
  std::string area;
  std::string name;
  std::string what;
  std::vector<std::string> requirements;
  Outcome outcome = Outcome::PASSED;
  std::string reason;  // as in CheckResult
  std::string log;     // of a bad outcome: the end of the check's and the driver's standard error
  std::string repeat;  // of a bad outcome: the command that repeats only this check
  std::vector<Figure> figures;
  double seconds = 0;

  std::string id() const { return area + "/" + name; }
};

struct AreaCounts {
  std::string area;
  std::map<Outcome, size_t> counts;
  double seconds = 0;

  size_t of(Outcome outcome) const;
  size_t bad() const;
  size_t all() const;
};

struct Report {
  std::string device;
  std::string version;       // the driver's version string
  std::string hal;           // "1.3"
  std::string target;        // as on the command line
  std::string expectations;  // the file; empty: none
  bool full = false;
  bool stoppedEarly = false;  // not all checks were run
  std::string began;          // date and time, for people
  double seconds = 0;
  std::vector<CheckRecord> records;
  std::vector<std::string> problems;  // of the run itself; each makes it fail

  std::vector<AreaCounts> areas() const;  // in the order of the records
  size_t count(Outcome outcome) const;
  size_t bad() const;
  bool passed() const { return bad() == 0 && problems.empty() && !records.empty(); }
};

// Describes one bad check in several lines.
std::string failureText(const CheckRecord& record);
// The measurements, a table of the areas, the reasons to skip, and a last line with the counts.
std::string summaryText(const Report& report);
std::string jsonText(const Report& report);
// A testsuite per area, a testcase per check.
std::string junitText(const Report& report);
// One page that loads no other file.
std::string htmlText(const Report& report);

}  // namespace halyard::validation
