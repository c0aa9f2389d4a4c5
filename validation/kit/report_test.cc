// Tests the reports for people and programs.
#include "validation/kit/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "validation/kit/runner.h"

namespace halyard::validation {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CheckRecord record(std::string area, std::string name, Outcome outcome, std::string reason = "") {
  CheckRecord one;
  one.area = std::move(area);
  one.name = std::move(name);
  one.what = "one and one is <two>";
  one.requirements = {"ND-052"};
  one.outcome = outcome;
  one.reason = std::move(reason);
  one.seconds = 0.5;
  if (isBad(outcome)) {
    one.repeat = "halyard validate 'a b.json' --check " + one.id();
    one.log = "driver: <oops>\n";
  }
  return one;
}

Report sample() {
  Report report;
  report.device = "acme-npu";
  report.version = "7";
  report.hal = "1.3";
  report.target = "a b.json";
  report.began = "2026-01-02 03:04 UTC";
  report.seconds = 3;
  report.records = {record("hal", "a", Outcome::PASSED),
                    record("hal", "b", Outcome::FAILED, "is 3 & not 2\nsecond line"),
                    record("hal", "c", Outcome::SKIPPED, "HAL 1.2 has none"),
                    record("conformance", "d", Outcome::CRASH, "the driver's process 7 has ended"),
                    record("conformance", "e", Outcome::EXPECTED_FAILURE, "issue 12"),
                    record("conformance", "f", Outcome::HANG, "no result within 60 s")};
  return report;
}

TEST(Report, Counts) {
  const Report report = sample();
  EXPECT_EQ(report.bad(), 3u);
  EXPECT_FALSE(report.passed());
  const std::vector<AreaCounts> areas = report.areas();
  ASSERT_EQ(areas.size(), 2u);
  EXPECT_EQ(areas[0].area, "hal");
  EXPECT_EQ(areas[0].all(), 3u);
  EXPECT_EQ(areas[0].bad(), 1u);
  EXPECT_EQ(areas[1].of(Outcome::HANG), 1u);
  EXPECT_DOUBLE_EQ(areas[1].seconds, 1.5);
}

TEST(Report, PassesOnlyWithChecksAndWithoutProblems) {
  Report report;
  EXPECT_FALSE(report.passed());
  report.records = {record("hal", "a", Outcome::PASSED),
                    record("hal", "b", Outcome::EXPECTED_FAILURE)};
  EXPECT_TRUE(report.passed());
  report.problems = {"the expectations have 'x'"};
  EXPECT_FALSE(report.passed());
}

TEST(Report, TextOfAFailure) {
  EXPECT_EQ(failureText(sample().records[1]),
            "FAILED hal/b\n  must hold: one and one is <two> (ND-052)\n  is 3 & not 2\n"
            "  second line\n  standard error:\n    | driver: <oops>\n"
            "  repeat: halyard validate 'a b.json' --check hal/b\n");
}

TEST(Report, Summary) {
  const std::string text = summaryText(sample());
  EXPECT_THAT(text, HasSubstr("     1  HAL 1.2 has none\n"));
  EXPECT_THAT(text, HasSubstr("expected failure: conformance/e: issue 12\n"));
  EXPECT_THAT(text, HasSubstr("1 passed, 3 failed, 1 skipped, 1 expected failures, in 3 s\n"));
}

TEST(Report, Json) {
  const auto json = nlohmann::json::parse(jsonText(sample()));
  EXPECT_EQ(json["passed"], false);
  EXPECT_EQ(json["areas"]["conformance"]["crash"], 1);
  ASSERT_EQ(json["checks"].size(), 6u);
  EXPECT_EQ(json["checks"][1]["outcome"], "failed");
  EXPECT_EQ(json["checks"][1]["log"], "driver: <oops>\n");
  EXPECT_EQ(json["checks"][3]["repeat"], "halyard validate 'a b.json' --check conformance/d");
}

TEST(Report, JUnit) {
  const std::string text = junitText(sample());
  EXPECT_THAT(text, HasSubstr("tests=\"6\" failures=\"3\""));
  EXPECT_THAT(text, HasSubstr("<testsuite name=\"hal\" tests=\"3\" failures=\"1\""));
  EXPECT_THAT(text, HasSubstr("type=\"hang\""));
  EXPECT_THAT(text, HasSubstr("is 3 &amp; not 2&#10;second line"));
  EXPECT_THAT(text, HasSubstr("<system-err>driver: &lt;oops&gt;&#10;</system-err>"));
}

TEST(Report, HtmlEscapesWhatDriversSay) {
  const std::string text = htmlText(sample());
  EXPECT_THAT(text, HasSubstr("is 3 &amp; not 2"));
  EXPECT_THAT(text, HasSubstr("driver: &lt;oops&gt;"));
  EXPECT_THAT(text, Not(HasSubstr("<oops>")));
  EXPECT_THAT(text, HasSubstr("the run failed"));
  EXPECT_THAT(text, HasSubstr("halyard validate &#39;a b.json&#39; --check hal/b"));
  EXPECT_THAT(text, HasSubstr("<a href=\"#area-hal\">"));
  EXPECT_THAT(text, HasSubstr("<h3 id=\"area-hal\">"));
  // The page loads no other file.
  EXPECT_THAT(text, Not(HasSubstr("http")));
}

TEST(Report, FiguresAreInEveryForm) {
  Report report = sample();
  report.records[0].name = "net/latency";
  report.records[0].figures = {{"median_ms", 0.123456}, {"times_as_fast", 2}};
  report.records[1].name = "other/latency";
  report.records[1].figures = {{"median_ms", 7}};
  EXPECT_THAT(summaryText(report), HasSubstr("hal: latency\n"
                                             "  net: median ms 0.1235, times as fast 2\n"
                                             "  other: median ms 7\n"));
  const auto json = nlohmann::json::parse(jsonText(report));
  EXPECT_EQ(json["checks"][0]["figures"]["median_ms"], 0.123456);
  EXPECT_FALSE(json["checks"][2].contains("figures"));
  const std::string junit = junitText(report);
  EXPECT_THAT(junit, HasSubstr("<property name=\"median_ms\" value=\"0.123456\"/>"));
  // A failed check has its figures, too.
  EXPECT_THAT(junit, HasSubstr("<property name=\"median_ms\" value=\"7\"/>\n"
                               "      </properties>\n      <failure type=\"failed\""));
  const std::string page = htmlText(report);
  EXPECT_THAT(page, HasSubstr(">hal: latency</h2>"));
  EXPECT_THAT(page,
              HasSubstr("<td>net</td><td class=\"number\">0.1235</td><td class=\"number\">2</td>"));
}

TEST(ProgressLine, FitsItsWidth) {
  Progress progress{5, 10, 2, 30, "hal/model/a-long-name"};
  EXPECT_EQ(progressLine(progress, 200),
            "[##########          ] 5/10  2 bad  about 30 s left  hal/model/a-long-name");
  EXPECT_EQ(progressLine(progress, 30).size(), 30u);
  progress.secondsLeft = 180;
  EXPECT_THAT(progressLine(progress, 200), HasSubstr("about 3 min left"));
  progress.secondsLeft = -1;
  EXPECT_THAT(progressLine(progress, 200), Not(HasSubstr("left")));
}

}  // namespace
}  // namespace halyard::validation
