#include "conformance/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace halyard::conformance {
namespace {

using Json = nlohmann::ordered_json;

std::string locationText(const CaseRecord& record) {
  return record.line == 0 ? record.file : fmt::format("{}:{}", record.file, record.line);
}

std::string junitCase(const CaseRecord& record) {
  std::string text = fmt::format(
      "    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" line=\"{}\" time=\"{:.6f}\"",
      xmlText(record.file), xmlText(record.name.empty() ? "(unreadable)" : record.name),
      xmlText(record.file), record.line, record.seconds);
  switch (record.result.outcome) {
    case Outcome::PASSED:
      return text + "/>\n";
    case Outcome::SKIPPED:
      return text + fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
                                xmlText(record.result.reason));
    case Outcome::FAILED:
      break;
  }
  return text + fmt::format(">\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                            xmlText(record.result.reason), xmlText("repeat: " + record.repeat));
}

std::string junitSuite(const RunReport& report, std::string_view variant) {
  std::string cases;
  size_t counts[3] = {};
  double seconds = 0;
  for (const CaseRecord& record : report.cases) {
    if (record.variant != variant) continue;
    cases += junitCase(record);
    seconds += record.seconds;
    ++counts[static_cast<size_t>(record.result.outcome)];
  }
  if (cases.empty()) return {};
  return fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" "
      "time=\"{:.3f}\">\n    <properties>\n      <property name=\"device\" value=\"{}\"/>\n      "
      "<property name=\"via\" value=\"{}\"/>\n    </properties>\n{}  </testsuite>\n",
      xmlText(variant.empty() ? "(unreadable)" : variant), counts[0] + counts[1] + counts[2],
      counts[1], counts[2], seconds, xmlText(report.device), xmlText(report.via), cases);
}

}  // namespace

std::string xmlText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\n':
        escaped += "&#10;";
        break;
      default:
        escaped += c >= ' ' && c < 0x7f ? c : '?';
    }
  }
  return escaped;
}

size_t RunReport::count(Outcome outcome) const {
  return static_cast<size_t>(std::count_if(
      cases.begin(), cases.end(),
      [outcome](const CaseRecord& record) { return record.result.outcome == outcome; }));
}

std::map<std::string, size_t> RunReport::skipReasons() const {
  std::map<std::string, size_t> reasons;
  for (const CaseRecord& record : cases) {
    if (record.result.outcome == Outcome::SKIPPED) ++reasons[record.result.reason];
  }
  return reasons;
}

std::string failureText(const RunReport& report, const CaseRecord& record) {
  if (record.name.empty()) {
    return fmt::format("FAILED {}\n  {}\n  repeat: {}\n", locationText(record),
                       record.result.reason, record.repeat);
  }
  return fmt::format("FAILED {} {}\n  variant {}, via {}, device {}\n  {}\n  repeat: {}\n",
                     locationText(record), record.name, record.variant, report.via, report.device,
                     record.result.reason, record.repeat);
}

std::string summaryText(const RunReport& report) {
  std::string text;
  const std::map<std::string, size_t> reasons = report.skipReasons();
  if (!reasons.empty()) text += "skipped:\n";
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto& [reason, count] : reasons) sorted.emplace_back(count, reason);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [count, reason] : sorted) text += fmt::format("{:6}  {}\n", count, reason);
  return text + fmt::format("{} passed, {} failed, {} skipped\n", report.count(Outcome::PASSED),
                            report.count(Outcome::FAILED), report.count(Outcome::SKIPPED));
}

std::string jsonText(const RunReport& report) {
  Json cases = Json::array();
  for (const CaseRecord& record : report.cases) {
    Json one = {{"file", record.file},
                {"line", record.line},
                {"case", record.name},
                {"variant", record.variant},
                {"result", outcomeName(record.result.outcome)},
                {"seconds", record.seconds}};
    if (record.result.outcome != Outcome::PASSED) {
      one["reason"] = record.result.reason;
      one["repeat"] = record.repeat;
    }
    cases.push_back(std::move(one));
  }
  Json reasons = Json::object();
  for (const auto& [reason, count] : report.skipReasons()) reasons[reason] = count;
  const Json document = {{"device", report.device},
                         {"via", report.via},
                         {"variants", report.variants},
                         {"seconds", report.seconds},
                         {"passed", report.count(Outcome::PASSED)},
                         {"failed", report.count(Outcome::FAILED)},
                         {"skipped", report.count(Outcome::SKIPPED)},
                         {"skip_reasons", std::move(reasons)},
                         {"cases", std::move(cases)}};
  // Names may contain any bytes.
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string junitText(const RunReport& report) {
  std::string suites = junitSuite(report, "");
  for (const std::string& variant : report.variants) suites += junitSuite(report, variant);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"halyard conformance\" "
      "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" "
      "time=\"{:.3f}\">\n{}</testsuites>\n",
      report.cases.size(), report.count(Outcome::FAILED), report.count(Outcome::SKIPPED),
      report.seconds, suites);
}

std::string shellWord(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace halyard::conformance
