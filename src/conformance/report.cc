#include "conformance/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/junit.h"

namespace halyard::conformance {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string locationText(const CaseRecord& record) {
  return record.line == 0 ? record.file : fmt::format("{}:{}", record.file, record.line);
}

report::JUnitCase junitCase(const CaseRecord& record) {
  report::JUnitCase made;
  made.className = record.file;
  made.name = record.name.empty() ? "(unreadable)" : record.name;
  made.attributes = {{"file", record.file}, {"line", std::to_string(record.line)}};
  made.seconds = record.seconds;
  if (record.result.outcome == Outcome::PASSED) return made;
  const bool isSkipped = record.result.outcome == Outcome::SKIPPED;
  made.outcome =
      isSkipped ? report::JUnitCase::Outcome::SKIPPED : report::JUnitCase::Outcome::FAILED;
  made.message = record.result.reason;
  if (!isSkipped) made.details = "repeat: " + record.repeat;
  return made;
}

}  // namespace

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
  OrderedJson cases = OrderedJson::array();
  for (const CaseRecord& record : report.cases) {
    OrderedJson one = {{"file", record.file},
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
  OrderedJson reasons = OrderedJson::object();
  for (const auto& [reason, count] : report.skipReasons()) reasons[reason] = count;
  const OrderedJson document = {{"device", report.device},
                                {"via", report.via},
                                {"variants", report.variants},
                                {"seconds", report.seconds},
                                {"passed", report.count(Outcome::PASSED)},
                                {"failed", report.count(Outcome::FAILED)},
                                {"skipped", report.count(Outcome::SKIPPED)},
                                {"skip_reasons", std::move(reasons)},
                                {"cases", std::move(cases)}};
  // Names may contain any bytes.
  return document.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string junitText(const RunReport& report) {
  std::vector<std::string> variants = {""};
  variants.insert(variants.end(), report.variants.begin(), report.variants.end());
  std::vector<report::JUnitSuite> suites;
  for (const std::string& variant : variants) {
    report::JUnitSuite suite;
    suite.name = variant.empty() ? "(unreadable)" : variant;
    suite.properties = {{"device", report.device}, {"via", report.via}};
    for (const CaseRecord& record : report.cases) {
      if (record.variant != variant) continue;
      suite.cases.push_back(junitCase(record));
      suite.seconds += record.seconds;
    }
    if (!suite.cases.empty()) suites.push_back(std::move(suite));
  }
  return report::junitDocument("halyard conformance", suites, 0, report.seconds);
}

}  // namespace halyard::conformance
