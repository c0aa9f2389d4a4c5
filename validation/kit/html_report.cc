// The report as one page: a verdict, the areas, what is bad with how to repeat it, and every check.
#include <algorithm>

#include "validation/kit/figures.h"
#include "validation/kit/report.h"

namespace halyard::validation {
namespace {

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root{color-scheme:light dark;--bg:#fff;--fg:#1c2024;--dim:#60666c;--line:#d9dde1;--card:#f6f7f9;
--passed:#2f9e5b;--failed:#d43a3a;--skipped:#b3b9c0;--expected:#d9992b}
@media(prefers-color-scheme:dark){:root{--bg:#15181b;--fg:#e6e8ea;--dim:#99a1a9;--line:#31373d;
--card:#1d2125;--passed:#46b972;--failed:#ef6060;--skipped:#59616a;--expected:#e0ab4c}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:24px;margin:0 0 4px}h2{font-size:18px;margin:34px 0 10px}
.dim{color:var(--dim)}
.verdict{padding:2px 10px;border-radius:8px;color:#fff;font-size:16px;font-weight:600;vertical-align:3px}
.good{background:var(--passed)}.bad{background:var(--failed)}
table{border-collapse:collapse;width:100%}
th{font-weight:600;text-align:left;color:var(--dim);font-size:13px}
th,td{padding:6px 10px 6px 0;border-bottom:1px solid var(--line);vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.bar{display:flex;height:12px;border-radius:3px;overflow:hidden;min-width:180px;margin-top:5px}
.bar span{min-width:2px}
.card{background:var(--card);border:1px solid var(--line);border-left:4px solid var(--failed);
border-radius:6px;padding:10px 14px;margin:10px 0}
.card h3{font-size:15px;margin:0 0 4px;overflow-wrap:anywhere}
pre{margin:6px 0;padding:8px 10px;background:var(--bg);border:1px solid var(--line);border-radius:4px;
overflow:auto;font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
details>summary{cursor:pointer;padding:6px 0}
.tag{font-size:12px;font-weight:600;white-space:nowrap}
.t-passed{color:var(--passed)}.t-bad{color:var(--failed)}.t-skipped{color:var(--dim)}
.t-expected{color:var(--expected)}
.narrow th:first-child{width:80px}
.figures th,.figures td{font-size:13px}
.figures td:first-child{overflow-wrap:anywhere}
.checks td{font-size:13px;overflow-wrap:anywhere}
</style>
)";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        // Texts of drivers: nothing vouches for their encoding.
        result += (c >= ' ' && c < 0x7f) || c == '\n' ? c : '?';
    }
  }
  return result;
}

std::string_view classOf(Outcome outcome) {
  if (isBad(outcome)) return "t-bad";
  if (outcome == Outcome::SKIPPED) return "t-skipped";
  return outcome == Outcome::EXPECTED_FAILURE ? "t-expected" : "t-passed";
}

std::string bar(const AreaCounts& area) {
  std::string spans;
  const auto add = [&](size_t count, std::string_view colour, std::string_view word) {
    if (count == 0) return;
    spans += fmt::format("<span style=\"flex:{};background:var(--{})\" title=\"{} {}\"></span>",
                         count, colour, count, word);
  };
  add(area.of(Outcome::PASSED), "passed", "passed");
  add(area.bad(), "failed", "failed");
  add(area.of(Outcome::EXPECTED_FAILURE), "expected", "expected failures");
  add(area.of(Outcome::SKIPPED), "skipped", "skipped");
  return fmt::format("<div class=\"bar\">{}</div>", spans);
}

std::string areaTable(const Report& report) {
  std::string rows;
  for (const AreaCounts& area : report.areas()) {
    rows += fmt::format(
        "<tr><td><a href=\"#area-{0}\">{0}</a></td><td>{1}</td><td class=\"n\">{2}</td>"
        "<td class=\"n\">{3}</td><td class=\"n\">{4}</td><td class=\"n\">{5}</td>"
        "<td class=\"n\">{6}</td><td class=\"n\">{7}</td><td class=\"n\">{8:.1f}</td></tr>\n",
        escaped(area.area), bar(area), area.of(Outcome::PASSED),
        area.of(Outcome::FAILED) + area.of(Outcome::UNEXPECTED_PASS), area.of(Outcome::HANG),
        area.of(Outcome::CRASH), area.of(Outcome::EXPECTED_FAILURE), area.of(Outcome::SKIPPED),
        area.seconds);
  }
  return "<table><tr><th>area</th><th></th><th class=\"n\">passed</th><th class=\"n\">failed</th>"
         "<th class=\"n\">hang</th><th class=\"n\">crash</th><th class=\"n\">expected</th>"
         "<th class=\"n\">skipped</th><th class=\"n\">seconds</th></tr>\n" +
         rows + "</table>\n";
}

std::string failureCard(const CheckRecord& record) {
  std::string text = fmt::format(
      "<div class=\"card\"><h3>{} <span class=\"tag t-bad\">{}</span></h3><div>Must hold: {}",
      escaped(record.id()), outcomeName(record.outcome), escaped(record.what));
  if (!record.requirements.empty()) {
    text += fmt::format(" <span class=\"dim\">({})</span>",
                        escaped(fmt::format("{}", fmt::join(record.requirements, ", "))));
  }
  text += fmt::format("</div><pre>{}</pre>", escaped(record.reason));
  if (!record.log.empty()) {
    text += fmt::format(
        "<details><summary class=\"dim\">standard error</summary><pre>{}</pre>"
        "</details>",
        escaped(record.log));
  }
  return text + fmt::format("<div class=\"dim\">repeat</div><pre>{}</pre></div>\n",
                            escaped(record.repeat));
}

std::string checksOf(const Report& report, const AreaCounts& area) {
  std::string rows;
  for (const CheckRecord& record : report.records) {
    if (record.area != area.area) continue;
    std::string what = escaped(record.what);
    if (!record.reason.empty()) {
      what += fmt::format("<div class=\"dim\">{}</div>", escaped(record.reason));
    }
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"tag {}\">{}</td><td>{}</td><td class=\"dim\">{}</td>"
        "<td class=\"n\">{:.3f}</td></tr>\n",
        escaped(record.name), classOf(record.outcome), outcomeName(record.outcome), what,
        escaped(fmt::format("{}", fmt::join(record.requirements, " "))), record.seconds);
  }
  return fmt::format(
      "<details id=\"area-{0}\"><summary><b>{0}</b> <span class=\"dim\">{1} checks, {2} bad</span>"
      "</summary><table class=\"checks\"><tr><th>check</th><th>outcome</th><th>must hold</th>"
      "<th>requirements</th><th class=\"n\">seconds</th></tr>\n{3}</table></details>\n",
      escaped(area.area), area.all(), area.bad(), rows);
}

std::string figureTable(const FigureTable& table) {
  std::string text =
      fmt::format("<h2>{}</h2>\n<table class=\"figures\"><tr><th></th>", escaped(table.title));
  for (const std::string& column : table.columns) {
    text += fmt::format("<th class=\"n\">{}</th>", escaped(column));
  }
  text += "<th></th></tr>\n";
  for (const FigureTable::Row& row : table.rows) {
    text += fmt::format("<tr><td>{}</td>", escaped(row.check));
    for (const std::string& cell : row.cells) {
      text += fmt::format("<td class=\"n\">{}</td>", escaped(cell));
    }
    text += fmt::format("<td class=\"tag {}\">{}</td></tr>\n", classOf(row.outcome),
                        outcomeName(row.outcome));
  }
  return text + "</table>\n";
}

std::string skipTable(const Report& report) {
  std::map<std::string, size_t> reasons;
  for (const CheckRecord& record : report.records) {
    if (record.outcome == Outcome::SKIPPED) ++reasons[record.reason];
  }
  if (reasons.empty()) return "";
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto& [reason, count] : reasons) sorted.emplace_back(count, reason);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string rows;
  for (const auto& [count, reason] : sorted) {
    rows += fmt::format("<tr><td class=\"n\">{}</td><td>{}</td></tr>\n", count, escaped(reason));
  }
  return "<h2>Skipped, and why</h2>\n<table class=\"narrow\"><tr><th "
         "class=\"n\">checks</th><th>reason</th></tr>\n" +
         rows + "</table>\n";
}

}  // namespace

std::string htmlText(const Report& report) {
  std::string page(kHead);
  page += fmt::format("<title>{}: validation</title></head><body><main>\n", escaped(report.device));
  page += fmt::format("<h1>{} <span class=\"verdict {}\">{}</span></h1>\n", escaped(report.device),
                      report.passed() ? "good" : "bad", report.passed() ? "passed" : "failed");
  page += fmt::format(
      "<div class=\"dim\">version {}, HAL {}, {} run of {}, {:.0f} s; {}{}</div>\n",
      escaped(report.version), escaped(report.hal), report.full ? "full" : "quick",
      escaped(report.began), report.seconds, escaped(report.target),
      report.expectations.empty() ? "" : ", expectations of " + escaped(report.expectations));
  page += fmt::format(
      "<p><b>{}</b> passed, <b>{}</b> failed, <b>{}</b> expected failures, <b>{}</b> "
      "skipped{}</p>\n",
      report.count(Outcome::PASSED), report.bad(), report.count(Outcome::EXPECTED_FAILURE),
      report.count(Outcome::SKIPPED),
      report.stoppedEarly ? "; stopped early: not all checks were run" : "");
  page += areaTable(report);
  if (!report.problems.empty()) {
    page += "<h2>Problems of the run</h2>\n";
    for (const std::string& problem : report.problems) {
      page += fmt::format("<div class=\"card\">{}</div>\n", escaped(problem));
    }
  }
  if (report.bad() > 0) {
    page += "<h2>What is wrong, and how to repeat it</h2>\n";
    for (const CheckRecord& record : report.records) {
      if (isBad(record.outcome)) page += failureCard(record);
    }
  }
  for (const FigureTable& table : figureTables(report.records)) page += figureTable(table);
  page += skipTable(report);
  page += "<h2>Every check</h2>\n";
  for (const AreaCounts& area : report.areas()) page += checksOf(report, area);
  // A link to an area opens it.
  page +=
      "<script>onhashchange=()=>{const d=document.querySelector(location.hash);"
      "if(d)d.open=true}</script>\n";
  return page + "</main></body></html>\n";
}

}  // namespace halyard::validation
