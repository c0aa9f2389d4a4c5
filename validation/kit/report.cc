#include "validation/kit/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/junit.h"
#include "validation/kit/figures.h"

namespace halyard::validation {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr Outcome kOutcomes[] = {
    Outcome::PASSED,          Outcome::FAILED,           Outcome::HANG,   Outcome::CRASH,
    Outcome::UNEXPECTED_PASS, Outcome::EXPECTED_FAILURE, Outcome::SKIPPED};
constexpr size_t kMaxSkipReasons = 12;

std::string indented(const std::string& text, std::string_view indent) {
  std::string result;
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    result += fmt::format("{}{}\n", indent, text.substr(from, end - from));
    from = end + 1;
  }
  return result;
}

report::JUnitCase junitCase(const CheckRecord& record) {
  report::JUnitCase made;
  made.className = record.area;
  made.name = record.name;
  made.seconds = record.seconds;
  for (const Figure& figure : record.figures) {
    made.properties.emplace_back(figure.name, fmt::format("{}", figure.value));
  }
  if (record.outcome == Outcome::PASSED) return made;
  if (!isBad(record.outcome)) {
    made.outcome = report::JUnitCase::Outcome::SKIPPED;
    made.message = fmt::format("{}: {}", outcomeName(record.outcome), record.reason);
    return made;
  }
  made.outcome = report::JUnitCase::Outcome::FAILED;
  made.type = outcomeName(record.outcome);
  made.message = record.reason;
  made.details = "repeat: " + record.repeat;
  made.log = record.log;
  return made;
}

// One line for each check, with its figures.
std::string figureLines(const FigureTable& table) {
  std::string text = fmt::format("\n{}\n", table.title);
  for (const FigureTable::Row& row : table.rows) {
    std::string cells;
    for (size_t i = 0; i < row.cells.size(); ++i) {
      if (row.cells[i].empty()) continue;
      cells += fmt::format("{}{} {}", cells.empty() ? "" : ", ", table.columns[i], row.cells[i]);
    }
    text += fmt::format("  {}: {}\n", row.check, cells);
  }
  return text;
}

}  // namespace

size_t AreaCounts::of(Outcome outcome) const {
  const auto found = counts.find(outcome);
  return found == counts.end() ? 0 : found->second;
}

size_t AreaCounts::bad() const {
  size_t sum = 0;
  for (const auto& [outcome, count] : counts) sum += isBad(outcome) ? count : 0;
  return sum;
}

size_t AreaCounts::all() const {
  size_t sum = 0;
  for (const auto& [outcome, count] : counts) sum += count;
  return sum;
}

std::vector<AreaCounts> Report::areas() const {
  std::vector<AreaCounts> result;
  for (const CheckRecord& record : records) {
    auto found = std::find_if(result.begin(), result.end(),
                              [&](const AreaCounts& one) { return one.area == record.area; });
    if (found == result.end()) {
      result.push_back({record.area, {}, 0});
      found = result.end() - 1;
    }
    ++found->counts[record.outcome];
    found->seconds += record.seconds;
  }
  return result;
}

size_t Report::count(Outcome outcome) const {
  return static_cast<size_t>(
      std::count_if(records.begin(), records.end(),
                    [&](const CheckRecord& record) { return record.outcome == outcome; }));
}

size_t Report::bad() const {
  return static_cast<size_t>(
      std::count_if(records.begin(), records.end(),
                    [](const CheckRecord& record) { return isBad(record.outcome); }));
}

std::string failureText(const CheckRecord& record) {
  std::string name(outcomeName(record.outcome));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  std::string text = fmt::format("{} {}\n", name, record.id());
  text += fmt::format("  must hold: {}{}\n", record.what,
                      record.requirements.empty()
                          ? ""
                          : fmt::format(" ({})", fmt::join(record.requirements, ", ")));
  text += indented(record.reason, "  ");
  if (!record.log.empty()) text += "  standard error:\n" + indented(record.log, "    | ");
  return text + fmt::format("  repeat: {}\n", record.repeat);
}

std::string summaryText(const Report& report) {
  std::map<std::string, size_t> reasons;
  for (const CheckRecord& record : report.records) {
    if (record.outcome == Outcome::SKIPPED) ++reasons[record.reason];
  }
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto& [reason, count] : reasons) sorted.emplace_back(count, reason);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  if (!sorted.empty()) text += "skipped:\n";
  for (size_t i = 0; i < std::min(sorted.size(), kMaxSkipReasons); ++i) {
    text += fmt::format("{:6}  {}\n", sorted[i].first, sorted[i].second);
  }
  if (sorted.size() > kMaxSkipReasons) {
    text += fmt::format("        and {} more reasons\n", sorted.size() - kMaxSkipReasons);
  }
  for (const CheckRecord& record : report.records) {
    if (record.outcome != Outcome::EXPECTED_FAILURE) continue;
    text += fmt::format("expected failure: {}: {}\n", record.id(), record.reason);
  }
  for (const FigureTable& table : figureTables(report.records)) text += figureLines(table);
  text += fmt::format("\n{:<16}{:>8}{:>8}{:>8}{:>8}{:>12}{:>10}{:>9}\n", "area", "passed", "failed",
                      "hang", "crash", "unexpected", "skipped", "seconds");
  for (const AreaCounts& area : report.areas()) {
    text += fmt::format("{:<16}{:>8}{:>8}{:>8}{:>8}{:>12}{:>10}{:>9.1f}\n", area.area,
                        area.of(Outcome::PASSED), area.of(Outcome::FAILED), area.of(Outcome::HANG),
                        area.of(Outcome::CRASH), area.of(Outcome::UNEXPECTED_PASS),
                        area.of(Outcome::SKIPPED), area.seconds);
  }
  for (const std::string& problem : report.problems) text += problem + "\n";
  if (report.stoppedEarly) text += "stopped early: not all checks were run\n";
  return text + fmt::format("{} passed, {} failed, {} skipped, {} expected failures, in {:.0f} s\n",
                            report.count(Outcome::PASSED), report.bad() + report.problems.size(),
                            report.count(Outcome::SKIPPED), report.count(Outcome::EXPECTED_FAILURE),
                            report.seconds);
}

std::string jsonText(const Report& report) {
  OrderedJson checks = OrderedJson::array();
  for (const CheckRecord& record : report.records) {
    OrderedJson one = {{"area", record.area},
                       {"check", record.name},
                       {"what", record.what},
                       {"requirements", record.requirements},
                       {"outcome", outcomeName(record.outcome)},
                       {"seconds", record.seconds}};
    if (!record.reason.empty()) one["reason"] = record.reason;
    for (const Figure& figure : record.figures) one["figures"][figure.name] = figure.value;
    if (!record.log.empty()) one["log"] = record.log;
    if (!record.repeat.empty()) one["repeat"] = record.repeat;
    checks.push_back(std::move(one));
  }
  OrderedJson areas = OrderedJson::object();
  for (const AreaCounts& area : report.areas()) {
    OrderedJson counts = OrderedJson::object();
    for (const Outcome outcome : kOutcomes) {
      counts[std::string(outcomeName(outcome))] = area.of(outcome);
    }
    counts["seconds"] = area.seconds;
    areas[area.area] = std::move(counts);
  }
  const OrderedJson document = {{"device", report.device},
                                {"version", report.version},
                                {"hal_version", report.hal},
                                {"target", report.target},
                                {"expectations", report.expectations},
                                {"full", report.full},
                                {"stopped_early", report.stoppedEarly},
                                {"began", report.began},
                                {"seconds", report.seconds},
                                {"passed", report.passed()},
                                {"problems", report.problems},
                                {"areas", std::move(areas)},
                                {"checks", std::move(checks)}};
  return document.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string junitText(const Report& report) {
  std::vector<report::JUnitSuite> suites;
  for (const AreaCounts& area : report.areas()) {
    report::JUnitSuite suite;
    suite.name = area.area;
    suite.seconds = area.seconds;
    for (const CheckRecord& record : report.records) {
      if (record.area == area.area) suite.cases.push_back(junitCase(record));
    }
    suites.push_back(std::move(suite));
  }
  return report::junitDocument("halyard validate " + report.device, suites, report.problems.size(),
                               report.seconds);
}

}  // namespace halyard::validation
