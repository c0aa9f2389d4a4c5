#include "validation/random_graphs/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/hal_target.h"
#include "cpu/cpu_device.h"
#include "drivers/reference/personality_device.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "validation/random_graphs/generator.h"

namespace halyard::random_graphs {
namespace {

using ::testing::HasSubstr;

class RandomGraphs : public ::testing::Test {
 protected:
  static std::unique_ptr<conformance::Target> targetOf(std::shared_ptr<hal::Device> device) {
    return conformance::makeHalTarget(std::make_shared<hal::ClientSession>(
        std::move(device), std::make_shared<hal::SessionServices>()));
  }
  void use(std::string_view personality) {
    auto parsed = drivers::parsePersonality(personality);
    ASSERT_TRUE(parsed.ok()) << parsed.status().toString();
    parsed->threads = 1;
    auto device = drivers::makePersonalityDevice(std::move(*parsed));
    ASSERT_TRUE(device.ok()) << device.status().toString();
    tested_ = targetOf(*device);
    runner_ = std::make_unique<TargetRunner>(*tested_, *reference_);
    const auto choices = supportedChoices(*runner_, allChoices());
    ASSERT_TRUE(choices.ok()) << choices.status().toString();
    choices_ = *choices;
  }
  // The verdict on a seed's graph. Keeps the graph.
  Verdict verdictOf(uint64_t seed, size_t operations) {
    auto graph = graphFor({seed, operations, choices_}, *runner_);
    EXPECT_TRUE(graph.ok()) << graph.status().toString();
    if (!graph.ok() || !graph->has_value()) return {Verdict::Kind::UNSUPPORTED, "nothing is left"};
    graph_ = **graph;
    return runner_->check(graph_);
  }

  const std::unique_ptr<conformance::Target> reference_ =
      targetOf(cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 1));
  std::unique_ptr<conformance::Target> tested_;
  std::unique_ptr<GraphRunner> runner_;
  std::vector<Choice> choices_;
  conformance::VectorCase graph_;
};

TEST_F(RandomGraphs, AGoodDevicePasses) {
  use("{}");
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Verdict verdict = verdictOf(seed, 25);
    EXPECT_EQ(verdict.kind, Verdict::Kind::PASSED) << "seed " << seed << ": " << verdict.reason;
  }
}

TEST_F(RandomGraphs, WhatIsNotSupportedIsLeftOut) {
  use(R"({"hal_version": "1.2", "supports": {"not_operations": ["RESHAPE", "ADD"]}})");
  EXPECT_FALSE(choices_.empty());
  size_t passed = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Verdict verdict = verdictOf(seed, 20);
    if (verdict.kind == Verdict::Kind::UNSUPPORTED) continue;
    ++passed;
    EXPECT_EQ(verdict.kind, Verdict::Kind::PASSED) << "seed " << seed << ": " << verdict.reason;
    for (const Operation& operation : graph_.model.main.operations) {
      EXPECT_NE(operation.type, OperationType::RESHAPE);
      EXPECT_NE(operation.type, OperationType::ADD);
    }
  }
  EXPECT_GE(passed, 15u);
}

// The wrong operation has an error of two percent, and is one of about a hundred operations.
TEST_F(RandomGraphs, AWrongOperationIsFoundAndLeftAlone) {
  for (const std::string wrong : {"CONV_2D", "MUL", "SOFTMAX", "TRANSPOSE", "REDUCE_SUM"}) {
    use(fmt::format(R"({{"wrong_values": {{"{}": 0.02}}}})", wrong));
    const auto type = operationTypeFromName(wrong);
    ASSERT_TRUE(type);
    // Only common operations, and the wrong one.
    std::erase_if(choices_, [&](const Choice& choice) {
      return choice.definition->controlFlow != ops::ControlFlow::NONE ||
             choice.definition->type > OperationType::TRANSPOSE;
    });
    for (const Choice& choice : allChoices()) {
      if (choice.definition->type == *type) choices_.push_back(choice);
    }
    bool found = false;
    for (uint64_t seed = 1; seed <= 300 && !found; ++seed) {
      const Verdict verdict = verdictOf(seed, 12);
      EXPECT_NE(verdict.kind, Verdict::Kind::BROKEN) << "seed " << seed << ": " << verdict.reason;
      if (verdict.kind != Verdict::Kind::FAILED) continue;
      found = true;
      const SmallestFailure smallest = findSmallest(graph_, verdict, *runner_);
      ASSERT_EQ(smallest.vectorCase.model.main.operations.size(), 1u) << wrong;
      EXPECT_EQ(smallest.vectorCase.model.main.operations[0].type, *type);
      EXPECT_THAT(smallest.verdict.reason, HasSubstr("output 0"));
    }
    EXPECT_TRUE(found) << wrong;
  }
}

TEST_F(RandomGraphs, FailuresOfADriverAreFailures) {
  use(R"({"faults": [{"at": "prepare", "operation": "MUL", "do": "fail", "text": "no tiles"}]})");
  bool found = false;
  for (uint64_t seed = 1; seed <= 300 && !found; ++seed) {
    const Verdict verdict = verdictOf(seed, 12);
    if (verdict.kind == Verdict::Kind::PASSED) continue;
    found = true;
    EXPECT_THAT(verdict.reason, HasSubstr("no tiles"));
    const SmallestFailure smallest = findSmallest(graph_, verdict, *runner_);
    EXPECT_LE(operationCount(smallest.vectorCase), 3u);
  }
  EXPECT_TRUE(found);
}

TEST_F(RandomGraphs, ACaseWhoseResultsAreWrongIsBroken) {
  use("{}");
  ASSERT_EQ(verdictOf(3, 4).kind, Verdict::Kind::PASSED);
  for (uint8_t& byte : graph_.outputs[0].bytes) byte ^= 0x55;
  EXPECT_EQ(runner_->check(graph_).kind, Verdict::Kind::BROKEN);
}

}  // namespace
}  // namespace halyard::random_graphs
