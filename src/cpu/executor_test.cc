// Tests of Executor: binding, shapes, insufficient outputs, memory, deadlines, errors, threads.
#include "cpu/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <numeric>
#include <thread>

#include "cpu/executor_for_test.h"
#include "cpu/model_for_test.h"
#include "model/validation/validation.h"

namespace halyard::cpu {
namespace {

using testing::argumentOf;
using ::testing::ElementsAre;
using testing::executorFor;
using ::testing::HasSubstr;
using testing::TestModel;

hal::ExecutionResult execute(Executor& executor, std::vector<Argument> inputs,
                             std::vector<Argument> outputs, hal::ExecuteOptions options = {}) {
  return executor.execute(inputs, outputs, options);
}

// (a + b) + a, with a temporary in between.
TestModel twoAdds(const Shape& dims) {
  TestModel test;
  const uint32_t a = test.input(dims);
  const uint32_t b = test.input(dims);
  const uint32_t sum = test.temporary(dims);
  test.add(a, b, sum).add(sum, a, test.output(dims));
  return test;
}

TEST(Executor, RunsOperationsInOrder) {
  const auto executor = executorFor(twoAdds({2, 2}));
  std::vector<float> a{1, 2, 3, 4};
  std::vector<float> b{10, 20, 30, 40};
  std::vector<float> out(4);
  const auto result = execute(*executor, {argumentOf(a), argumentOf(b)}, {argumentOf(out)});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(out, ElementsAre(12, 24, 36, 48));
  ASSERT_EQ(result.outputShapes.size(), 1u);
  EXPECT_THAT(result.outputShapes[0].dimensions, ElementsAre(2, 2));
  EXPECT_TRUE(result.outputShapes[0].isSufficient);
  EXPECT_FALSE(result.timing.timeInDriver.has_value());
}

TEST(Executor, AnOutputMayBeReadByLaterOperations) {
  TestModel test;
  const uint32_t a = test.input({2});
  const uint32_t first = test.output({2});
  const uint32_t second = test.output({2});
  test.add(a, a, first).add(first, a, second);
  const auto executor = executorFor(test);
  for (bool shared : {false, true}) {
    std::vector<float> in{1, 2};
    std::vector<float> out1(2);
    std::vector<float> out2(3, -1);
    Argument firstOut = argumentOf(out1);
    firstOut.shared = shared;
    const auto result = execute(*executor, {argumentOf(in)}, {firstOut, argumentOf(out2)});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_THAT(out1, ElementsAre(2, 4));
    // The execution writes nothing beyond the output's size.
    EXPECT_THAT(out2, ElementsAre(3, 6, -1));
  }
}

// Shared memory may change during an execution. Here the first output overwrites the input.
TEST(Executor, SharedInputsAreReadOnce) {
  TestModel test;
  const uint32_t a = test.input({2});
  const uint32_t first = test.output({2});
  const uint32_t second = test.output({2});
  test.add(a, a, first).add(first, a, second);
  const auto executor = executorFor(test);
  std::vector<float> memory{1, 2};
  std::vector<float> out(2);
  Argument shared = argumentOf(memory);
  shared.shared = true;
  const auto result = execute(*executor, {shared}, {shared, argumentOf(out)});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(memory, ElementsAre(2, 4));
  EXPECT_THAT(out, ElementsAre(3, 6));
}

TEST(Executor, ShapesComeFromTheArgumentsWhereTheModelLeavesThemOpen) {
  TestModel test;
  const uint32_t a = test.input({0, 2});
  const uint32_t b = test.input({});
  const uint32_t sum = test.temporary({});
  test.add(a, b, sum).add(sum, a, test.output({0, 0}));
  const auto executor = executorFor(test);
  std::vector<float> in{1, 2, 3, 4, 5, 6};
  std::vector<float> row{100, 200};
  std::vector<float> out(6);
  auto result =
      execute(*executor, {argumentOf(in, {3, 2}), argumentOf(row, {2})}, {argumentOf(out)});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(result.outputShapes[0].dimensions, ElementsAre(3, 2));
  EXPECT_THAT(out, ElementsAre(102, 204, 106, 208, 110, 212));

  result = execute(*executor, {argumentOf(in), argumentOf(row, {2})}, {argumentOf(out)});
  EXPECT_EQ(result.status.code(), ResultCode::BAD_DATA);
  EXPECT_THAT(result.status.message(), HasSubstr("input 0: TENSOR_FLOAT32[?,2]"));
  EXPECT_TRUE(result.outputShapes.empty());
  result = execute(*executor, {argumentOf(in, {2, 3}), argumentOf(row, {2})}, {argumentOf(out)});
  EXPECT_EQ(result.status.message(), "input 0: has dimensions [2,3], the model says [?,2]");
  result = execute(*executor, {argumentOf(in, {6}), argumentOf(row, {2})}, {argumentOf(out)});
  EXPECT_EQ(result.status.code(), ResultCode::BAD_DATA);
}

TEST(Executor, InferredDimensionsMustAgreeWithTheDeclaredOnes) {
  TestModel test;
  const uint32_t a = test.input({});
  const uint32_t sum = test.temporary({0, 3});
  test.add(a, a, sum).add(sum, a, test.output({}));
  const auto executor = executorFor(test);
  std::vector<float> in(6);
  std::vector<float> out(6);
  auto result = execute(*executor, {argumentOf(in, {2, 3})}, {argumentOf(out)});
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  result = execute(*executor, {argumentOf(in, {3, 2})}, {argumentOf(out)});
  EXPECT_EQ(
      result.status.toString(),
      "OP_FAILED: operation #0 ADD: output 0 (operand #1): its dimensions are [3,2], declared "
      "[?,3]");
  result = execute(*executor, {argumentOf(in, {6})}, {argumentOf(out)});
  EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED);
  // The dimensions of an output in the request count as declared.
  result = execute(*executor, {argumentOf(in, {2, 3})}, {argumentOf(out, {3, 2})});
  EXPECT_THAT(result.status.message(), HasSubstr("operation #1 ADD: output 0"));
}

TEST(Executor, TooSmallOutputsReportAllShapes) {
  TestModel test;
  const uint32_t a = test.input({0});
  const uint32_t first = test.output({0});
  const uint32_t sum = test.temporary({0});
  const uint32_t second = test.output({0});
  const uint32_t third = test.output({0});
  test.add(a, a, first).add(first, a, sum).add(sum, a, second).add(a, a, third);
  const auto executor = executorFor(test);
  std::vector<float> in{1, 2, 3};
  std::vector<float> tooSmall(2, -1);
  std::vector<float> enough(4, -1);
  const auto result = execute(*executor, {argumentOf(in, {3})},
                              {argumentOf(tooSmall), argumentOf(enough), Argument{}});
  EXPECT_EQ(
      result.status.toString(),
      "OUTPUT_INSUFFICIENT_SIZE: output 0 is TENSOR_FLOAT32[3] of 12 bytes, its buffer has 8; "
      "output 2 is TENSOR_FLOAT32[3] of 12 bytes, its buffer has 0");
  ASSERT_EQ(result.outputShapes.size(), 3u);
  for (const hal::OutputShape& shape : result.outputShapes) {
    EXPECT_THAT(shape.dimensions, ElementsAre(3));
  }
  EXPECT_FALSE(result.outputShapes[0].isSufficient);
  EXPECT_TRUE(result.outputShapes[1].isSufficient);
  EXPECT_FALSE(result.outputShapes[2].isSufficient);
  EXPECT_THAT(tooSmall, ElementsAre(-1, -1));
}

// A later shape depends on the values of an output whose buffer is too small.
TEST(Executor, ValuesOfTooSmallOutputsStillShapeLaterOnes) {
  TestModel test;
  const uint32_t data = test.input({6});
  const uint32_t half = test.input({2}, OperandType::TENSOR_INT32);
  const uint32_t shape = test.output({2}, OperandType::TENSOR_INT32);
  const uint32_t reshaped = test.output({0, 0});
  test.add(half, half, shape);
  test.operation(OperationType::RESHAPE, {data, shape}, {reshaped});
  const auto executor = executorFor(test);
  std::vector<float> in{1, 2, 3, 4, 5, 6};
  std::vector<int32_t> halves{1, 1};
  std::vector<float> out(6);
  auto result =
      execute(*executor, {argumentOf(in), argumentOf(halves)}, {Argument{}, argumentOf(out)});
  // 2 x 2 is not 6.
  EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED) << result.status.toString();
  std::vector<float> four(4);
  TestModel again;
  const uint32_t data4 = again.input({4});
  const uint32_t half4 = again.input({2}, OperandType::TENSOR_INT32);
  const uint32_t shape4 = again.output({2}, OperandType::TENSOR_INT32);
  const uint32_t reshaped4 = again.output({0, 0});
  again.add(half4, half4, shape4);
  again.operation(OperationType::RESHAPE, {data4, shape4}, {reshaped4});
  result = execute(*executorFor(again), {argumentOf(four), argumentOf(halves)},
                   {Argument{}, argumentOf(out)});
  EXPECT_EQ(result.status.code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE) << result.status.toString();
  ASSERT_EQ(result.outputShapes.size(), 2u);
  EXPECT_THAT(result.outputShapes[0].dimensions, ElementsAre(2));
  EXPECT_FALSE(result.outputShapes[0].isSufficient);
  EXPECT_THAT(result.outputShapes[1].dimensions, ElementsAre(2, 2));
  EXPECT_TRUE(result.outputShapes[1].isSufficient);
}

TEST(Executor, BuffersNeedNoAlignment) {
  const auto executor = executorFor(twoAdds({2}));
  std::vector<uint8_t> a(9);
  std::vector<uint8_t> b(9);
  std::vector<uint8_t> out(9);
  const float values[] = {1, 2};
  std::memcpy(a.data() + 1, values, 8);
  std::memcpy(b.data() + 1, values, 8);
  const auto result =
      execute(*executor, {{a.data() + 1, 8, {}, false}, {b.data() + 1, 8, {}, false}},
              {{out.data() + 1, 8, {}, false}});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  float sums[2];
  std::memcpy(sums, out.data() + 1, 8);
  EXPECT_THAT(sums, ElementsAre(3, 6));
}

TEST(Executor, RefusesArgumentsThatDoNotSuitTheModel) {
  const auto executor = executorFor(twoAdds({2, 2}));
  std::vector<float> four(4);
  std::vector<float> three(3);
  std::vector<float> out(4);
  const auto refusal = [&](std::vector<Argument> inputs, std::vector<Argument> outputs) {
    const auto result = execute(*executor, std::move(inputs), std::move(outputs));
    EXPECT_TRUE(result.outputShapes.empty());
    return result.status.toString();
  };
  EXPECT_EQ(refusal({argumentOf(four), argumentOf(three)}, {argumentOf(out)}),
            "BAD_DATA: input 1: has 12 bytes, TENSOR_FLOAT32[2,2] needs 16");
  EXPECT_EQ(refusal({argumentOf(four)}, {argumentOf(out)}), "BAD_DATA: 1 inputs, the model has 2");
  EXPECT_EQ(refusal({argumentOf(four), argumentOf(four)}, {}),
            "BAD_DATA: 0 outputs, the model has 1");
  EXPECT_EQ(refusal({argumentOf(four), {nullptr, 16, {}, false}}, {argumentOf(out)}),
            "BAD_DATA: input 1: is null, but 16 bytes long");
  EXPECT_EQ(refusal({argumentOf(four), argumentOf(four)}, {{nullptr, 16, {}, false}}),
            "BAD_DATA: output 0 is null, but 16 bytes long");
  EXPECT_EQ(refusal({argumentOf(four), argumentOf(four)}, {argumentOf(out, {4})}),
            "BAD_DATA: output 0: has dimensions [4], the model says [2,2]");
  // The input is omitted, but the operation needs it.
  EXPECT_THAT(refusal({argumentOf(four), Argument{}}, {argumentOf(out)}),
              HasSubstr("OP_FAILED: operation #0 ADD: input 1"));
  // A longer buffer is allowed.
  std::vector<float> ten(10, 1.0f);
  EXPECT_TRUE(
      execute(*executor, {argumentOf(ten), argumentOf(four)}, {argumentOf(ten)}).status.ok());
}

TEST(Executor, ShapesBeyond32BitsAreRefused) {
  TestModel test;
  const uint32_t a = test.input({0, 1});
  const uint32_t b = test.input({1, 0});
  test.add(a, b, test.output({}));
  const auto executor = executorFor(test);
  std::vector<float> column(100000);
  std::vector<float> out(1);
  const auto result =
      execute(*executor, {argumentOf(column, {100000, 1}), argumentOf(column, {1, 100000})},
              {argumentOf(out)});
  EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(result.status.message(), HasSubstr("operation #0 ADD"));
}

TEST(Executor, NamesTheOperationThatTheCpuLacks) {
  TestModel test = twoAdds({2});
  test.operation(static_cast<OperationType>(0x10001), {0}, {test.output({2})});
  const auto executor = Executor::create(test.share(), nullptr);
  EXPECT_EQ(executor.status().code(), ResultCode::BAD_DATA);
  EXPECT_THAT(executor.status().message(), HasSubstr("operation #2"));
  EXPECT_THAT(executor.status().message(), HasSubstr("the CPU device does not have it"));
}

TEST(Executor, ConstantsInPoolsAtAnyOffset) {
  for (uint32_t offset : {0u, 4u, 5u}) {
    auto memory = SharedMemory::create(64, "constants");
    ASSERT_TRUE(memory.ok());
    {
      auto mapping = (*memory)->map();
      ASSERT_TRUE(mapping.ok());
      const float values[] = {10, 20};
      std::memcpy(mapping->data() + offset, values, sizeof(values));
    }
    TestModel test;
    test.model().pools.push_back(*memory);
    const uint32_t term = test.poolConstant(OperandType::TENSOR_FLOAT32, {2}, {0, offset, 8});
    test.add(test.input({2}), term, test.output({2}));
    const auto executor = executorFor(test);
    test.model().pools.clear();
    *memory = nullptr;
    std::vector<float> in{1, 2};
    std::vector<float> out(2);
    ASSERT_TRUE(execute(*executor, {argumentOf(in)}, {argumentOf(out)}).status.ok());
    EXPECT_THAT(out, ElementsAre(11, 22)) << offset;
  }
}

// The executor reads sizes and indices in a pool once. A later change has no effect.
TEST(Executor, IndicesInPoolsAreReadAtCreation) {
  auto memory = SharedMemory::create(8, "shape");
  ASSERT_TRUE(memory.ok());
  auto mapping = (*memory)->map();
  ASSERT_TRUE(mapping.ok());
  auto* shape = reinterpret_cast<int32_t*>(mapping->data());
  shape[0] = 2;
  shape[1] = 3;
  TestModel test;
  test.model().pools.push_back(*memory);
  const uint32_t shapeOperand = test.poolConstant(OperandType::TENSOR_INT32, {2}, {0, 0, 8});
  test.operation(OperationType::RESHAPE, {test.input({6}), shapeOperand}, {test.output({})});
  const auto executor = executorFor(test);
  shape[0] = 1000000;
  std::vector<float> in(6);
  std::vector<float> out(6);
  const auto result = execute(*executor, {argumentOf(in)}, {argumentOf(out)});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_THAT(result.outputShapes[0].dimensions, ElementsAre(2, 3));
}

TEST(Executor, UnmappablePoolsAreNamed) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  TestModel test;
  auto good = SharedMemory::create(8, "good");
  auto bad = SharedMemory::fromFd(8, PROT_READ, reader.get(), 0);
  ASSERT_TRUE(good.ok() && bad.ok());
  test.model().pools = {*good, *bad};
  const uint32_t term = test.poolConstant(OperandType::TENSOR_FLOAT32, {2}, {1, 0, 8});
  test.add(test.input({2}), term, test.output({2}));
  Status status = Executor::create(test.share(), nullptr).status();
  EXPECT_EQ(status.code(), ResultCode::UNMAPPABLE);
  EXPECT_THAT(status.message(), HasSubstr("model pool 1"));

  auto writeOnly = SharedMemory::fromFd(8, PROT_WRITE, (*good)->fd(), 0);
  ASSERT_TRUE(writeOnly.ok());
  test.model().pools[1] = *writeOnly;
  status = Executor::create(test.share(), nullptr).status();
  EXPECT_EQ(status.toString(), "UNMAPPABLE: model pool 1 may not be read");
}

// `length` additions of [elements] tensors in sequence.
TestModel chain(size_t length, uint32_t elements) {
  TestModel test;
  const uint32_t a = test.input({elements});
  uint32_t last = a;
  for (size_t i = 0; i + 1 < length; ++i) {
    const uint32_t next = test.temporary({elements});
    test.add(last, a, next);
    last = next;
  }
  test.add(last, a, test.output({elements}));
  return test;
}

TEST(Executor, Deadlines) {
  constexpr uint32_t kElements = 1 << 20;
  const auto executor = executorFor(chain(3000, kElements));
  std::vector<float> in(kElements);
  std::vector<float> out(kElements);
  hal::ExecuteOptions options;
  options.deadline = hal::Clock::now() - std::chrono::seconds(1);
  auto result = execute(*executor, {argumentOf(in)}, {argumentOf(out)}, options);
  EXPECT_EQ(result.status.code(), ResultCode::MISSED_DEADLINE_PERSISTENT);

  const auto start = hal::Clock::now();
  options.deadline = start + std::chrono::milliseconds(200);
  result = execute(*executor, {argumentOf(in)}, {argumentOf(out)}, options);
  const auto elapsed = hal::Clock::now() - start;
  EXPECT_EQ(result.status.code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
  EXPECT_THAT(result.status.message(), HasSubstr("operation #"));
  EXPECT_TRUE(result.outputShapes.empty());
  // The execution stops soon. The whole chain takes many times as long on any machine.
  EXPECT_GE(elapsed, std::chrono::milliseconds(200));

  const auto small = executorFor(chain(3, 2));
  options.deadline = hal::Clock::now() + std::chrono::hours(1);
  std::vector<float> two{1, 2};
  EXPECT_TRUE(execute(*small, {argumentOf(two)}, {argumentOf(out)}, options).status.ok());
}

// One operation that computes for many seconds on any machine: an average over windows of 255 x
// 255.
TestModel longKernel() {
  TestModel test;
  const Shape shape{1, 512, 512, 32};
  const uint32_t in = test.input(shape);
  std::vector<uint32_t> inputs{in};
  for (int32_t value : {127, 127, 127, 127, 1, 1, 255, 255, 0}) inputs.push_back(test.int32(value));
  return test.operation(OperationType::AVERAGE_POOL_2D, inputs, {test.output(shape)});
}

TEST(Executor, ADeadlineEndsALongKernel) {
  std::vector<float> in(512 * 512 * 32);
  std::vector<float> out(in.size());
  for (unsigned threads : {0u, 1u, 2u}) {
    SCOPED_TRACE(threads);
    ThreadPool pool(threads == 0 ? 1 : threads);
    const auto executor = *Executor::create(longKernel().share(), threads == 0 ? nullptr : &pool);
    hal::ExecuteOptions options;
    const auto start = hal::Clock::now();
    options.deadline = start + std::chrono::milliseconds(30);
    const auto result = execute(*executor, {argumentOf(in)}, {argumentOf(out)}, options);
    EXPECT_LT(hal::Clock::now() - start, std::chrono::seconds(1));
    EXPECT_EQ(result.status.code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
    EXPECT_THAT(result.status.message(), HasSubstr("operation #0"));
    EXPECT_THAT(result.status.message(), Not(HasSubstr("before operation")));
    EXPECT_TRUE(result.outputShapes.empty());
  }
}

TEST(Executor, CancellationEndsALongKernel) {
  std::vector<float> in(512 * 512 * 32);
  std::vector<float> out(in.size());
  ThreadPool pool(2);
  const auto executor = *Executor::create(longKernel().share(), &pool);
  std::stop_source source;
  hal::ExecuteOptions options;
  options.cancel = source.get_token();
  hal::TimePoint asked;
  std::jthread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    asked = hal::Clock::now();
    source.request_stop();
  });
  const auto result = execute(*executor, {argumentOf(in)}, {argumentOf(out)}, options);
  const auto ended = hal::Clock::now();
  canceller.join();
  EXPECT_LT(ended - asked, std::chrono::seconds(1));
  EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(result.status.message(), HasSubstr("cancelled"));
}

size_t peakResidentKilobytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "VmHWM:") {
      size_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes;
    }
  }
  return 0;
}

TEST(Executor, MemoryStaysNearTheLiveSet) {
  constexpr uint32_t kElements = 1 << 20;  // 4 MiB each
  constexpr size_t kOperations = 100;
  const auto executor = executorFor(chain(kOperations, kElements));
  std::vector<float> in(kElements, 1.0f);
  std::vector<float> out(kElements);
  // Resets the peak to the current resident size.
  std::ofstream("/proc/self/clear_refs") << "5";
  const size_t before = peakResidentKilobytes();
  ASSERT_TRUE(execute(*executor, {argumentOf(in)}, {argumentOf(out)}).status.ok());
  EXPECT_EQ(out[kElements - 1], kOperations + 1.0f);
  EXPECT_LT(peakResidentKilobytes() - before, 64u * 1024) << "of " << kOperations * 4 << " MiB";
}

TEST(Executor, ReportsItsMemory) {
  // A chain: at any time two temporaries of 4096 bytes are alive.
  TestModel test;
  uint32_t last = test.input({1024});
  for (int i = 0; i < 10; ++i) {
    const uint32_t next = test.temporary({1024});
    test.add(last, last, next);
    last = next;
  }
  test.add(last, last, test.output({1024}));
  const auto executor = executorFor(test);
  EXPECT_EQ(executor->memoryUse().planned, 8192u);
  EXPECT_EQ(executor->memoryUse().peak, 0u);
  std::vector<float> in(1024, 1);
  std::vector<float> out(1024);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(execute(*executor, {argumentOf(in)}, {argumentOf(out)}).status.ok());
    EXPECT_EQ(out[1023], 2048);
    EXPECT_EQ(executor->memoryUse().peak, 8192u);
  }
}

TEST(Executor, ModelsThatCannotRunFailInEachExecution) {
  TestModel test;
  const uint32_t a = test.input({2, 3});
  const uint32_t b = test.input({2, 4});
  const uint32_t sum = test.temporary({});
  test.add(a, b, sum).add(sum, sum, test.output({}));
  const auto executor = executorFor(test);
  std::vector<float> six(6);
  std::vector<float> eight(8);
  std::vector<float> out(8);
  for (int round = 0; round < 3; ++round) {
    const Status status =
        execute(*executor, {argumentOf(six), argumentOf(eight)}, {argumentOf(out)}).status;
    EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
    EXPECT_THAT(status.message(), HasSubstr("operation #0 ADD: "));
  }
}

TEST(Executor, SeveralThreadsMayExecuteAtOnce) {
  ThreadPool threads(3);
  const auto executor = executorFor(chain(20, 5000), &threads);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&executor, caller] {
      for (int round = 0; round < 20; ++round) {
        std::vector<float> in(5000);
        std::iota(in.begin(), in.end(), static_cast<float>(caller));
        std::vector<float> out(5000);
        ASSERT_TRUE(execute(*executor, {argumentOf(in)}, {argumentOf(out)}).status.ok());
        for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], 21 * in[i]);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace halyard::cpu
