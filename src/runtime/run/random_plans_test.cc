// Tests of random models that are divided at random and computed in each way that the API has. The
// results must be those of the CPU device alone, even while devices fail and drivers die.
#include <random>
#include <thread>

#include "runtime/compile/compilation.h"
#include "runtime/compile/memory_descriptor.h"
#include "runtime/execute/execution.h"
#include "runtime/testing/plan_test_support.h"

namespace halyard::runtime::testing {
namespace {

using enum OperationType;
using Direction = Execution::Direction;

constexpr std::array kBinary = {ADD, SUB, MUL};  // take an activation
constexpr std::array kPlainBinary = {MAXIMUM, MINIMUM};
constexpr std::array kUnary = {RELU, ABS, NEG, RELU6};

struct RandomModel {
  std::shared_ptr<Model> model = std::make_shared<Model>();
  size_t elements = 0;
};

// A model of elementwise operations on matrices. Operations of the model read some of its outputs.
// Some dimensions are known only during an execution.
RandomModel randomModel(std::mt19937& random, bool open) {
  const auto upTo = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  RandomModel result;
  Model& model = *result.model;
  GraphBuilder graph(&model, &model.main);
  const Shape real = {1 + upTo(8), 1 + upTo(8)};
  result.elements = size_t{real[0]} * real[1];
  const Shape declared = open ? Shape{0, real[1]} : real;
  std::vector<uint32_t> values;
  for (uint32_t i = 0; i <= upTo(3); ++i) values.push_back(graph.input(declared));
  std::vector<float> constant(result.elements);
  for (float& value : constant) value = static_cast<float>(upTo(5)) - 2;
  const uint32_t fixed = graph.constantFloats(real, constant);
  const uint32_t operations = 2 + upTo(40);
  for (uint32_t i = 0; i < operations; ++i) {
    const auto any = [&] {
      // New values are more likely, so that chains become long.
      const size_t last = values.size();
      return values[upTo(2) == 0 ? last - 1 - upTo(std::min<uint32_t>(3, last)) : upTo(last)];
    };
    const bool isOutput = i + 1 == operations || upTo(6) == 0;
    const uint32_t out = isOutput ? graph.output(declared) : graph.floats(declared);
    if (upTo(3) == 0) {
      graph.operation(kUnary[upTo(kUnary.size())], {any()}, {out});
    } else if (upTo(3) == 0) {
      graph.operation(kPlainBinary[upTo(kPlainBinary.size())], {any(), any()}, {out});
    } else {
      // A step must read at least one value that is not a constant.
      graph.binary(kBinary[upTo(kBinary.size())], any(), upTo(4) == 0 ? fixed : any(), out);
    }
    values.push_back(out);
  }
  // Each value that no operation reads becomes an output, so that each step has outputs.
  const std::vector<uint32_t> consumers = countConsumers(model.main);
  for (uint32_t i = 0; i < model.main.operands.size(); ++i) {
    Operand& operand = model.main.operands[i];
    if (operand.lifetime != Lifetime::TEMPORARY_VARIABLE || consumers[i] > 0) continue;
    operand.lifetime = Lifetime::SUBGRAPH_OUTPUT;
    model.main.outputIndexes.push_back(i);
  }
  return result;
}

// Builds the same model with the class of the API.
std::unique_ptr<ModelBuilder> builderOf(const Model& model, ExtensionRegistry& extensions) {
  auto builder = std::make_unique<ModelBuilder>(extensions);
  const auto expect = [](const Status& status) { EXPECT_TRUE(status.ok()) << status.toString(); };
  for (const Operand& operand : model.main.operands) {
    expect(builder->addOperand(operand.type, operand.dimensions, 0, 0));
  }
  for (uint32_t i = 0; i < model.main.operands.size(); ++i) {
    const Operand& operand = model.main.operands[i];
    if (operand.lifetime != Lifetime::CONSTANT_COPY) continue;
    expect(builder->setOperandValue(i, model.operandValues.data() + operand.location.offset,
                                    operand.location.length));
  }
  for (const Operation& operation : model.main.operations) {
    expect(builder->addOperation(operation.type, operation.inputs, operation.outputs));
  }
  expect(builder->identifyInputsAndOutputs(model.main.inputIndexes, model.main.outputIndexes));
  expect(builder->finish());
  return builder;
}

class RandomPlans : public ::testing::TestWithParam<uint32_t> {
 protected:
  RandomPlans() : random_(GetParam()), made_(randomModel(random_, GetParam() % 4 == 3)) {
    ::setenv("HALYARD_LOG", "quiet", 1);
    ::setenv("HALYARD_PARTITION_OVERHEAD", "off", 1);
    for (size_t d = 0; d < kDevices; ++d) {
      for (const OperationType type : {ADD, SUB, MUL, MAXIMUM, MINIMUM, RELU, ABS, NEG, RELU6}) {
        if (random_() % 2 == 0) devices_.script(d).unsupported.insert(type);
      }
    }
    builder_ = builderOf(*made_.model, devices_.manager().extensions());
    compilation_ = compile(devices_.all());
    const auto alone = compile({&devices_.manager().cpu()});
    inputs_.resize(made_.model->main.inputIndexes.size());
    for (std::vector<float>& input : inputs_) {
      input.resize(made_.elements);
      for (float& value : input) value = static_cast<float>(random_() % 7) - 3;
    }
    Outputs outputs = newOutputs();
    Execution execution(*alone);
    setPointers(execution, outputs);
    const Status status = execution.compute();
    EXPECT_TRUE(status.ok()) << status.toString();
    expected_ = outputs;
  }
  ~RandomPlans() override { ::unsetenv("HALYARD_PARTITION_OVERHEAD"); }

  std::unique_ptr<Compilation> compile(std::vector<const Device*> devices) {
    auto compilation = Compilation::create(*builder_, std::move(devices), false).value();
    const Status status = compilation->finish();
    EXPECT_TRUE(status.ok()) << status.toString();
    return compilation;
  }

  using Outputs = std::vector<std::vector<float>>;
  Outputs newOutputs() const {
    return Outputs(made_.model->main.outputIndexes.size(),
                   std::vector<float>(made_.elements, -77.0f));
  }
  ArgumentType type() const {
    const Shape& constant = made_.model->main.operands[inputs_.size()].dimensions;
    return {OperandType::TENSOR_FLOAT32, constant, 0, 0};
  }
  void setPointers(Execution& execution, Outputs& outputs) {
    const ArgumentType given = type();
    for (uint32_t i = 0; i < inputs_.size(); ++i) {
      const Status status = execution.setArgument(Direction::INPUT, i, &given, inputs_[i].data(),
                                                  made_.elements * sizeof(float));
      EXPECT_TRUE(status.ok()) << status.toString();
    }
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      const Status status = execution.setArgument(Direction::OUTPUT, i, nullptr, outputs[i].data(),
                                                  made_.elements * sizeof(float));
      EXPECT_TRUE(status.ok()) << status.toString();
    }
  }
  // Compares bytes, because a NaN is not equal to itself.
  static bool same(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  }
  void expectSame(const Status& status, const Outputs& outputs) {
    ASSERT_TRUE(status.ok()) << status.toString();
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(same(outputs[i], expected_[i])) << "output " << i;
    }
  }
  void expectRight() {
    Outputs outputs = newOutputs();
    Execution execution(*compilation_);
    setPointers(execution, outputs);
    const Status status = execution.compute();
    expectSame(status, outputs);
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      Shape shape;
      EXPECT_TRUE(execution.outputDimensions(i, &shape).ok());
      EXPECT_EQ(shape, type().dimensions);
    }
  }

  static constexpr size_t kDevices = 4;
  std::mt19937 random_;
  TestDevices devices_{kDevices};
  RandomModel made_;
  std::unique_ptr<ModelBuilder> builder_;
  std::unique_ptr<Compilation> compilation_;
  std::vector<std::vector<float>> inputs_;
  Outputs expected_;
};

TEST_P(RandomPlans, Compute) {
  expectRight();
  expectRight();
}

// Without this the other tests prove nothing about compound plans.
TEST_P(RandomPlans, AreMostlyOfSeveralSteps) {
  static size_t models = 0;
  static size_t compound = 0;
  ++models;
  if (compilation_->plan().steps.size() > 2) ++compound;
  EXPECT_GE(compound * 4 + 20, models * 3);
}

TEST_P(RandomPlans, ReusedInABurst) {
  Burst burst(*compilation_);
  Outputs outputs = newOutputs();
  Execution execution(*compilation_);
  setPointers(execution, outputs);
  ASSERT_TRUE(execution.setReusable(true).ok());
  for (int i = 0; i < 3; ++i) {
    for (std::vector<float>& output : outputs) std::ranges::fill(output, -77.0f);
    const Status status = i == 1 ? execution.compute() : execution.computeIn(burst);
    expectSame(status, outputs);
  }
}

TEST_P(RandomPlans, Fenced) {
  if (GetParam() % 4 == 3) GTEST_SKIP() << "open dimensions need no fences";
  Outputs outputs = newOutputs();
  Execution execution(*compilation_);
  setPointers(execution, outputs);
  auto fence = createFence();
  ASSERT_TRUE(fence.ok());
  auto before = Event::fromFence(fence->fence.get());
  ASSERT_TRUE(before.ok());
  Event* const dependencies[] = {before->get()};
  auto event = execution.startComputeWithDependencies(dependencies, 0);
  ASSERT_TRUE(event.ok()) << event.status().toString();
  fence->signaller.signal();
  const Status status = (*event)->wait();
  expectSame(status, outputs);
}

TEST_P(RandomPlans, InMemories) {
  Outputs outputs = newOutputs();
  Execution execution(*compilation_);
  const ArgumentType given = type();
  const size_t bytes = made_.elements * sizeof(float);
  const size_t stride = (bytes + 63) / 64 * 64;
  const auto memoryOf = [&](size_t count) {
    return std::make_unique<Memory>(SharedMemory::create(count * stride, "test").value());
  };
  const auto in = memoryOf(inputs_.size());
  const auto out = memoryOf(outputs.size());
  for (uint32_t i = 0; i < inputs_.size(); ++i) {
    std::memcpy((*in->pool()->mapped())->data() + i * stride, inputs_[i].data(), bytes);
    ASSERT_TRUE(
        execution.setArgumentFromMemory(Direction::INPUT, i, &given, *in, i * stride, bytes).ok());
  }
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    ASSERT_TRUE(
        execution.setArgumentFromMemory(Direction::OUTPUT, i, nullptr, *out, i * stride, bytes)
            .ok());
  }
  const Status status = execution.compute();
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::memcpy(outputs[i].data(), (*out->pool()->mapped())->data() + i * stride, bytes);
  }
  expectSame(status, outputs);
}

// Each input and output has memory of its own, on a device where that is possible. Then the devices
// fail. The contents of their buffers must reach the devices that replace them.
TEST_P(RandomPlans, InMemoriesFromDescriptors) {
  std::vector<std::unique_ptr<Memory>> memories;
  const ArgumentType given = type();
  const size_t bytes = made_.elements * sizeof(float);
  const auto describe = [&](bool isInput, uint32_t index) {
    MemoryDescriptor descriptor;
    EXPECT_TRUE(descriptor.addRole(*compilation_, isInput, index, 1).ok());
    EXPECT_TRUE(descriptor.setDimensions(given.dimensions).ok());
    EXPECT_TRUE(descriptor.finish().ok());
    auto memory = descriptor.createMemory();
    EXPECT_TRUE(memory.ok()) << memory.status().toString();
    memories.push_back(std::move(*memory));
    return memories.back().get();
  };
  Execution execution(*compilation_);
  for (uint32_t i = 0; i < inputs_.size(); ++i) {
    const Memory* const memory = describe(true, i);
    const Memory values(SharedMemory::create(bytes, "test").value());
    std::memcpy((*values.pool()->mapped())->data(), inputs_[i].data(), bytes);
    ASSERT_TRUE(Memory::copy(values, *memory).ok());
    ASSERT_TRUE(execution.setArgumentFromMemory(Direction::INPUT, i, &given, *memory, 0, 0).ok());
  }
  std::vector<const Memory*> results;
  for (uint32_t i = 0; i < expected_.size(); ++i) {
    results.push_back(describe(false, i));
    ASSERT_TRUE(
        execution.setArgumentFromMemory(Direction::OUTPUT, i, &given, *results[i], 0, 0).ok());
  }
  ASSERT_TRUE(execution.setReusable(true).ok());
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Status status = execution.compute();
    ASSERT_TRUE(status.ok()) << status.toString();
    for (size_t i = 0; i < results.size(); ++i) {
      const Memory copy(SharedMemory::create(bytes, "test").value());
      ASSERT_TRUE(Memory::copy(*results[i], copy).ok());
      std::vector<float> values(made_.elements);
      std::memcpy(values.data(), (*copy.pool()->mapped())->data(), bytes);
      EXPECT_TRUE(same(values, expected_[i])) << "output " << i << ", attempt " << attempt;
    }
    for (size_t d = 0; d < kDevices; ++d) {
      if (random_() % 2 == 0) continue;
      devices_.script(d).beforeExecution = [](int) { return opFailed("out of sorts"); };
    }
  }
}

TEST_P(RandomPlans, RightWhateverFails) {
  for (size_t d = 0; d < kDevices; ++d) {
    DeviceScript& script = devices_.script(d);
    const uint32_t kind = random_() % 4;
    const int period = 2 + static_cast<int>(random_() % 9);
    script.beforeExecution = [&script, kind, period](int number) {
      if (number % period != 0 || kind == 0) return okStatus();
      if (kind == 1) script.die();
      if (kind == 2) return opFailed("out of sorts");
      if (kind == 3) return Status(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, "busy");
      return okStatus();
    };
  }
  for (int i = 0; i < 6; ++i) expectRight();
}

TEST_P(RandomPlans, ManyThreads) {
  if (GetParam() % 16 != 0) GTEST_SKIP() << "a few are enough";
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([this, i] {
      for (int k = 0; k < 20; ++k) {
        if (i == 0 && k == 10) devices_.script(k % kDevices).die();
        expectRight();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPlans, ::testing::Range(0u, 225u));

}  // namespace
}  // namespace halyard::runtime::testing
