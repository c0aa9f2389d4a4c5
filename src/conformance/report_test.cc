// Tests that parse the reports again.
#include "conformance/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace halyard::conformance {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

CaseRecord record(std::string name, std::string variant, CaseResult result) {
  CaseRecord made;
  made.file = "V1_0/a<b>.jsonl.gz";
  made.line = 3;
  made.name = std::move(name);
  made.variant = std::move(variant);
  made.result = std::move(result);
  made.seconds = 0.25;
  if (made.result.outcome != Outcome::PASSED) made.repeat = "halyard conformance --case x";
  return made;
}

RunReport report() {
  RunReport made;
  made.device = "test-device";
  made.via = "hal";
  made.variants = {"plain", "pools"};
  made.seconds = 1.5;
  made.cases = {record("one", "plain", {}),
                record("one", "pools", {Outcome::FAILED, "output 0: element 4 is \"5\" & more"}),
                record("two", "plain", {Outcome::SKIPPED, "no SELECT"}),
                record("two", "pools", {Outcome::SKIPPED, "no SELECT"}),
                record("", "", {Outcome::FAILED, "not JSON"})};
  return made;
}

TEST(Report, FailureTellsWhereWhatAndHow) {
  const RunReport made = report();
  EXPECT_EQ(failureText(made, made.cases[1]),
            "FAILED V1_0/a<b>.jsonl.gz:3 one\n  variant pools, via hal, device test-device\n"
            "  output 0: element 4 is \"5\" & more\n  repeat: halyard conformance --case x\n");
  EXPECT_EQ(failureText(made, made.cases[4]),
            "FAILED V1_0/a<b>.jsonl.gz:3\n  not JSON\n  repeat: halyard conformance --case x\n");
}

TEST(Report, SummaryCountsReasons) {
  EXPECT_EQ(summaryText(report()), "skipped:\n     2  no SELECT\n1 passed, 2 failed, 2 skipped\n");
  EXPECT_EQ(summaryText({}), "0 passed, 0 failed, 0 skipped\n");
}

TEST(Report, Json) {
  RunReport made = report();
  made.cases[0].name = "\xff";
  const auto json = nlohmann::json::parse(jsonText(made), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["device"], "test-device");
  EXPECT_EQ(json["via"], "hal");
  EXPECT_EQ(json["passed"], 1);
  EXPECT_EQ(json["failed"], 2);
  EXPECT_EQ(json["skipped"], 2);
  EXPECT_EQ(json["skip_reasons"]["no SELECT"], 2);
  ASSERT_EQ(json["cases"].size(), 5u);
  EXPECT_FALSE(json["cases"][0].contains("reason"));
  EXPECT_EQ(json["cases"][1]["result"], "failed");
  EXPECT_EQ(json["cases"][1]["line"], 3);
  EXPECT_EQ(json["cases"][1]["case"], "one");
  EXPECT_EQ(json["cases"][1]["variant"], "pools");
  EXPECT_EQ(json["cases"][1]["repeat"], "halyard conformance --case x");
}

TEST(Report, JunitIsEscaped) {
  RunReport made = report();
  made.cases[1].result.reason += "\n\x1b[31m";
  const std::string text = junitText(made);
  EXPECT_THAT(text, HasSubstr("<testsuites name=\"halyard conformance\" tests=\"5\" "
                              "failures=\"2\" errors=\"0\" skipped=\"2\""));
  EXPECT_THAT(text, HasSubstr("<testsuite name=\"plain\" tests=\"2\" failures=\"0\" errors=\"0\" "
                              "skipped=\"1\""));
  EXPECT_THAT(text, HasSubstr("<testsuite name=\"(unreadable)\" tests=\"1\" failures=\"1\""));
  EXPECT_THAT(text, HasSubstr("classname=\"V1_0/a&lt;b&gt;.jsonl.gz\" name=\"one\""));
  EXPECT_THAT(text, HasSubstr("<failure message=\"output 0: element 4 is &quot;5&quot; &amp; "
                              "more&#10;?[31m\">"));
  EXPECT_THAT(text, EndsWith("</testsuites>\n"));
}

}  // namespace
}  // namespace halyard::conformance
