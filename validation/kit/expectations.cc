#include "validation/kit/expectations.h"

#include <fnmatch.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace halyard::validation {
namespace {

using Json = nlohmann::json;
using Kind = Expectation::Kind;

constexpr std::streamoff kMaxBytes = 1 << 20;

Result<std::string> textField(const Json& entry, const char* field) {
  const auto found = entry.find(field);
  if (found == entry.end() || !found->is_string() || found->get<std::string>().empty()) {
    return badData("{}: expected a text that is not empty", field);
  }
  return found->get<std::string>();
}

Result<Expectation> parseEntry(const Json& entry, Kind kind) {
  if (!entry.is_object()) return badData("is no object");
  for (const auto& [key, value] : entry.items()) {
    if (key != "checks" && key != "reason") return badData("unknown field '{}'", key);
  }
  Expectation expectation;
  expectation.kind = kind;
  HALYARD_ASSIGN_OR_RETURN(expectation.checks, textField(entry, "checks"));
  HALYARD_ASSIGN_OR_RETURN(expectation.reason, textField(entry, "reason"));
  return expectation;
}

std::string areaOf(const std::string& checks) { return checks.substr(0, checks.find('/')); }

}  // namespace

bool matchesGlob(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), FNM_NOESCAPE) == 0;
}

std::filesystem::path expectationsBeside(const std::filesystem::path& manifest) {
  std::filesystem::path path = manifest;
  return path.replace_extension(".expectations.json");
}

Result<Expectations> Expectations::parse(std::string_view text) {
  const Json file = Json::parse(text, nullptr, /*allow_exceptions=*/false,
                                /*ignore_comments=*/true);
  if (!file.is_object()) return badData("it is no JSON object");
  std::vector<Expectation> entries;
  for (const auto& [key, list] : file.items()) {
    if (key != "unsupported" && key != "expected_failure") {
      return badData("unknown field '{}', expected unsupported or expected_failure", key);
    }
    if (!list.is_array()) return badData("{}: is no list", key);
    const Kind kind = key == "unsupported" ? Kind::UNSUPPORTED : Kind::EXPECTED_FAILURE;
    for (size_t i = 0; i < list.size(); ++i) {
      HALYARD_ASSIGN_OR_RETURN(Expectation entry, parseEntry(list[i], kind), "{}[{}]", key, i);
      entries.push_back(std::move(entry));
    }
  }
  return Expectations(std::move(entries));
}

Result<Expectations> Expectations::load(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return errnoStatus(ResultCode::BAD_DATA, errno, fmt::format("{}", path.string()));
  std::stringstream text;
  text << file.rdbuf();
  if (text.tellp() > kMaxBytes) return badData("{}: more than 1 MiB", path.string());
  HALYARD_ASSIGN_OR_RETURN(Expectations expectations, parse(text.str()), "{}", path.string());
  return expectations;
}

CheckResult Expectations::apply(const std::string& id, Outcome outcome,
                                const std::string& reason) const {
  CheckResult result;
  result.outcome = outcome;
  result.reason = reason;
  if (outcome == Outcome::SKIPPED) return result;
  for (const Expectation& entry : entries_) {
    if (!matchesGlob(entry.checks, id)) continue;
    if (outcome == Outcome::PASSED) {
      result.outcome = Outcome::UNEXPECTED_PASS;
      result.reason = fmt::format(
          "it passes, and is {}: {}",
          entry.kind == Kind::UNSUPPORTED ? "said to be unsupported" : "an expected failure",
          entry.reason);
    } else if (entry.kind == Kind::UNSUPPORTED) {
      result.outcome = Outcome::SKIPPED;
      result.reason = "unsupported: " + entry.reason;
    } else {
      result.outcome = Outcome::EXPECTED_FAILURE;
      result.reason = fmt::format("{} ({}: {})", entry.reason, outcomeName(outcome), reason);
    }
    break;
  }
  return result;
}

std::vector<std::string> Expectations::unused(std::span<const std::string> ids,
                                              std::span<const std::string> areas) const {
  std::vector<std::string> texts;
  for (const Expectation& entry : entries_) {
    const auto isMeant = [&](const std::string& id) { return matchesGlob(entry.checks, id); };
    if (std::any_of(ids.begin(), ids.end(), isMeant)) continue;
    // The checks of an area that does not run are unknown.
    const std::string area = areaOf(entry.checks);
    const bool isPlain = area.find_first_of("*?[") == std::string::npos;
    if (isPlain && std::find(areas.begin(), areas.end(), area) == areas.end()) continue;
    texts.push_back(fmt::format("the expectations have '{}' ({}), which is no check", entry.checks,
                                entry.reason));
  }
  return texts;
}

}  // namespace halyard::validation
