#include "tools/halyard/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/testing/command_for_test.h"
#include "test_definitions.h"

namespace halyard::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using Json = nlohmann::json;

Json operation(uint32_t index, const char* device, int partition, const char* reason) {
  return {{"index", index},       {"type", "ADD"},
          {"device", device},     {"partition", partition},
          {"interpreted", false}, {"others", {{{"device", "acme-npu"}, {"reason", reason}}}}};
}

Json document() {
  Json json = {
      {"operations", Json::array()}, {"partitions", Json::array()}, {"events", Json::array()}};
  for (uint32_t i = 0; i < 5; ++i) {
    json["operations"].push_back(
        operation(i, "nnapi-reference", 0, i == 3 ? "too large" : "the driver says no"));
  }
  json["partitions"].push_back({{"device", "nnapi-reference"},
                                {"operations", {0, 1, 2, 3, 4}},
                                {"within", ""},
                                {"operation_count", 5},
                                {"predicted_ns", {{"compute", 2e6}, {"boundary", 5e5}}},
                                {"sizes_unknown", true},
                                {"bytes_in", 64},
                                {"bytes_out", 32},
                                {"executions", 1},
                                {"measured_mean_ns", 3e6},
                                {"measured_last_ns", 3e6},
                                {"copied_bytes_mean", 96.4},
                                {"copied_bytes_last", 96}});
  json["events"].push_back({{"kind", "PREPARE_FAILED"},
                            {"device", "acme-npu"},
                            {"target", "nnapi-reference"},
                            {"partition", 0},
                            {"operations", {3, 4}},
                            {"cause", "OP_FAILED: \x1b[31mno memory"},
                            {"count", 2},
                            {"unix_ns", 1}});
  return json;
}

Json cacheOf(const char* state, const char* reason, uint64_t bytes) {
  return {{"state", state},     {"reason", reason},  {"bytes_read", bytes},
          {"bytes_written", 0}, {"key_ns", 1e6},     {"open_ns", 20000},
          {"load_ns", 0},       {"compile_ns", 3e6}, {"save_ns", 0}};
}

TEST(ExplanationTest, Shadow) {
  Json json = document();
  const auto textOf = [&] { return *explanation(json.dump(), {}); };
  json["shadow"] = {{"interval", 0}, {"off", ""}};
  EXPECT_THAT(textOf(), Not(HasSubstr("shadow")));
  json["shadow"] = {{"interval", 10}, {"off", "the model draws numbers at random"}};
  EXPECT_THAT(textOf(), HasSubstr("shadow  nothing is verified: the model draws"));
  json["shadow"] = {{"interval", 10},
                    {"off", ""},
                    {"verified", 7},
                    {"failed", 1},
                    {"largest_absolute_error", 0.25},
                    {"skipped", {{{"reason", "busy"}, {"count", 3}}}}};
  EXPECT_THAT(textOf(), HasSubstr("shadow  1 execution in 10: 7 verified, 1 of them wrong, largest "
                                  "error 0.25\n        3 not verified: busy\n"));
}

TEST(ExplanationTest, Float16) {
  Json json = document();
  const auto textOf = [&] { return *explanation(json.dump(), {}); };
  EXPECT_THAT(textOf(), Not(HasSubstr("fp16")));
  json["allow_fp16"] = true;
  EXPECT_THAT(textOf(), HasSubstr("\nfp16    float32 may be computed as float16\n"));
}

TEST(ExplanationTest, NeverComputed) {
  Json json = document();
  json["partitions"] = Json::array();
  json["events"] = {{{"kind", "NEVER_COMPUTED"},
                     {"device", ""},
                     {"target", ""},
                     {"partition", -1},
                     {"operations", {3}},
                     {"cause", "OP_FAILED: activation is 999"},
                     {"count", 1},
                     {"unix_ns", 1}}};
  const std::string text = *explanation(json.dump(), {});
  EXPECT_THAT(text, HasSubstr("plan    none: every execution will fail\n"));
  EXPECT_THAT(text, HasSubstr("NEVER_COMPUTED, #3: OP_FAILED: activation is 999"));
}

TEST(ExplanationTest, Cache) {
  Json json = document();
  EXPECT_THAT(*explanation(json.dump(), {}), Not(HasSubstr("cache of partitions")));
  EXPECT_THAT(cacheText(json.dump()).status().message(), HasSubstr("not what was expected"));
  json["partitions"][0]["cache"] = cacheOf("off", "no folder", 0);
  for (int i = 0; i < 3; ++i) json["partitions"].push_back(json["partitions"][0]);
  json["partitions"][2]["cache"] = cacheOf("hit", "", 5000000);
  const auto text = explanation(json.dump(), {});
  ASSERT_TRUE(text.ok()) << text.status().toString();
  EXPECT_THAT(*text, HasSubstr("cache of partitions:\n"
                               "  #0-#1, #3: off, no folder: key 1 ms, open 20 us, compile 3 ms\n"
                               "  #2: hit, 5.0 MB read: key 1 ms, open 20 us, compile 3 ms\n"));
  EXPECT_EQ(*cacheText(json.dump()),
            "hit for 1 of 4 partitions, 5.0 MB read: key 1 ms, open 20 us, compile 3 ms");
  json["partitions"][0]["cache"] = cacheOf("hit", "", 500);
  EXPECT_EQ(*cacheText(json.dump()),
            "hit for 2 of 4 partitions, 5.0 MB read: key 2 ms, open 40 us, compile 6 ms");
  json["partitions"] = Json::array();
  EXPECT_EQ(*cacheText(json.dump()), "off, there is no plan");
}

TEST(ExplanationTest, PlanReasonsAndEvents) {
  const auto text = explanation(document().dump(), {});
  ASSERT_TRUE(text.ok()) << text.status().toString();
  EXPECT_THAT(*text, HasSubstr("plan    1 partition, predicted 2.5 ms: 2 ms computing, 500 us at"));
  EXPECT_THAT(*text, HasSubstr("0          nnapi-reference  #0-#4       2.5 ms at least  3 ms"));
  EXPECT_THAT(*text,
              HasSubstr("not on acme-npu:\n  #0-#2, #4: the driver says no\n  #3: too large"));
  EXPECT_THAT(*text, HasSubstr("PREPARE_FAILED on acme-npu, now nnapi-reference, #3-#4, 2 times: "
                               "OP_FAILED: "));
  EXPECT_THAT(*text, Not(HasSubstr("\x1b")));
}

TEST(ExplanationTest, ReasonsAreLimitedUnlessAllAreWanted) {
  Json json = document();
  for (uint32_t i = 0; i < 5; ++i) {
    json["operations"][i]["others"][0]["reason"] = std::string("reason ") + "abcde"[i];
  }
  ExplanationOptions options;
  options.mostReasons = 2;
  EXPECT_THAT(*explanation(json.dump(), options), HasSubstr("... and 3 more reasons"));
  options.everyOperation = true;
  const std::string all = *explanation(json.dump(), options);
  EXPECT_THAT(all, HasSubstr("#4: reason e"));
  EXPECT_THAT(all, HasSubstr("#4         ADD   nnapi-reference  0"));
}

TEST(ExplanationTest, ReasonsThatDifferInFiguresAreOne) {
  Json json = document();
  for (uint32_t i = 0; i < 5; ++i) {
    json["operations"][i]["others"][0]["reason"] =
        i == 3 ? "predicted 2.5 ms, slower than 31 us" : "predicted 7 us, slower than 800 ns";
  }
  EXPECT_THAT(*explanation(json.dump(), {}),
              HasSubstr("not on acme-npu:\n  #0-#4: predicted 7 us, slower than 800 ns, the others "
                        "alike\n"));
}

TEST(ExplanationTest, OtherDocumentsAreAnError) {
  EXPECT_EQ(explanation("no JSON", {}).status().code(), ResultCode::OP_FAILED);
  EXPECT_EQ(explanation("{}", {}).status().code(), ResultCode::OP_FAILED);
  EXPECT_EQ(explanation(R"({"operations":1,"partitions":[3],"events":{}})", {}).status().code(),
            ResultCode::OP_FAILED);
}

class ExplainCommandTest : public CommandTest {
 protected:
  static std::string model() { return HALYARD_SOURCE_DIR "/models/fashion_mnist_float.tflite"; }
};

TEST_F(ExplainCommandTest, SaysWhereEachOperationIs) {
  const CommandOutcome text = halyard("explain '" + model() + "' --device cpu --runs 3");
  ASSERT_EQ(text.exitStatus, 0) << text.errors;
  EXPECT_THAT(text.output, HasSubstr("plan    1 partition, predicted "));
  EXPECT_THAT(text.output, HasSubstr("nnapi-reference"));
  const CommandOutcome outcome = halyard("explain '" + model() + "' --device cpu --runs 3 --json");
  ASSERT_EQ(outcome.exitStatus, 0) << outcome.errors;
  const Json json = Json::parse(outcome.output);
  for (const Json& operation : json["operations"]) {
    EXPECT_EQ(operation["device"], "nnapi-reference");
    EXPECT_TRUE(operation["others"].empty());
  }
}

// The chosen device's operations and the others' reasons account for every operation.
TEST_F(ExplainCommandTest, EveryOtherDeviceHasAReason) {
  const CommandOutcome outcome = halyard("explain '" + model() + "' --json");
  ASSERT_EQ(outcome.exitStatus, 0) << outcome.errors;
  const Json json = Json::parse(outcome.output);
  ASSERT_FALSE(json["operations"].empty());
  for (const Json& operation : json["operations"]) {
    EXPECT_FALSE(operation["device"].get<std::string>().empty());
    ASSERT_FALSE(operation["others"].empty());
    for (const Json& other : operation["others"]) {
      EXPECT_NE(other["device"], operation["device"]);
      EXPECT_FALSE(other["reason"].get<std::string>().empty());
    }
  }
}

TEST_F(ExplainCommandTest, StrictModeRefusesAndStillExplains) {
  const CommandOutcome outcome =
      halyard("explain '" + model() + "' --device cpu", "HALYARD_REQUIRE_DEVICE=halyard-reference");
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("halyard-reference"));
  EXPECT_THAT(outcome.output, HasSubstr("STRICT_REFUSED"));
}

}  // namespace
}  // namespace halyard::cli
