// Tests of the report's limits. The tests of the delegate look at its contents.
#include "tflite_delegate/report.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary_folder_for_test.h"

namespace halyard::tflite {
namespace {

TEST(Report, ListsHaveALimit) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/report.json";
  Report report(path, /*verbose=*/false);
  constexpr size_t kMore = 3;
  for (size_t i = 0; i < Report::kMostEntries; ++i) {
    EXPECT_EQ(report.addGraph({}), i);
  }
  for (size_t i = 0; i < kMore; ++i) report.addGraph({});
  report.addError(Status(ResultCode::OP_FAILED, "a text"));
  std::ifstream file(path);
  const nlohmann::json document = nlohmann::json::parse(file);
  EXPECT_EQ(document.at("graphs").size(), Report::kMostEntries);
  EXPECT_EQ(document.at("errors").size(), 1u);
  EXPECT_EQ(document.at("left_out"), kMore);
}

}  // namespace
}  // namespace halyard::tflite
