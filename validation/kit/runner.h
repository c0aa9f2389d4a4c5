// The runner: runs checks in processes of their own, and collects their results.
// Thread safety: one thread, in a process that has no other.
// Ownership: values.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "validation/kit/check.h"
#include "validation/kit/expectations.h"
#include "validation/kit/report.h"
#include "validation/kit/target.h"

namespace halyard::validation {

struct ListedCheck {
  std::string area;
  Check check;

  std::string id() const { return area + "/" + check.name; }
};

struct Progress {
  size_t done = 0;
  size_t all = 0;
  size_t bad = 0;
  double secondsLeft = -1;  // negative: not known yet
  std::string current;      // the check begun last
};

struct RunSettings {
  unsigned processes = 1;
  size_t maxBad = 0;  // stops after this number of bad checks; 0: never
  // Each function is called on the thread that runs.
  std::function<std::string(const CheckRecord&)> repeat;
  std::function<void(const CheckRecord&)> done;
  std::function<void(const Progress&)> progress;
};

// The checks of `suites`, grouped by area. BAD_DATA for two checks with one name in an area.
Result<std::vector<ListedCheck>> listChecks(std::span<const Suite> suites, const TargetSpec& target,
                                            const Plan& plan);

// Runs the checks in order, and applies the expectations. Fills all of a report except target,
// expectations, full and problems. Returns an error when the first start of the driver fails:
// BAD_DATA if the arguments are wrong.
Result<Report> runChecks(const TargetSpec& target, std::span<const ListedCheck> checks,
                         const Expectations& expectations, const RunSettings& settings);

// "[#####     ]  120/240  3 bad  about 2 min left  hal/..." in at most `width` columns.
std::string progressLine(const Progress& progress, size_t width);

}  // namespace halyard::validation
