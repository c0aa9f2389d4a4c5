#include "tools/halyard/bench/capabilities.h"

#include <gtest/gtest.h>

#include "halyard/driver/capabilities_file.h"

namespace halyard::cli {
namespace {

using workloads::Figure;

TEST(Capabilities, FiguresAreMeansThatTheSdkReads) {
  const WorkloadFigures measured[] = {
      {"one", Figure::FLOAT32, 1, 4, 0.25, 0.5},
      {"two", Figure::FLOAT32, 1, 1, 1.0, 2.0},
      {"three", Figure::QUANT8_SIGNED, 1, 8, 0.1254, 0.3},
      {"four", Figure::LOOP, 2, 1, 2.0, 3.0},
  };
  const nlohmann::json document = {{"capabilities", capabilitiesFrom(measured)}};
  const auto read = hal::parseCapabilities(document.dump());
  ASSERT_TRUE(read.ok()) << read.status().toString();
  EXPECT_FLOAT_EQ(read->lookup(OperandType::TENSOR_FLOAT32).execTime, 0.5f);
  EXPECT_FLOAT_EQ(read->lookup(OperandType::TENSOR_FLOAT32).powerUsage, 1.0f);
  EXPECT_FLOAT_EQ(read->lookup(OperandType::FLOAT32).execTime, 0.5f);
  // Figures keep three digits.
  EXPECT_FLOAT_EQ(read->lookup(OperandType::TENSOR_QUANT8_ASYMM_SIGNED).execTime, 0.125f);
  EXPECT_FLOAT_EQ(read->lookup(OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL).powerUsage, 0.3f);
  EXPECT_FLOAT_EQ(read->whilePerformance.execTime, 2.0f);
  // Figures without a workload are those of the CPU device.
  EXPECT_FLOAT_EQ(read->ifPerformance.execTime, 1.0f);
  EXPECT_FLOAT_EQ(read->relaxedFloat32toFloat16PerformanceTensor.execTime, 1.0f);
  EXPECT_FLOAT_EQ(read->lookup(OperandType::TENSOR_QUANT8_ASYMM).execTime, 1.0f);
}

TEST(Capabilities, EveryWorkloadIsForAFigureOfItsOwnTypes) {
  // Each figure that a driver can declare for a type of numbers has a workload.
  for (const Figure figure :
       {Figure::FLOAT32, Figure::RELAXED, Figure::FLOAT16, Figure::QUANT8, Figure::QUANT8_SIGNED,
        Figure::QUANT16, Figure::BRANCH, Figure::LOOP}) {
    const WorkloadFigures one[] = {{"one", figure, 1, 2, 0.5, 0.5}};
    const nlohmann::json capabilities = capabilitiesFrom(one);
    // "default" and an object of types may be empty: the search finds the figure in any place.
    EXPECT_NE(capabilities.dump().find("\"exec_time\":0.5"), std::string::npos)
        << static_cast<int>(figure);
  }
}

}  // namespace
}  // namespace halyard::cli
