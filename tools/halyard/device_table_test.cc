// Tests of the table of devices.
#include "tools/halyard/device_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(DeviceTable, HasARowForEachDevice) {
  const auto table = deviceTable(R"({
    "devices": [
      {"name": "halyard-reference", "type": "CPU", "hal_version": "1.3", "version": "0.1.0",
       "feature_level": 30, "process_id": 4242, "manifest": "/m/reference.json",
       "features": ["bursts", "fences"],
       "capabilities": {"float32": {"exec_time": 1.5, "power_usage": 2},
                        "quant8": {"exec_time": 0.25, "power_usage": 1},
                        "relaxed": {"exec_time": 3.4028235e38, "power_usage": 1}}},
      {"name": "nnapi-reference", "type": "CPU", "hal_version": "1.3", "version": "0.1.0",
       "feature_level": 1000008, "process_id": 1, "manifest": ""}],
    "problems": []})");
  ASSERT_TRUE(table.ok()) << table.status().toString();
  EXPECT_EQ(*table,
            "NAME               TYPE  HAL  VERSION  LEVEL    FLOAT32  QUANT8  RELAXED  PROCESS  "
            "MANIFEST           FEATURES\n"
            "halyard-reference  CPU   1.3  0.1.0    30       1.5/2    0.25/1  -/1      4242     "
            "/m/reference.json  bursts, fences\n"
            "nnapi-reference    CPU   1.3  0.1.0    1000008  -/-      -/-     -/-      1        "
            "-                  -\n");
}

TEST(DeviceTable, ListsProblems) {
  const auto table = deviceTable(
      R"({"devices": [], "problems": [{"manifest": "/m/x.json", "reason": "BAD_DATA: a\nb"}]})");
  ASSERT_TRUE(table.ok());
  EXPECT_THAT(*table, HasSubstr("could not be used:\n  /m/x.json: BAD_DATA: a?b\n"));
}

TEST(DeviceTable, ShowsWhatDriversHaveGivenUp) {
  const auto table = deviceTable(R"({"devices": [{"name": "a-b", "isolation": [
      {"measure": "limits", "state": "applied", "detail": "no core file"},
      {"measure": "seccomp", "state": "off", "detail": "why"}]},
      {"name": "c-d", "isolation": []}]})");
  ASSERT_TRUE(table.ok());
  EXPECT_THAT(*table, HasSubstr("\nisolation of a-b:\n"
                                "  limits   applied  no core file\n"
                                "  seccomp  off      why\n"));
  EXPECT_THAT(*table, Not(HasSubstr("isolation of c-d")));
}

TEST(DeviceTable, SurvivesOtherDocuments) {
  EXPECT_FALSE(deviceTable("").ok());
  EXPECT_FALSE(deviceTable("[1]").ok());
  const auto odd = deviceTable(R"({"devices": [7, {"name": {}, "features": 3}], "problems": [8]})");
  ASSERT_TRUE(odd.ok());
  EXPECT_THAT(*odd, HasSubstr("  -: -\n"));
  EXPECT_THAT(*deviceTable("{}"), Not(HasSubstr("could not")));
}

}  // namespace
}  // namespace halyard::cli
