// The answer to getNumberOfCacheFilesNeeded decides which devices an application sees: a device
// must answer NONE, and at most 32 files of each kind. halyard_devicesJson gives the reason for the
// others.
#include <android/NeuralNetworks.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <halyard/halyard.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "manifests_for_test.h"
#include "test_definitions.h"

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Case {
  std::string name;
  std::string status;
  unsigned modelFiles;
  unsigned dataFiles;

  bool isGood() const { return status == "0" && modelFiles <= 32 && dataFiles <= 32; }
};

// NONE and DEVICE_UNAVAILABLE.
std::vector<Case> matrix() {
  std::vector<Case> cases;
  for (const char* status : {"0", "1"}) {
    for (const unsigned modelFiles : {0, 1, 32, 33}) {
      for (const unsigned dataFiles : {0, 1, 32, 33}) {
        cases.push_back({fmt::format("counts-s{}m{}d{}", status, modelFiles, dataFiles), status,
                         modelFiles, dataFiles});
      }
    }
  }
  return cases;
}

class CacheCounts : public ::testing::Test {
 protected:
  // A process looks for its devices once.
  static void SetUpTestSuite() {
    manifests_ = new halyard::testing::Manifests;
    for (const Case& each : matrix()) add(each);
    add({"counts-silent", "silent", 1, 1});
    add({"counts-nonsense", "77", 1, 1});
    manifests_->use();
    // A long limit for a driver that answers. The silent driver uses it up once.
    ::setenv("HALYARD_DRIVER_START_TIMEOUT_MS", "3000", 1);
    char* text = nullptr;
    ASSERT_EQ(halyard_devicesJson(&text), ANEURALNETWORKS_NO_ERROR) << halyard_lastErrorText();
    const auto json = nlohmann::json::parse(text);
    halyard_free(text);
    for (const auto& problem : json.at("problems")) {
      const std::string manifest = problem.at("manifest");
      const size_t first = manifest.rfind('/') + 1;
      reasons_[manifest.substr(first, manifest.rfind('.') - first)] = problem.at("reason");
    }
    for (const auto& device : json.at("devices")) features_[device.at("name")] = device["features"];
  }
  static void TearDownTestSuite() { delete manifests_; }

  static void add(const Case& each) {
    manifests_->addProgram(
        each.name, CACHE_COUNTS_DRIVER,
        {each.status, std::to_string(each.modelFiles), std::to_string(each.dataFiles)});
  }

  static inline halyard::testing::Manifests* manifests_ = nullptr;
  static inline std::map<std::string, std::string> reasons_;  // by device that is left out
  static inline std::map<std::string, std::vector<std::string>> features_;  // by device
};

TEST_F(CacheCounts, DecideWhetherADeviceIsThere) {
  std::set<std::string> expected = {"nnapi-reference"};
  for (const Case& each : matrix()) {
    if (each.isGood()) expected.insert(each.name);
  }
  std::set<std::string> found;
  uint32_t count = 0;
  ASSERT_EQ(ANeuralNetworks_getDeviceCount(&count), ANEURALNETWORKS_NO_ERROR);
  for (uint32_t i = 0; i < count; ++i) {
    ANeuralNetworksDevice* device = nullptr;
    const char* name = nullptr;
    ASSERT_EQ(ANeuralNetworks_getDevice(i, &device), ANEURALNETWORKS_NO_ERROR);
    ASSERT_EQ(ANeuralNetworksDevice_getName(device, &name), ANEURALNETWORKS_NO_ERROR);
    found.insert(name);
  }
  EXPECT_EQ(found, expected);
}

TEST_F(CacheCounts, WhoWantsNoFilesDoesNotCache) {
  for (const Case& each : matrix()) {
    if (!each.isGood()) continue;
    SCOPED_TRACE(each.name);
    const bool caches = each.modelFiles + each.dataFiles > 0;
    EXPECT_EQ(std::ranges::count(features_.at(each.name), "compilation caching"), caches ? 1 : 0);
  }
}

TEST_F(CacheCounts, ItIsSaidWhyADeviceIsNotThere) {
  size_t missing = 0;
  for (const Case& each : matrix()) {
    SCOPED_TRACE(each.name);
    ASSERT_EQ(reasons_.contains(each.name), !each.isGood()) << reasons_[each.name];
    if (each.isGood()) continue;
    ++missing;
    if (each.status == "0") {
      EXPECT_THAT(reasons_[each.name],
                  AllOf(HasSubstr(each.name),
                        HasSubstr(fmt::format("it wants {} model and {} data cache files; at most "
                                              "32 each are allowed",
                                              each.modelFiles, each.dataFiles))));
    } else {
      EXPECT_THAT(reasons_[each.name],
                  AllOf(HasSubstr("UNAVAILABLE_DEVICE"), HasSubstr("getNumberOfCacheFilesNeeded")));
    }
  }
  EXPECT_EQ(missing, 7u + 16u);
  EXPECT_THAT(reasons_["counts-silent"],
              AllOf(HasSubstr("getNumberOfCacheFilesNeeded"), HasSubstr("in time")));
  EXPECT_THAT(reasons_["counts-nonsense"], HasSubstr("77, which is no error status"));
}

}  // namespace
