// Check and Suite: the parts of the validation kit.
// Thread safety: plain data; a check runs on one thread.
// Ownership: a check owns the captures of its function.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::validation {

class Target;
struct TargetSpec;

enum class Outcome : uint8_t {
  PASSED,
  FAILED,
  SKIPPED,           // the check does not apply to the driver, which says so
  HANG,              // no result in time; the process of the check was killed
  CRASH,             // the process of the check or the driver's ended
  EXPECTED_FAILURE,  // failed, and the expectations give the reason
  UNEXPECTED_PASS,   // passed, although the expectations list it
};
std::string_view outcomeName(Outcome outcome);
// True for FAILED, HANG, CRASH and UNEXPECTED_PASS, which make a run fail.
bool isBad(Outcome outcome);

// A measurement of a check, for people and for comparisons: "median_ms", 0.17. The unit is the end
// of the name.
struct Figure {
  std::string name;
  double value = 0;
};

// The result of a check's function. The runner finds CRASH and HANG of the check's own process and
// of its driver.
struct CheckResult {
  CheckResult() = default;
  // Passed, or failed with the status's text. NOLINTNEXTLINE(google-explicit-constructor)
  CheckResult(const Status& status)
      : outcome(status.ok() ? Outcome::PASSED : Outcome::FAILED),
        reason(status.ok() ? "" : status.toString()) {}
  static CheckResult skipped(std::string why) { return {Outcome::SKIPPED, std::move(why)}; }
  // For checks that watch processes of their own.
  static CheckResult hung(std::string why) { return {Outcome::HANG, std::move(why)}; }
  static CheckResult crashed(std::string why) { return {Outcome::CRASH, std::move(why)}; }
  static CheckResult passed(std::string note = "") { return {Outcome::PASSED, std::move(note)}; }

  Outcome outcome = Outcome::PASSED;
  std::string reason;  // why it failed or was skipped; when it passed, a note or empty
  std::vector<Figure> figures;

 private:
  CheckResult(Outcome what, std::string why) : outcome(what), reason(std::move(why)) {}
};

struct Check {
  std::string name;  // unique in its area, without white space
  std::string what;  // a sentence that is true when the check passes
  // Numbers of docs/driver_requirements.md, such as "ND-021".
  std::vector<std::string> requirements = {};
  // Runs in a process of the kit, which it shares with other checks.
  std::function<CheckResult(Target&)> run = {};
  std::chrono::milliseconds limit{60'000};  // after this time it is a HANG
  double expectedSeconds = 0.02;            // to estimate the time left
};

// The coverage of a run.
struct Plan {
  bool full = false;                   // else quick: some minutes on two processors
  std::vector<std::string> vectors;    // files and folders of conformance vectors beside Halyard's
  std::vector<std::string> models;     // .tflite files and folders of them, instead of Halyard's
  std::string data;                    // a folder of pictures for the models, and a file with the
  std::string labels;                  // names of their classes; may be empty
  std::filesystem::path prefix;        // where Halyard is installed
  uint64_t seed = 1;                   // of the random values
  std::chrono::milliseconds limit{0};  // of each check; 0: its own
};

// The checks of one area.
struct Suite {
  std::string_view area;
  std::string_view what;
  // Lists the checks for a target. It starts no driver, and leaves no thread behind. After an error
  // the whole run does not start.
  Result<std::vector<Check>> (*list)(const TargetSpec& target, const Plan& plan);
};

}  // namespace halyard::validation
