// Expectations: an author's list of the driver's checks that do not pass, with reasons.
// Thread safety: plain data once loaded.
// Ownership: owns its entries.
//
// A JSON file beside the manifest, NAME.expectations.json for NAME.json:
//   {"unsupported":      [{"checks": "hal/cache/*", "reason": "the chip has no storage"}],
//    "expected_failure": [{"checks": "conformance/tanh/*", "reason": "issue 12: coarse table"}]}
// `checks` is AREA/NAME with * and ?. An unsupported check counts as skipped. An expected failure
// must be fixed later. In either case a check that passes is a failure of the run. So is an entry
// that matches no check.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "validation/kit/check.h"

namespace halyard::validation {

struct Expectation {
  enum class Kind : uint8_t { UNSUPPORTED, EXPECTED_FAILURE };
  Kind kind = Kind::UNSUPPORTED;
  std::string checks;
  std::string reason;
};

class Expectations {
 public:
  Expectations() = default;
  explicit Expectations(std::vector<Expectation> entries) : entries_(std::move(entries)) {}
  // BAD_DATA with the file and the field, also for an empty reason.
  static Result<Expectations> load(const std::filesystem::path& path);
  // The same from text.
  static Result<Expectations> parse(std::string_view text);

  bool empty() const { return entries_.empty(); }
  // The result that counts, after a check's own result. `id`: AREA/NAME.
  CheckResult apply(const std::string& id, Outcome outcome, const std::string& reason) const;
  // The entries that match no check, as texts. Entries of areas that are not in `areas` are left
  // out.
  std::vector<std::string> unused(std::span<const std::string> ids,
                                  std::span<const std::string> areas) const;

 private:
  std::vector<Expectation> entries_;
};

// The path of a manifest's expectations, whether or not the file exists.
std::filesystem::path expectationsBeside(const std::filesystem::path& manifest);

// Whether `text` matches the pattern, as in a shell, except that * also matches '/'.
bool matchesGlob(const std::string& pattern, const std::string& text);

}  // namespace halyard::validation
