#include "halyard/driver/capabilities_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary_folder_for_test.h"

namespace halyard::hal {
namespace {

using ::testing::HasSubstr;

constexpr const char* kFigures = R"({
  "device": "acme-npu",
  "workloads": [{"name": "mobilenet_v1_float", "anything": 1}],
  "capabilities": {
    "default": {"exec_time": 2, "power_usage": 3},
    "relaxed_tensor": {"exec_time": 0.25},
    "while": {"power_usage": 0.125},
    "operand_types": {"TENSOR_QUANT8_ASYMM": {"exec_time": 0.5, "power_usage": 0.75}}
  }
})";

TEST(CapabilitiesFile, FiguresAreRead) {
  const Result<Capabilities> read = parseCapabilities(kFigures);
  ASSERT_TRUE(read.ok()) << read.status().toString();
  EXPECT_EQ(read->lookup(OperandType::TENSOR_QUANT8_ASYMM).execTime, 0.5f);
  EXPECT_EQ(read->lookup(OperandType::TENSOR_QUANT8_ASYMM).powerUsage, 0.75f);
  EXPECT_EQ(read->lookup(OperandType::TENSOR_FLOAT32).execTime, 2.0f);
  EXPECT_EQ(read->relaxedFloat32toFloat16PerformanceTensor.execTime, 0.25f);
  EXPECT_EQ(read->relaxedFloat32toFloat16PerformanceTensor.powerUsage, 3.0f);
  EXPECT_EQ(read->whilePerformance.powerUsage, 0.125f);
  EXPECT_EQ(read->ifPerformance.powerUsage, 3.0f);
}

TEST(CapabilitiesFile, WhatIsNotGivenIsAsTheCpu) {
  const Result<Capabilities> read = parseCapabilities(R"({"capabilities": {}})");
  ASSERT_TRUE(read.ok()) << read.status().toString();
  EXPECT_EQ(read->lookup(OperandType::TENSOR_FLOAT32).execTime, 1.0f);
}

TEST(CapabilitiesFile, MistakesAreNamed) {
  const auto errorOf = [](const char* json) { return parseCapabilities(json).status().message(); };
  EXPECT_THAT(errorOf("{"), HasSubstr("is not JSON"));
  EXPECT_THAT(errorOf("[]"), HasSubstr("there is no field \"capabilities\""));
  EXPECT_THAT(errorOf("{}"), HasSubstr("there is no field \"capabilities\""));
  EXPECT_THAT(errorOf(R"({"capabilities": 1})"), HasSubstr("capabilities: is 1"));
  EXPECT_THAT(errorOf(R"({"capabilities": {"speed": 1}})"), HasSubstr("capabilities.speed"));
  EXPECT_THAT(errorOf(R"({"capabilities": {"if": {"exec_time": "x"}}})"),
              HasSubstr("capabilities.if.exec_time"));
  EXPECT_THAT(errorOf(R"({"capabilities": {"if": {"exec_time": 0}}})"), HasSubstr("capabilities"));
  EXPECT_THAT(errorOf(R"({"capabilities": {"operand_types": {"TENSOR_NONE": {}}}})"),
              HasSubstr("there is no operand type 'TENSOR_NONE'"));
  EXPECT_THAT(errorOf(R"({"capabilities": {"operand_types": {"MODEL": {}}}})"),
              HasSubstr("models have no speed of their own"));
}

TEST(CapabilitiesFile, FilesAreNamedInErrors) {
  const TemporaryFolder folder("capabilities");
  const std::string path = folder.path() + "/capabilities.json";
  std::ofstream(path) << kFigures;
  EXPECT_TRUE(loadCapabilities(path).ok());
  std::ofstream(path) << "[";
  EXPECT_THAT(std::string(loadCapabilities(path).status().message()), HasSubstr(path));
  EXPECT_THAT(std::string(loadCapabilities(path + ".none").status().message()),
              HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace halyard::hal
