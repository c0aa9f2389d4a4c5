#include "tflite_delegate/delegate_options.h"

#include <android/NeuralNetworks.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::tflite {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;

TEST(DelegateOptions, AreReadByKeyAndValue) {
  const Pairs pairs = {{"device", "npu,halyard-cpu"},
                       {"cache_dir", "/tmp/c"},
                       {"preference", "sustained_speed"},
                       {"priority", "high"},
                       {"allow_fp16", "True"},
                       {"max_partitions", "3"},
                       {"min_operations_per_partition", "4"},
                       {"claim_all", "1"},
                       {"report", "r.json"},
                       {"verbose", "false"}};
  const Result<DelegateOptions> options = parseOptions(pairs);
  ASSERT_TRUE(options.ok()) << options.status().toString();
  EXPECT_THAT(options->devices, ElementsAre("npu", "halyard-cpu"));
  EXPECT_EQ(options->cacheFolder, "/tmp/c");
  EXPECT_EQ(options->preference, ANEURALNETWORKS_PREFER_SUSTAINED_SPEED);
  EXPECT_EQ(options->priority, ANEURALNETWORKS_PRIORITY_HIGH);
  EXPECT_TRUE(options->allowFloat16);
  EXPECT_EQ(options->maxPartitions, 3);
  EXPECT_EQ(options->minOperations, 4);
  EXPECT_TRUE(options->claimsAll);
  EXPECT_EQ(options->report, "r.json");
  EXPECT_FALSE(options->verbose);
  EXPECT_FALSE(options->requireDevice);
}

TEST(DelegateOptions, EveryKeyIsKnown) {
  EXPECT_FALSE(optionKeys().empty());
  for (const OptionKey& each : optionKeys()) {
    const Pairs pairs = {{each.key, "?"}};
    const Result<DelegateOptions> options = parseOptions(pairs);
    if (!options.ok()) {
      EXPECT_THAT(options.status().message(), ::testing::Not(HasSubstr("is unknown")));
    }
  }
}

TEST(DelegateOptions, ErrorsNameKeyAndValue) {
  const auto errorOf = [](const Pairs& pairs) {
    const Result<DelegateOptions> options = parseOptions(pairs);
    EXPECT_FALSE(options.ok());
    return options.status().message();
  };
  EXPECT_THAT(errorOf({{"devices", "x"}}), HasSubstr("option 'devices' is unknown"));
  EXPECT_THAT(errorOf({{"priority", "huge"}}),
              HasSubstr("option 'priority': is 'huge', expected one of low, medium, high"));
  EXPECT_THAT(errorOf({{"max_partitions", "-1"}}), HasSubstr("whole number"));
  EXPECT_THAT(errorOf({{"min_operations_per_partition", "0"}}), HasSubstr("from 1"));
  EXPECT_THAT(errorOf({{"verbose", "maybe"}}), HasSubstr("true or false"));
  EXPECT_THAT(errorOf({{"require_device", "1"}}), HasSubstr("needs option 'device'"));
  EXPECT_THAT(errorOf({{"device", "a"}, {"timeout_ms", "5"}}), HasSubstr("require_device"));
}

}  // namespace
}  // namespace halyard::tflite
