// Tests of the choice of a device by name.
#include "measure/device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace halyard::measure {
namespace {

const std::vector<std::string> kNames = {"acme-npu", "other-npu", "acme-gpu", "halyard-reference",
                                         "nnapi-reference"};

std::string chosen(std::string_view wanted, const std::vector<std::string>& names = kNames) {
  const auto index = chooseDevice(names, wanted);
  return index.ok() ? names[*index] : index.status().toString();
}

TEST(DeviceChoice, ExactNameFirst) {
  EXPECT_EQ(chosen("nnapi-reference"), "nnapi-reference");
  EXPECT_EQ(chosen("reference", {"halyard-reference", "reference"}), "reference");
}

TEST(DeviceChoice, HalyardDriverBeforeOtherEndings) {
  EXPECT_EQ(chosen("reference"), "halyard-reference");
  EXPECT_EQ(chosen("reference", {"nnapi-reference"}), "nnapi-reference");
}

TEST(DeviceChoice, CpuIsTheRuntimesOwn) {
  EXPECT_EQ(chosen("cpu"), "nnapi-reference");
  EXPECT_EQ(chosen("cpu", {"halyard-cpu", "nnapi-reference"}), "halyard-cpu");
}

TEST(DeviceChoice, UniqueEnding) {
  EXPECT_EQ(chosen("gpu"), "acme-gpu");
  EXPECT_EQ(chosen("npu"),
            "BAD_DATA: more than one device 'npu'; the devices are: acme-npu, other-npu, "
            "acme-gpu, halyard-reference, nnapi-reference");
}

TEST(DeviceChoice, UnknownNameListsTheDevices) {
  EXPECT_THAT(chosen("tpu"), ::testing::StartsWith("BAD_DATA: no device 'tpu'; the devices are: "));
  EXPECT_THAT(
      chosen("tpu"),
      ::testing::EndsWith(". 'halyard devices' has the reasons for drivers that are not there"));
  EXPECT_THAT(chosen(""), ::testing::StartsWith("BAD_DATA: no device ''"));
  EXPECT_THAT(chosen("pu"), ::testing::StartsWith("BAD_DATA: no device 'pu'"));
}

}  // namespace
}  // namespace halyard::measure
