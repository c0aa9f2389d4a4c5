#include "tools/halyard/doctor/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace halyard::cli {
namespace {

using Json = nlohmann::json;

std::vector<FindingSection> someSections() {
  return {{"kernel", {{FindingLevel::OK, "Linux", "6.1"}}},
          {"drivers",
           {{FindingLevel::PROBLEM, "/etc/x\x1b.json", "no \"program\"", "mv a b"},
            {FindingLevel::WARNING, "npu", "old", "ls"}}}};
}

TEST(Finding, TextHasALineForEach) {
  EXPECT_EQ(findingsText(someSections()),
            "kernel\n"
            "  ok       Linux: 6.1\n"
            "\n"
            "drivers\n"
            "  problem  /etc/x?.json: no \"program\"\n"
            "           repair: mv a b\n"
            "  warning  npu: old\n"
            "           repair: ls\n"
            "\n"
            "problems: 1, warnings: 1, ok: 1\n");
}

TEST(Finding, JsonHasTheSame) {
  const Json document = Json::parse(findingsJson(someSections()), nullptr, false);
  EXPECT_EQ(document["problems"], 1);
  EXPECT_EQ(document["warnings"], 1);
  ASSERT_EQ(document["findings"].size(), 3u);
  EXPECT_EQ(document["findings"][1]["section"], "drivers");
  EXPECT_EQ(document["findings"][1]["status"], "problem");
  EXPECT_EQ(document["findings"][1]["subject"], "/etc/x\x1b.json");
  EXPECT_EQ(document["findings"][1]["text"], "no \"program\"");
  EXPECT_EQ(document["findings"][1]["command"], "mv a b");
  EXPECT_EQ(document["findings"][0]["command"], "");
}

}  // namespace
}  // namespace halyard::cli
