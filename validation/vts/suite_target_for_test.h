// Drivers of every HAL version for tests of the suite: the reference driver, in this process and in
// a process of its own.
// Thread safety: one thread.
// Ownership: a SuiteTarget owns the folder of its files.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "reference_device.h"
#include "test_definitions.h"
#include "validation/kit/target.h"

namespace halyard::validation {

enum class Place : uint8_t { IN_PROCESS, DRIVER_PROCESS };
struct Served {
  HalVersion version;
  Place place;
};

inline std::vector<Served> everyServed() {
  std::vector<Served> all;
  for (const HalVersion version :
       {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2, HalVersion::V1_3}) {
    for (const Place place : {Place::IN_PROCESS, Place::DRIVER_PROCESS}) {
      all.push_back({version, place});
    }
  }
  return all;
}

// A name such as "V1_2_InProcess".
inline std::string servedName(const testing::TestParamInfo<Served>& tested) {
  return fmt::format("V1_{}_{}", static_cast<int>(tested.param.version) - 1,
                     tested.param.place == Place::IN_PROCESS ? "InProcess" : "DriverProcess");
}

class SuiteTarget {
 public:
  // `fields`: more fields of the personality, with a comma in front.
  explicit SuiteTarget(const Served& served, std::string_view fields = "") {
    std::string folder = std::filesystem::temp_directory_path() / "halyard-suite-XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    const std::string personality = folder_ / "personality.json";
    const std::string name(halVersionName(served.version));
    std::ofstream(personality) << fmt::format(
        R"({{"name": "suite-driver", "version": "1", "hal_version": "{}"{}}})", name, fields);
    const std::vector<std::string> arguments = {"--personality", personality};
    spec_.name = "suite-driver";
    if (served.place == Place::IN_PROCESS) {
      spec_.deviceVersion = served.version;
      spec_.makeDevice = [arguments] { return drivers::makeReferenceDevice(arguments); };
      return;
    }
    hal::Manifest manifest;
    manifest.path = folder_ / "manifest.json";
    manifest.name = spec_.name;
    manifest.version = "1";
    manifest.halVersion = served.version;
    manifest.target = HALYARD_REFERENCE_DRIVER;
    manifest.arguments = arguments;
    std::ofstream(manifest.path) << fmt::format(
        R"({{"name": "{}", "version": "1", "hal_version": "{}", "executable": "{}",)"
        R"( "arguments": ["--personality", "{}"]}})",
        spec_.name, name, manifest.target, personality);
    spec_.manifest = manifest;
  }
  ~SuiteTarget() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  SuiteTarget(const SuiteTarget&) = delete;
  SuiteTarget& operator=(const SuiteTarget&) = delete;

  const TargetSpec& spec() const { return spec_; }

 private:
  std::filesystem::path folder_;
  TargetSpec spec_;
};

}  // namespace halyard::validation
