// Tests the tables of measurements.
#include "validation/kit/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::validation {
namespace {

using ::testing::ElementsAre;

CheckRecord measured(std::string name, std::vector<Figure> figures) {
  CheckRecord record;
  record.area = "models";
  record.name = std::move(name);
  record.figures = std::move(figures);
  return record;
}

TEST(FigureTables, OneForEachKindOfCheck) {
  const CheckRecord records[] = {
      measured("net/latency", {{"median_ms", 1.5}}),
      measured("net/accuracy", {{"top_1_percent", 93.04}}),
      measured("other/latency", {{"first_ms", 2}, {"median_ms", 12345.6}}),
      measured("nothing/latency", {}),
      measured("plain", {{"x", 1}}),
  };
  const auto tables = figureTables(records);
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[0].title, "models: latency");
  EXPECT_THAT(tables[0].columns, ElementsAre("median ms", "first ms"));
  ASSERT_EQ(tables[0].rows.size(), 2u);
  EXPECT_EQ(tables[0].rows[0].check, "net");
  EXPECT_THAT(tables[0].rows[0].cells, ElementsAre("1.5", ""));
  EXPECT_THAT(tables[0].rows[1].cells, ElementsAre("12346", "2"));
  EXPECT_THAT(tables[1].rows[0].cells, ElementsAre("93.04"));
  EXPECT_EQ(tables[2].title, "models: plain");
  EXPECT_EQ(tables[2].rows[0].check, "");
}

}  // namespace
}  // namespace halyard::validation
