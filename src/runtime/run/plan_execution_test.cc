// Tests of compound plans: values of known and unknown size between steps, and control flow.
#include <sys/mman.h>

#include <random>
#include <thread>

#include "runtime/partition/plan_roles.h"
#include "runtime/testing/plan_test_support.h"

namespace halyard::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum OperationType;

// out = ((a + 1) * a) - 1, each operation on another device.
std::shared_ptr<Model> chainModel(Shape shape = {2}) {
  auto model = std::make_shared<Model>();
  GraphBuilder graph(model.get(), &model->main);
  const uint32_t a = graph.input(shape);
  const uint32_t one = graph.constantFloats({1}, {1});
  const uint32_t t1 = graph.floats(shape);
  const uint32_t t2 = graph.floats(shape);
  const uint32_t out = graph.output(shape);
  graph.binary(ADD, a, one, t1);
  graph.binary(MUL, t1, a, t2);
  graph.binary(SUB, t2, one, out);
  return model;
}

TEST(PlanExecution, ValuesGoFromStepToStep) {
  TestDevices devices(2);
  const auto model = chainModel();
  const auto runner =
      runnerOf(model, planOf(*model, {&devices.at(0), &devices.at(1), &devices.at(2)}), devices);
  for (int i = 0; i < 3; ++i) {
    Arguments arguments{{{2, float(i)}}, {{0, 0}}, {}};
    const auto result = run(*runner, arguments);
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_THAT(arguments.outputs[0], ElementsAre(5, float(i * (i + 1) - 1)));
  }
  EXPECT_EQ(devices.script(0).executions, 3);
  EXPECT_EQ(devices.script(1).executions, 3);
  EXPECT_THAT(kindsOf(*runner), ElementsAre());
}

TEST(PlanExecution, OutputsOfTheModelAreReadByLaterSteps) {
  TestDevices devices(1);
  auto model = std::make_shared<Model>();
  GraphBuilder graph(model.get(), &model->main);
  const uint32_t a = graph.input({2});
  const uint32_t first = graph.output({2});
  const uint32_t second = graph.output({2});
  graph.operation(RELU, {a}, {first});
  graph.binary(ADD, first, a, second);
  const auto runner = runnerOf(model, planOf(*model, {&devices.at(0), &devices.at(1)}), devices);
  Arguments arguments{{{-1, 3}}, {{9, 9}, {9, 9}}, {}};
  const auto result = run(*runner, arguments);
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(arguments.outputs[0], ElementsAre(0, 3));
  EXPECT_THAT(arguments.outputs[1], ElementsAre(-1, 6));
}

TEST(PlanExecution, OutputsInMemoryThatMayNotBeReadAreReadAllTheSame) {
  TestDevices devices(1);
  auto model = std::make_shared<Model>();
  GraphBuilder graph(model.get(), &model->main);
  const uint32_t a = graph.input({2});
  const uint32_t first = graph.output({2});
  const uint32_t second = graph.output({2});
  graph.operation(RELU, {a}, {first});
  graph.binary(ADD, first, a, second);
  const auto runner =
      runnerOf(model, planOf(*model, {&devices.at(0), &devices.at(1)}), devices, true);
  const SharedMemoryPtr memory = SharedMemory::create(8, "test").value();
  const SharedMemoryPtr writeOnly = SharedMemory::fromFd(8, PROT_WRITE, memory->fd(), 0).value();
  Arguments arguments{{{-1, 3}}, {{9, 9}, {9, 9}}, {}};
  hal::Request request = arguments.request();
  request.outputs[0] = {};
  request.outputs[0].kind = hal::RequestArgument::Kind::POOL;
  request.outputs[0].location = {0, 0, 8};
  request.pools.push_back(writeOnly);
  const MemoryArguments none;
  const auto result = runner->run({request, none}, {}, nullptr);
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  float written[2] = {};
  std::memcpy(written, (*memory->mapped())->data(), 8);
  EXPECT_THAT(written, ElementsAre(0, 3));
  EXPECT_THAT(arguments.outputs[1], ElementsAre(-1, 6));
}

// A chain whose sizes are known only during an execution, because PAD makes values larger.
std::shared_ptr<Model> growingModel() {
  auto model = std::make_shared<Model>();
  GraphBuilder graph(model.get(), &model->main);
  const uint32_t a = graph.input({0});
  const uint32_t t1 = graph.floats({0});
  const uint32_t t2 = graph.floats({0});
  const uint32_t out = graph.output({0});
  const int32_t pads[] = {1, 2};
  const uint32_t padding = graph.constant(OperandType::TENSOR_INT32, {1, 2}, pads, sizeof(pads));
  graph.operation(PAD, {a, padding}, {t1});
  graph.operation(RELU, {t1}, {t2});
  graph.operation(PAD, {t2, padding}, {out});
  return model;
}

TEST(PlanExecution, ValuesOfUnknownSizeGrow) {
  TestDevices devices(2);
  const auto model = growingModel();
  const auto runner =
      runnerOf(model, planOf(*model, {&devices.at(0), &devices.at(1), &devices.at(0)}), devices);
  for (const uint32_t size : {3u, 5000u, 1u, 20000u}) {
    Arguments arguments{{std::vector<float>(size, 2)}, {std::vector<float>(size + 6, 9)}, {{size}}};
    const auto result = run(*runner, arguments);
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    std::vector<float> expected(size + 6, 0);
    std::fill_n(expected.begin() + 2, size, 2.0f);
    EXPECT_EQ(arguments.outputs[0], expected);
    ASSERT_EQ(result.outputShapes.size(), 1u);
    EXPECT_EQ(result.outputShapes[0].dimensions, Shape{size + 6});
  }
  EXPECT_THAT(kindsOf(*runner), ElementsAre());
}

TEST(PlanExecution, AnOutputThatIsTooSmallIsReportedWithItsShape) {
  TestDevices devices(2);
  const auto model = growingModel();
  const auto runner =
      runnerOf(model, planOf(*model, {&devices.at(0), &devices.at(1), &devices.at(0)}), devices);
  Arguments arguments{{{1, 2, 3}}, {{0, 0}}, {{3}}};
  const auto result = run(*runner, arguments);
  EXPECT_EQ(result.status.code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE);
  EXPECT_THAT(result.status.message(), HasSubstr("partition 2 on device test-0"));
  ASSERT_EQ(result.outputShapes.size(), 1u);
  EXPECT_EQ(result.outputShapes[0].dimensions, Shape{9});
  EXPECT_FALSE(result.outputShapes[0].isSufficient);
  EXPECT_THAT(kindsOf(*runner), ElementsAre());
}

// The wrong shape belongs to a value between two steps or to an output of the model.
TEST(PlanExecution, ShapesThatDoNotFitTheirPlacesAreFailures) {
  for (const size_t liar : {size_t{1}, size_t{0}}) {
    TestDevices devices(2);
    devices.script(liar).afterExecution = [](hal::ExecutionResult& result) {
      for (hal::OutputShape& shape : result.outputShapes) shape.dimensions[0] *= 1'000'000;
    };
    const auto model = growingModel();
    const auto runner =
        runnerOf(model, planOf(*model, {&devices.at(0), &devices.at(0), &devices.at(1)}), devices);
    Arguments arguments{{{2, 2, 2}}, {std::vector<float>(9, 9)}, {{3}}};
    const auto result = run(*runner, arguments);
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_THAT(arguments.outputs[0], ElementsAre(0, 0, 2, 2, 2, 0, 0, 0, 0));
    const auto events = runner->recovery().context().report->events();
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events[0].device, fmt::format("test-{}", liar));
    EXPECT_THAT(events[0].cause, HasSubstr("the driver's result: output 0: it reports dimensions"));
  }
}

// IF: out = condition ? a + a : a * a, in branches of two operations each.
std::shared_ptr<Model> branchModel() {
  auto model = std::make_shared<Model>();
  for (const OperationType type : {ADD, MUL}) {
    model->referenced.emplace_back();
    GraphBuilder branch(model.get(), &model->referenced.back());
    const uint32_t a = branch.input({2});
    const uint32_t t = branch.floats({2});
    const uint32_t out = branch.output({2});
    branch.binary(type, a, a, t);
    branch.operation(RELU, {t}, {out});
  }
  GraphBuilder graph(model.get(), &model->main);
  const uint32_t condition =
      graph.operand(OperandType::TENSOR_BOOL8, {1}, Lifetime::SUBGRAPH_INPUT);
  const uint32_t a = graph.input({2});
  const uint32_t t = graph.floats({2});
  const uint32_t out = graph.output({2});
  graph.operation(IF, {condition, graph.subgraphOperand(0), graph.subgraphOperand(1), a}, {t});
  graph.binary(ADD, t, a, out);
  return model;
}

TEST(PlanExecution, BranchesRunOnTheirOwnDevices) {
  TestDevices devices(2);
  const auto model = branchModel();
  auto plan = std::make_shared<Plan>();
  IfNode branch;
  for (uint32_t subgraph = 0; subgraph < 2; ++subgraph) {
    PlanSequence& sequence = subgraph == 0 ? branch.thenSequence : branch.elseSequence;
    sequence.push_back({addStep(plan.get(), *model, subgraph, devices.at(subgraph), {0})});
    sequence.push_back({addStep(plan.get(), *model, subgraph, devices.at(2), {1})});
  }
  plan->sequence.push_back({std::move(branch)});
  plan->sequence.push_back({addStep(plan.get(), *model, kMainSubgraph, devices.at(0), {1})});
  const auto runner = runnerOf(model, plan, devices);
  const MemoryArguments none;
  for (const uint8_t condition : {1, 0, 255}) {
    Arguments arguments{{{3, -3}}, {{0, 0}}, {}};
    hal::Request request = arguments.request();
    hal::RequestArgument first;
    first.kind = hal::RequestArgument::Kind::POINTER;
    uint8_t value = condition;
    first.pointer = &value;
    first.length = 1;
    request.inputs.insert(request.inputs.begin(), first);
    const auto result = runner->run({request, none}, {}, nullptr);
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_THAT(arguments.outputs[0], condition != 0 ? ElementsAre(9, -3) : ElementsAre(12, 6));
  }
  EXPECT_EQ(devices.script(1).executions, 1);
}

// WHILE (x < limit) { x = x + x; n = n + 1 }; outputs x and n.
std::shared_ptr<Model> loopModel() {
  auto model = std::make_shared<Model>();
  model->referenced.resize(2);
  {
    GraphBuilder condition(model.get(), &model->referenced[0]);
    const uint32_t x = condition.input({1});
    condition.input({1});
    const uint32_t limit = condition.input({1});
    const uint32_t out =
        condition.operand(OperandType::TENSOR_BOOL8, {1}, Lifetime::SUBGRAPH_OUTPUT);
    condition.operation(LESS, {x, limit}, {out});
  }
  {
    GraphBuilder body(model.get(), &model->referenced[1]);
    const uint32_t x = body.input({1});
    const uint32_t n = body.input({1});
    body.input({1});
    const uint32_t nextX = body.output({1});
    const uint32_t nextN = body.output({1});
    body.binary(ADD, x, x, nextX);
    body.binary(ADD, n, body.constantFloats({1}, {1}), nextN);
  }
  GraphBuilder graph(model.get(), &model->main);
  const uint32_t x = graph.input({1});
  const uint32_t limit = graph.input({1});
  const uint32_t zero = graph.constantFloats({1}, {0});
  const uint32_t t = graph.floats({1});
  const uint32_t n = graph.output({1});
  const uint32_t out = graph.output({1});
  graph.operation(WHILE, {graph.subgraphOperand(0), graph.subgraphOperand(1), x, zero, limit},
                  {t, n});
  graph.operation(RELU, {t}, {out});
  return model;
}

std::shared_ptr<Plan> loopPlan(const Model& model, const TestDevices& devices) {
  auto plan = std::make_shared<Plan>();
  WhileNode loop;
  loop.condition.push_back({addStep(plan.get(), model, 0, devices.at(2), {0})});
  loop.body.push_back({addStep(plan.get(), model, 1, devices.at(0), {0})});
  loop.body.push_back({addStep(plan.get(), model, 1, devices.at(1), {1})});
  plan->sequence.push_back({std::move(loop)});
  plan->sequence.push_back({addStep(plan.get(), model, kMainSubgraph, devices.at(1), {1})});
  return plan;
}

TEST(PlanExecution, LoopsRunOnSeveralDevices) {
  TestDevices devices(2);
  const auto model = loopModel();
  const auto runner = runnerOf(model, loopPlan(*model, devices), devices);
  for (const float limit : {0.0f, 1.5f, 100.0f}) {
    Arguments arguments{{{1}, {limit}}, {{-1}, {-1}}, {}};
    const auto result = run(*runner, arguments);
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    float x = 1;
    float n = 0;
    for (; x < limit; x += x) ++n;
    EXPECT_THAT(arguments.outputs[0], ElementsAre(n));
    EXPECT_THAT(arguments.outputs[1], ElementsAre(x));
  }
}

TEST(PlanExecution, AFailureAfterALoopDoesNotRunItAgain) {
  TestDevices devices(2);
  const auto model = loopModel();
  auto plan = loopPlan(*model, devices);
  plan->steps[3].prepared =
      *devices.at(1).hal().prepareModel(plan->steps[3].model, hal::PrepareOptions());
  const auto runner = runnerOf(model, plan, devices);
  int after = 0;
  devices.script(1).beforeExecution = [&](int number) {
    // Device 1 computes six times in the loop. Only the RELU after the loop fails.
    return number > 6 && ++after > 0 ? opFailed("out of sorts") : okStatus();
  };
  devices.script(0).unsupported = {RELU};
  Arguments arguments{{{1}, {64}}, {{-1}, {-1}}, {}};
  const auto result = run(*runner, arguments);
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(arguments.outputs[1], ElementsAre(64));
  EXPECT_EQ(after, 1);
  EXPECT_EQ(devices.script(0).executions, 6);
  EXPECT_THAT(kindsOf(*runner),
              ElementsAre(ReportEvent::Kind::EXECUTION_FAILED, ReportEvent::Kind::CPU_FALLBACK));
}

TEST(PlanExecution, RolesGoThroughControlFlow) {
  TestDevices devices(2);
  const auto loop = loopModel();
  const auto plan = loopPlan(*loop, devices);
  // Steps: 0 is the condition, 1 and 2 are the ADDs of the body, 3 is the RELU.
  using Role = StepRole;
  EXPECT_THAT(rolesOf(*loop, *plan, true, 0), ElementsAre(Role{0, true, 0}, Role{1, true, 0}));
  EXPECT_THAT(rolesOf(*loop, *plan, true, 1), ElementsAre(Role{0, true, 1}));
  EXPECT_THAT(rolesOf(*loop, *plan, false, 0), ElementsAre(Role{2, false, 0}, Role{2, true, 0}));
  EXPECT_THAT(rolesOf(*loop, *plan, false, 1), ElementsAre(Role{3, false, 0}));

  const auto branches = branchModel();
  auto branchPlan = std::make_shared<Plan>();
  IfNode branch;
  for (uint32_t subgraph = 0; subgraph < 2; ++subgraph) {
    PlanSequence& sequence = subgraph == 0 ? branch.thenSequence : branch.elseSequence;
    sequence.push_back(
        {addStep(branchPlan.get(), *branches, subgraph, devices.at(subgraph), {0, 1})});
  }
  branchPlan->sequence.push_back({std::move(branch)});
  branchPlan->sequence.push_back(
      {addStep(branchPlan.get(), *branches, kMainSubgraph, devices.at(0), {1})});
  EXPECT_THAT(rolesOf(*branches, *branchPlan, true, 0), ElementsAre());
  EXPECT_THAT(rolesOf(*branches, *branchPlan, true, 1),
              ElementsAre(Role{0, true, 0}, Role{1, true, 0}, Role{2, true, 0}));
}

TEST(PlanExecution, ALoopThatDoesNotEndMissesItsTimeout) {
  TestDevices devices(2);
  const auto model = loopModel();
  const auto runner = runnerOf(model, loopPlan(*model, devices), devices);
  Arguments arguments{{{0}, {1}}, {{-1}, {-1}}, {}};
  hal::ExecuteOptions options;
  options.loopTimeout = std::chrono::milliseconds(5);
  const auto result = run(*runner, arguments, options);
  EXPECT_EQ(result.status.code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
  EXPECT_THAT(result.status.message(), HasSubstr("operation #0 WHILE: the loop has not ended"));
  EXPECT_THAT(kindsOf(*runner), ElementsAre());
}

TEST(PlanExecution, TheDeadlineCountsBetweenSteps) {
  TestDevices devices(2);
  const auto model = chainModel();
  const auto runner =
      runnerOf(model, planOf(*model, {&devices.at(0), &devices.at(1), &devices.at(2)}), devices);
  Arguments arguments{{{1, 2}}, {{0, 0}}, {}};
  hal::ExecuteOptions options;
  options.deadline = hal::Clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(run(*runner, arguments, options).status.code(), ResultCode::MISSED_DEADLINE_PERSISTENT);
  options.deadline = hal::Clock::now() + std::chrono::milliseconds(50);
  devices.script(0).afterExecution = [&](hal::ExecutionResult&) {
    std::this_thread::sleep_until(*options.deadline);
  };
  const auto late = run(*runner, arguments, options).status;
  EXPECT_EQ(late.code(), ResultCode::MISSED_DEADLINE_TRANSIENT) << late.toString();
  EXPECT_EQ(devices.script(1).executions, 0);
}

}  // namespace
}  // namespace halyard::runtime::testing
