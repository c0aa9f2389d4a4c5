// Tests with random graphs: the search against all single devices and all assignments, results
// against the CPU.
#include "runtime/partition/partition_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "cpu/model_for_test.h"
#include "model/validation/validation.h"
#include "runtime/testing/fake_devices_for_test.h"
#include "runtime/testing/tiny_engine_for_test.h"

namespace halyard::runtime {
namespace {

using cpu::testing::TestModel;
using namespace testing;  // NOLINT(google-build-using-namespace): the fakes
using enum OperationType;

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t below(uint32_t end) { return engine_() % end; }
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_()) / 4294967295.0;
  }

 private:
  std::mt19937 engine_;
};

constexpr OperationType kUnary[] = {RELU, TANH, LOGISTIC, ABS};
constexpr OperationType kBinary[] = {ADD, MUL, SUB};

// Makes `operations` operations in a graph without cycles. Each reads one or two of the last
// `reach` values. Values without a reader are outputs, and sometimes other values, too.
TestModel randomModel(Random& random, uint32_t operations, uint32_t reach) {
  TestModel model;
  const Shape shape = {2, 1 + random.below(4)};
  std::vector<uint32_t> values = {model.input(shape), model.input(shape)};
  std::vector<uint32_t> constants;
  constants.push_back(model.constant<float>(OperandType::TENSOR_FLOAT32, {1}, {0.5F}));
  const auto pick = [&] {
    const auto count = static_cast<uint32_t>(values.size());
    return values[count - 1 - random.below(std::min(count, reach))];
  };
  for (uint32_t n = 0; n < operations; ++n) {
    const bool isLast = n + 1 == operations;
    const uint32_t out =
        isLast || random.below(8) == 0 ? model.output(shape) : model.temporary(shape);
    if (random.below(2) == 0) {
      const uint32_t in = pick();
      model.operation(kUnary[random.below(4)], {in}, {out});
    } else {
      const uint32_t left = pick();
      const uint32_t right = random.below(5) == 0 ? constants[0] : pick();
      model.operation(kBinary[random.below(3)], {left, right, model.int32(0)}, {out});
    }
    values.push_back(out);
  }
  // Every computed value is used.
  Subgraph& main = model.model().main;
  const std::vector<uint32_t> consumers = countConsumers(main);
  for (uint32_t i = 0; i < main.operands.size(); ++i) {
    Operand& operand = main.operands[i];
    if (operand.lifetime != Lifetime::TEMPORARY_VARIABLE || consumers[i] != 0) continue;
    operand.lifetime = Lifetime::SUBGRAPH_OUTPUT;
    main.outputIndexes.push_back(i);
  }
  return model;
}

SearchProblem randomProblem(Random& random, const PartitionGraph& graph, size_t devices) {
  SearchProblem problem{graph, {}};
  problem.candidates.resize(devices + 1);
  const size_t count = graph.operationCount();
  problem.candidates[devices].cost.assign(count, kNotCandidate);
  for (size_t d = 0; d < devices; ++d) {
    SearchProblem::Candidate& candidate = problem.candidates[d];
    candidate.isCpu = d + 1 == devices;
    if (!candidate.isCpu) candidate.link = {random.between(0, 4), random.between(0, 0.05)};
    for (size_t n = 0; n < count; ++n) {
      const bool takes = candidate.isCpu || random.below(4) != 0;
      candidate.cost.push_back(takes ? random.between(0.05, candidate.isCpu ? 4 : 2)
                                     : kNotCandidate);
    }
  }
  return problem;
}

std::vector<uint32_t> cheapestForEach(const SearchProblem& problem) {
  std::vector<uint32_t> deviceOf;
  for (size_t n = 0; n < problem.graph.operationCount(); ++n) {
    uint32_t best = 0;
    for (uint32_t k = 1; k < problem.candidates.size(); ++k) {
      if (problem.candidates[k].cost[n] < problem.candidates[best].cost[n]) best = k;
    }
    deviceOf.push_back(best);
  }
  return deviceOf;
}

// Returns the best of all possible assignments.
Assignment exhaustive(const SearchProblem& problem) {
  const size_t count = problem.graph.operationCount();
  std::vector<uint32_t> deviceOf(count, 0);
  std::optional<Assignment> best;
  while (true) {
    bool isLegal = true;
    for (size_t n = 0; n < count; ++n) {
      isLegal = isLegal && problem.candidates[deviceOf[n]].cost[n] != kNotCandidate;
    }
    if (isLegal) {
      Assignment candidate = evaluate(problem, deviceOf);
      if (!best || candidate.betterThan(*best)) best = std::move(candidate);
    }
    size_t n = 0;
    while (n < count && ++deviceOf[n] == problem.interpreted()) deviceOf[n++] = 0;
    if (n == count) return *best;
  }
}

TEST(PartitionSearchTest, IsNearTheBestOfAllForSmallGraphs) {
  double worst = 1;
  double sum = 0;
  constexpr int kProblems = 150;
  for (uint32_t seed = 0; seed < kProblems; ++seed) {
    Random random(seed);
    const uint32_t reach = 2 + random.below(3);
    const TestModel model = randomModel(random, 2 + random.below(6), reach);
    const PartitionGraph graph(model.share()->main, hal::OperandSizes());
    const SearchProblem problem = randomProblem(random, graph, 3);
    const Assignment found = improve(problem, cheapestForEach(problem));
    const Assignment best = exhaustive(problem);
    EXPECT_EQ(found.impossible, best.impossible) << "seed " << seed;
    const double ratio = found.total() / best.total();
    EXPECT_GT(ratio, 1 - 1e-9);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  EXPECT_LE(worst, 1.05);
  EXPECT_LE(sum / kProblems, 1.002);
}

TEST(PartitionSearchTest, IsNeverWorseThanTheStartOrASingleDevice) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Random random(1000 + seed);
    const uint32_t reach = 2 + random.below(40);
    const TestModel model = randomModel(random, 10 + random.below(300), reach);
    const PartitionGraph graph(model.share()->main, hal::OperandSizes());
    const size_t devices = 2 + random.below(5);
    const SearchProblem problem = randomProblem(random, graph, devices);
    const std::vector<uint32_t> start = cheapestForEach(problem);
    const Assignment found = improve(problem, start);
    EXPECT_FALSE(evaluate(problem, start).betterThan(found)) << "seed " << seed;
    for (uint32_t d = 0; d < devices; ++d) {
      const std::vector<double>& cost = problem.candidates[d].cost;
      if (std::find(cost.begin(), cost.end(), kNotCandidate) != cost.end()) continue;
      EXPECT_GE(evaluate(problem, std::vector<uint32_t>(cost.size(), d)).total(), found.total());
    }
    // A second search gives the same result. A search from the result does not change its cost.
    EXPECT_EQ(improve(problem, start).deviceOf, found.deviceOf);
  }
}

TEST(PartitionSearchTest, LargeGraphsKeepToTheirBudget) {
  Random random(7);
  for (const uint32_t reach : {1u, 50u}) {
    const TestModel model = randomModel(random, 10000, reach);
    const PartitionGraph graph(model.share()->main, hal::OperandSizes());
    const SearchProblem problem = randomProblem(random, graph, 4);
    const std::vector<uint32_t> start = cheapestForEach(problem);
    const Assignment before = evaluate(problem, start);
    const Assignment found = improve(problem, start);
    EXPECT_LT(found.total(), before.total());
    EXPECT_EQ(found.impossible, 0u);
  }
}

// --- Whole plans: every step's model is valid, and the results are those of the CPU device.

std::vector<TinyEngine::Bytes> randomInputs(Random& random, const Model& model) {
  std::vector<TinyEngine::Bytes> inputs;
  for (const uint32_t operand : model.main.inputIndexes) {
    const Operand& each = model.main.operands[operand];
    std::vector<float> values(*knownElementCount(each.dimensions));
    for (float& value : values) value = static_cast<float>(random.between(-2, 2));
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    inputs.emplace_back(bytes, bytes + values.size() * sizeof(float));
  }
  return inputs;
}

TEST(PartitionedModelsTest, ComputeWhatTheCpuDeviceDoes) {
  ::setenv("HALYARD_LOG", "quiet", 1);
  size_t compound = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    Random random(5000 + seed);
    const uint32_t reach = 1 + random.below(20);
    const std::shared_ptr<const Model> model =
        randomModel(random, 1 + random.below(60), reach).share();
    ASSERT_TRUE(validateModel(*model).ok());
    FakeDevices devices;
    const uint32_t count = 1 + random.below(4);
    for (uint32_t d = 0; d < count; ++d) {
      Script& script =
          devices.add(fmt::format("d{}", d), static_cast<float>(random.between(0.05, 1.2)));
      const uint32_t salt = random.below(1000);
      const uint32_t share = 1 + random.below(4);
      script.takes = [salt, share](const Model&, const Operation& operation) {
        return (static_cast<uint32_t>(operation.type) * 2654435761U + salt) % 5 < share;
      };
    }
    const CostSettings costs =
        random.below(3) == 0 ? noCosts() : flatCosts(random.between(0, 1500), 1);
    const auto plan = makePlan(model, devices.list(), costs);
    ASSERT_TRUE(plan.ok()) << plan.status().toString();
    if (!(*plan)->simple) ++compound;
    for (const ComputeStep& step : (*plan)->steps) {
      const auto level = validateModel(*step.model);
      ASSERT_TRUE(level.ok()) << level.status().toString();
    }
    const auto reference = makePlan(model, {devices.list().back()}, noCosts());
    ASSERT_TRUE(reference.ok());
    const std::vector<TinyEngine::Bytes> inputs = randomInputs(random, *model);
    EXPECT_EQ(TinyEngine(**plan, *model).run(inputs), TinyEngine(**reference, *model).run(inputs))
        << "seed " << seed << ": " << textOf(**plan);
  }
  EXPECT_GT(compound, 40u);
}

TEST(PartitionedModelsTest, ControlFlowAcrossDevices) {
  ::setenv("HALYARD_LOG", "quiet", 1);
  // while (x < limit) x = condition ? x + step : x * step, followed by tanh.
  TestModel adds;
  adds.add(adds.input({1}), adds.input({1}), adds.output({1}));
  TestModel multiplies;
  {
    const uint32_t x = multiplies.input({1});
    const uint32_t step = multiplies.input({1});
    const uint32_t between = multiplies.temporary({1});
    multiplies.operation(MUL, {x, step, multiplies.int32(0)}, {between});
    multiplies.operation(ABS, {between}, {multiplies.output({1})});
  }
  TestModel test;
  {
    const uint32_t x = test.input({1});
    const uint32_t limit = test.input({1});
    test.input({1});
    test.input({1}, OperandType::TENSOR_BOOL8);
    test.operation(LESS, {x, limit}, {test.output({1}, OperandType::TENSOR_BOOL8)});
  }
  TestModel body;
  {
    const uint32_t x = body.input({1});
    body.input({1});
    const uint32_t step = body.input({1});
    const uint32_t condition = body.input({1}, OperandType::TENSOR_BOOL8);
    const uint32_t thenModel = body.reference(adds);
    const uint32_t elseModel = body.reference(multiplies);
    body.operation(IF, {condition, thenModel, elseModel, x, step}, {body.output({1})});
  }
  TestModel model;
  const uint32_t x = model.input({1});
  const uint32_t limit = model.input({1});
  const uint32_t step = model.input({1});
  const uint32_t condition = model.input({1}, OperandType::TENSOR_BOOL8);
  const uint32_t first = model.reference(test);
  const uint32_t second = model.reference(body);
  const uint32_t grown = model.temporary({1});
  model.operation(WHILE, {first, second, x, limit, step, condition}, {grown});
  model.operation(TANH, {grown}, {model.output({1})});
  ASSERT_TRUE(validateModel(model.model()).ok());
  const std::shared_ptr<const Model> shared = model.share();

  FakeDevices devices;
  devices.add("a", 0.1F).takes = takesOnly({ADD, LESS});
  devices.add("b", 0.2F).takes = takesOnly({MUL, TANH});
  const auto plan = makePlan(shared, devices.list(), noCosts());
  ASSERT_TRUE(plan.ok()) << plan.status().toString();
  EXPECT_EQ(textOf(**plan), "while#0(a{0} do if#0(a{0} else b{0} nnapi-reference{1})) b{1}");
  const auto reference = makePlan(shared, {devices.list().back()}, noCosts());
  ASSERT_TRUE(reference.ok());
  const auto bytesOf = [](float value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    return TinyEngine::Bytes(bytes, bytes + sizeof(value));
  };
  for (const uint8_t isThen : {0, 1}) {
    const std::vector<TinyEngine::Bytes> inputs = {
        bytesOf(0.01F), bytesOf(0.9F), bytesOf(1.7F), {isThen}};
    EXPECT_EQ(TinyEngine(**plan, *shared).run(inputs),
              TinyEngine(**reference, *shared).run(inputs));
  }
}

}  // namespace
}  // namespace halyard::runtime
