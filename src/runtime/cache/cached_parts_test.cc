// Tests of models that are prepared in parts. Each part has files of its own.
#include <fcntl.h>

#include "cpu/model_for_test.h"
#include "runtime/cache/cached_preparation.h"
#include "runtime/testing/caching_device_for_test.h"
#include "runtime/testing/fake_devices_for_test.h"
#include "runtime/testing/plan_test_support.h"

namespace halyard::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using State = CacheRecord::State;
using enum OperationType;

class CachedPartsTest : public CachingDeviceTest {
 protected:
  std::vector<const Device*> devices() {
    if (manager_ == nullptr) start();
    std::vector<const Device*> list;
    for (const Device& device : manager_->devices()) list.push_back(&device);
    return list;
  }
  std::shared_ptr<const CachedPreparation> caching() {
    return std::make_shared<CachedPreparation>(CachingRequest{token_, folder_ + "/", nullptr},
                                               std::make_shared<ConstantDigests>());
  }
  std::vector<State> statesOf(const std::shared_ptr<const Model>& model,
                              std::shared_ptr<const Plan>* plan = nullptr) {
    PreparationOptions options;
    options.caching = caching();
    Report report;
    auto made = makePlan(model, devices(), noCosts(), &report, options);
    EXPECT_TRUE(made.ok()) << made.status().toString();
    if (plan != nullptr && made.ok()) *plan = *made;
    std::vector<State> states;
    for (const PartitionReport& each : report.partitions()) {
      if (each.device == script_->name) states.push_back(each.cache.state);
    }
    return states;
  }
};

// a + a, TANH, + a, TANH, + a. The device does not support TANH.
std::shared_ptr<const Model> chain() {
  cpu::testing::TestModel model;
  const uint32_t a = model.input({2});
  uint32_t last = a;
  for (int i = 0; i < 2; ++i) {
    const uint32_t sum = model.temporary({2});
    const uint32_t bent = model.temporary({2});
    model.add(last, a, sum);
    model.operation(TANH, {sum}, {bent});
    last = bent;
  }
  model.add(last, a, model.output({2}));
  return model.share();
}

TEST_F(CachedPartsTest, EachPartHasItsOwnKey) {
  script_->unsupported = {TANH};
  const auto model = chain();
  EXPECT_THAT(statesOf(model), ElementsAre(State::MISS, State::MISS, State::MISS));
  EXPECT_THAT(files(), SizeIs(6));
  EXPECT_THAT(statesOf(model), ElementsAre(State::HIT, State::HIT, State::HIT));
  // A device that supports all operations gets the whole model.
  script_->unsupported.clear();
  EXPECT_THAT(statesOf(model), ElementsAre(State::MISS));
  EXPECT_THAT(statesOf(model), ElementsAre(State::HIT));
}

TEST_F(CachedPartsTest, PartsOfControlFlowHaveTheirOwnKeysToo) {
  script_->unsupported = {IF};
  cpu::testing::TestModel branch;
  const uint32_t in = branch.input({2});
  branch.add(in, in, branch.output({2}));
  cpu::testing::TestModel model;
  const uint32_t condition = model.input({1}, OperandType::TENSOR_BOOL8);
  const uint32_t x = model.input({2});
  // Both branches are the same subgraph.
  const uint32_t first = model.reference(branch);
  const uint32_t second = model.reference(branch);
  model.operation(IF, {condition, first, second, x}, {model.output({2})});
  const auto shared = model.share();
  EXPECT_THAT(statesOf(shared), ElementsAre(State::MISS, State::MISS));
  EXPECT_THAT(files(), SizeIs(4));
  EXPECT_THAT(statesOf(shared), ElementsAre(State::HIT, State::HIT));
}

TEST_F(CachedPartsTest, PartsOfAModelDoNotFitIntoTheApplicationsFiles) {
  script_->unsupported = {TANH};
  auto descriptors = std::make_shared<CachingRequest::Descriptors>();
  for (auto* list : {&descriptors->modelCache, &descriptors->dataCache}) {
    list->emplace_back(::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  }
  PreparationOptions options;
  options.caching = std::make_shared<CachedPreparation>(CachingRequest{token_, "", descriptors},
                                                        std::make_shared<ConstantDigests>());
  Report report;
  ASSERT_TRUE(makePlan(chain(), devices(), noCosts(), &report, options).ok());
  const CacheRecord cache = report.partitions().at(0).cache;
  EXPECT_EQ(cache.state, State::OFF);
  EXPECT_THAT(cache.reason, HasSubstr("prepared in parts"));
}

TEST_F(CachedPartsTest, ARestartedDriverGetsItFromTheFiles) {
  script_->unsupported = {TANH};
  const auto model = chain();
  std::shared_ptr<const Plan> plan;
  EXPECT_THAT(statesOf(model, &plan), ElementsAre(State::MISS, State::MISS, State::MISS));
  PlanContext context(validated(model).value());
  context.applicationOrder = sameOrder(*model);
  context.devices = devices();
  context.report = std::make_shared<Report>();
  context.report->setDecisions({{}, std::vector<PartitionReport>(plan->steps.size()), {}});
  context.caching = caching();
  PlanRunner runner(plan, context);
  ++script_->generation;
  (void)script_->takeCalls();
  Arguments arguments{{{0, 0}}, {{1, 1}}, {}};
  const auto result = run(runner, arguments);
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(arguments.outputs[0], ElementsAre(0, 0));
  for (const CachingScript::Call& call : script_->takeCalls()) EXPECT_TRUE(call.isLoad);
  size_t restarted = 0;
  for (const PartitionReport& each : context.report->partitions()) {
    if (each.cache.state == State::HIT) ++restarted;
  }
  EXPECT_EQ(restarted, 3u);
}

}  // namespace
}  // namespace halyard::runtime::testing
