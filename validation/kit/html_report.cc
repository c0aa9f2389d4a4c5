// The report as one page: a verdict, the areas, and every check. Each bad check has a command that
// repeats it.
#include "report/html.h"

#include <algorithm>
#include <map>

#include "validation/kit/figures.h"
#include "validation/kit/report.h"

namespace halyard::validation {
namespace {

using report::HtmlPage;

// Replaces other characters: the encoding of drivers' texts is unknown.
std::string ascii(std::string_view text) {
  std::string result;
  for (const char c : text) result += (c >= ' ' && c < 0x7f) || c == '\n' ? c : '?';
  return result;
}

std::string html(std::string_view text) { return report::text(ascii(text)); }

std::string badgeOf(Outcome outcome) {
  using report::Verdict;
  const Verdict verdict = isBad(outcome)                         ? Verdict::BAD
                          : outcome == Outcome::EXPECTED_FAILURE ? Verdict::WARNING
                          : outcome == Outcome::SKIPPED          ? Verdict::NEUTRAL
                                                                 : Verdict::GOOD;
  return report::badge(verdict, outcomeName(outcome));
}

report::Column number(std::string name) { return {std::move(name), true}; }

void addFacts(HtmlPage& page, const Report& report) {
  page.raw("<p>" +
           report::badge(report.passed() ? report::Verdict::GOOD : report::Verdict::BAD,
                         report.passed() ? "the run passed" : "the run failed") +
           "</p>\n");
  page.figures({{"passed", std::to_string(report.count(Outcome::PASSED)), ""},
                {"failed", std::to_string(report.bad()), ""},
                {"expected failures", std::to_string(report.count(Outcome::EXPECTED_FAILURE)), ""},
                {"skipped", std::to_string(report.count(Outcome::SKIPPED)), ""}});
  if (report.stoppedEarly) page.paragraph("The run stopped early: not all checks were run.");
}

void addAreas(HtmlPage& page, const Report& report) {
  report::Table table;
  table.columns = {{"area"},        number("passed"),   number("failed"),  number("hang"),
                   number("crash"), number("expected"), number("skipped"), number("seconds")};
  for (const AreaCounts& area : report.areas()) {
    const auto count = [&](Outcome outcome) { return std::to_string(area.of(outcome)); };
    table.rows.push_back(
        {report::link("#area-" + area.area, area.area), count(Outcome::PASSED),
         std::to_string(area.of(Outcome::FAILED) + area.of(Outcome::UNEXPECTED_PASS)),
         count(Outcome::HANG), count(Outcome::CRASH), count(Outcome::EXPECTED_FAILURE),
         count(Outcome::SKIPPED), fmt::format("{:.1f}", area.seconds)});
  }
  page.table(table);
}

void addFailures(HtmlPage& page, const Report& report) {
  if (report.bad() == 0) return;
  page.heading("What is wrong, and how to repeat it");
  for (const CheckRecord& record : report.records) {
    if (!isBad(record.outcome)) continue;
    page.subheading(record.id());
    page.raw("<p>" + badgeOf(record.outcome) + " Must hold: " + html(record.what));
    if (!record.requirements.empty()) {
      page.raw(html(fmt::format(" ({})", fmt::join(record.requirements, ", "))));
    }
    page.raw("</p>\n");
    page.preformatted(ascii(record.reason));
    if (!record.log.empty()) {
      page.beginDetails("standard error");
      page.preformatted(ascii(record.log));
      page.endDetails();
    }
    page.preformatted(ascii(record.repeat));
  }
}

void addFigures(HtmlPage& page, const Report& report) {
  for (const FigureTable& from : figureTables(report.records)) {
    page.heading(from.title);
    report::Table table;
    table.columns = {{"check"}};
    for (const std::string& column : from.columns) table.columns.push_back(number(column));
    table.columns.push_back({"outcome"});
    for (const FigureTable::Row& row : from.rows) {
      std::vector<std::string> cells = {html(row.check)};
      for (const std::string& cell : row.cells) cells.push_back(html(cell));
      cells.push_back(badgeOf(row.outcome));
      table.rows.push_back(std::move(cells));
    }
    page.table(table);
  }
}

void addSkips(HtmlPage& page, const Report& report) {
  std::map<std::string, size_t> reasons;
  for (const CheckRecord& record : report.records) {
    if (record.outcome == Outcome::SKIPPED) ++reasons[record.reason];
  }
  if (reasons.empty()) return;
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto& [reason, count] : reasons) sorted.emplace_back(count, reason);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  page.heading("Skipped, and why");
  report::Table table{{number("checks"), {"reason"}}, {}};
  for (const auto& [count, reason] : sorted) {
    table.rows.push_back({std::to_string(count), html(reason)});
  }
  page.table(table);
}

void addChecks(HtmlPage& page, const Report& report) {
  page.heading("Every check");
  for (const AreaCounts& area : report.areas()) {
    page.subheading("area " + area.area);
    page.beginDetails(fmt::format("{} checks, {} bad", area.all(), area.bad()));
    report::Table table;
    table.columns = {{"check"}, {"outcome"}, {"must hold"}, {"requirements"}, number("seconds")};
    for (const CheckRecord& record : report.records) {
      if (record.area != area.area) continue;
      std::string what = html(record.what);
      if (!record.reason.empty()) {
        what += fmt::format("<div class=\"soft\">{}</div>", html(record.reason));
      }
      table.rows.push_back({html(record.name), badgeOf(record.outcome), what,
                            html(fmt::format("{}", fmt::join(record.requirements, " "))),
                            fmt::format("{:.3f}", record.seconds)});
    }
    page.table(table);
    page.endDetails();
  }
}

}  // namespace

std::string htmlText(const Report& report) {
  HtmlPage page(
      ascii(report.device) + ": validation",
      ascii(fmt::format(
          "version {}, HAL {}, {} run of {}, {:.0f} s; {}{}", report.version, report.hal,
          report.full ? "full" : "quick", report.began, report.seconds, report.target,
          report.expectations.empty() ? "" : ", expectations of " + report.expectations)));
  addFacts(page, report);
  addAreas(page, report);
  if (!report.problems.empty()) {
    page.heading("Problems of the run");
    for (const std::string& problem : report.problems) page.paragraph(ascii(problem));
  }
  addFailures(page, report);
  addFigures(page, report);
  addSkips(page, report);
  addChecks(page, report);
  return page.finish();
}

}  // namespace halyard::validation
