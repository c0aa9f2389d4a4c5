#include "report/junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::report {
namespace {

using ::testing::HasSubstr;
using Outcome = JUnitCase::Outcome;

TEST(JUnit, WholeDocument) {
  const std::vector<JUnitSuite> suites = {
      {"a<b",
       1.5,
       {{"device", "acme & co"}},
       {{"file", "one", {{"line", "7"}}, 0.25},
        {.className = "file",
         .name = "two",
         .properties = {{"median_ms", "7"}},
         .outcome = Outcome::FAILED,
         .type = "hang",
         .message = "is \"3\"\nnot 2",
         .details = "repeat: x",
         .log = "oops\x1b"},
        {.className = "file", .name = "three", .outcome = Outcome::SKIPPED, .message = "why"}}}};
  EXPECT_EQ(junitDocument("run", suites, 2, 3),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuites name=\"run\" tests=\"3\" failures=\"1\" errors=\"2\" skipped=\"1\" "
            "time=\"3.000\">\n"
            "  <testsuite name=\"a&lt;b\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" "
            "time=\"1.500\">\n"
            "    <properties>\n"
            "      <property name=\"device\" value=\"acme &amp; co\"/>\n"
            "    </properties>\n"
            "    <testcase classname=\"file\" name=\"one\" line=\"7\" time=\"0.250000\"/>\n"
            "    <testcase classname=\"file\" name=\"two\" time=\"0.000000\">\n"
            "      <properties>\n"
            "        <property name=\"median_ms\" value=\"7\"/>\n"
            "      </properties>\n"
            "      <failure type=\"hang\" message=\"is &quot;3&quot;&#10;not 2\">repeat: "
            "x</failure>\n"
            "      <system-err>oops?</system-err>\n"
            "    </testcase>\n"
            "    <testcase classname=\"file\" name=\"three\" time=\"0.000000\">\n"
            "      <skipped message=\"why\"/>\n"
            "    </testcase>\n"
            "  </testsuite>\n"
            "</testsuites>\n");
}

TEST(JUnit, BytesBeyondAscii) { EXPECT_EQ(xmlText("\xff\xc3\xa4\x01"), "????"); }

}  // namespace
}  // namespace halyard::report
