// Models with IF and WHILE in the CPU driver. Its kernels compute the main subgraph and the bodies.
// Results and errors are those of the executor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "compiled_model.h"
#include "cpu/cpu_device.h"
#include "cpu/model_for_test.h"
#include "cpu_driver.h"
#include "test_definitions.h"
#include "trace_marks_for_test.h"

namespace halyard::cpudriver {
namespace {

using cpu::testing::TestModel;
using ::testing::HasSubstr;
using testing::Marks;
using testing::marksOf;

constexpr OperandType kFloats = OperandType::TENSOR_FLOAT32;
constexpr OperandType kInts = OperandType::TENSOR_INT32;
constexpr OperandType kBool = OperandType::TENSOR_BOOL8;
const Shape kImage = {1, 6, 6, 8};
constexpr size_t kValues = 6 * 6 * 8;

// y = relu(conv(x)), of 3 x 3, which the driver has a kernel for.
void addConvolution(TestModel& test, uint32_t x, uint32_t y, float weight) {
  std::vector<float> filter(8 * 3 * 3 * 8);
  for (size_t i = 0; i < filter.size(); ++i) {
    filter[i] = weight * static_cast<float>(i % 7 + 1) / 200;
  }
  const uint32_t weights = test.constant<float>(kFloats, {8, 3, 3, 8}, filter);
  const uint32_t bias = test.constant<float>(kFloats, {8}, std::vector<float>(8, 0.25f));
  const uint32_t one = test.int32(1);
  const uint32_t same = test.int32(1);
  test.operation(OperationType::CONV_2D, {x, weights, bias, same, one, one, one}, {y});
}

TestModel convolution(float weight, const Shape& image) {
  TestModel test;
  const uint32_t x = test.input(image);
  addConvolution(test, x, test.output(image), weight);
  return test;
}

// A convolution, a branch of convolutions, and a sum with the first result, which is an output too.
TestModel branchModel(const Shape& image = kImage, const Shape& inside = kImage) {
  TestModel test;
  const uint32_t condition = test.input({1}, kBool);
  const uint32_t x = test.input(image);
  const uint32_t first = test.output(image);
  addConvolution(test, x, first, 1);
  const uint32_t yes = test.reference(convolution(2, inside));
  const uint32_t no = test.reference(convolution(-1, inside));
  const uint32_t made = test.temporary(image);
  test.operation(OperationType::IF, {condition, yes, no, first}, {made});
  test.add(made, first, test.output(image));
  return test;
}

// A convolution, again and again while n < 4.
TestModel loopModel() {
  TestModel condition;
  {
    const uint32_t n = condition.input({1}, kInts);
    condition.input(kImage);
    const uint32_t bound = condition.constant<int32_t>(kInts, {1}, {4});
    condition.operation(OperationType::LESS, {n, bound}, {condition.output({1}, kBool)});
  }
  TestModel body;
  {
    const uint32_t n = body.input({1}, kInts);
    const uint32_t x = body.input(kImage);
    const uint32_t one = body.constant<int32_t>(kInts, {1}, {1});
    body.add(n, one, body.output({1}, kInts));
    addConvolution(body, x, body.output(kImage), 1);
  }
  TestModel test;
  const uint32_t n = test.input({1}, kInts);
  const uint32_t x = test.input(kImage);
  const uint32_t conditionModel = test.reference(condition);
  const uint32_t bodyModel = test.reference(body);
  test.operation(OperationType::WHILE, {conditionModel, bodyModel, n, x},
                 {test.output({1}, kInts), test.output(kImage)});
  return test;
}

template <typename T>
hal::RequestArgument argument(std::vector<T>& values, Shape dims = {}) {
  hal::RequestArgument made;
  made.kind = hal::RequestArgument::Kind::POINTER;
  made.pointer = values.data();
  made.length = static_cast<uint32_t>(values.size() * sizeof(T));
  made.dimensions = std::move(dims);
  return made;
}

class ControlFlowTest : public ::testing::Test {
 protected:
  ControlFlowTest() {
    for (size_t i = 0; i < kValues; ++i) image_[i] = static_cast<float>(i % 11) / 10;
  }

  static std::shared_ptr<hal::PreparedModel> prepare(hal::Device& device, const TestModel& test) {
    auto prepared = device.prepareModel(validated(test.share()).value(), {});
    EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
    return prepared.ok() ? *prepared : nullptr;
  }
  std::shared_ptr<hal::PreparedModel> onDriver(const TestModel& test) {
    return prepare(**driver_, test);
  }
  std::shared_ptr<hal::PreparedModel> onExecutor(const TestModel& test) {
    return prepare(*executor_, test);
  }

  // A request of branchModel().
  hal::Request branchRequest(std::vector<uint8_t>& flag, std::vector<float>& first,
                             std::vector<float>& out) {
    first.assign(kValues, -7);
    out.assign(kValues, -7);
    hal::Request request;
    request.inputs = {argument(flag), argument(image_, kImage)};
    request.outputs = {argument(first), argument(out)};
    return request;
  }

  void expectSameBranch(hal::PreparedModel& model, hal::PreparedModel& reference) {
    for (const uint8_t condition : {0, 1}) {
      std::vector<uint8_t> flag = {condition};
      std::vector<float> first[2];
      std::vector<float> out[2];
      const hal::Request is = branchRequest(flag, first[0], out[0]);
      const hal::Request should = branchRequest(flag, first[1], out[1]);
      const auto result = model.executeSynchronously(is, {});
      ASSERT_TRUE(result.status.ok()) << result.status.toString();
      ASSERT_TRUE(reference.executeSynchronously(should, {}).status.ok());
      EXPECT_THAT(first[0], ::testing::Pointwise(::testing::FloatNear(1e-4f), first[1]));
      EXPECT_THAT(out[0], ::testing::Pointwise(::testing::FloatNear(1e-4f), out[1]));
    }
  }

  const Result<std::shared_ptr<hal::Device>> driver_ = makeCpuDriver();
  const std::shared_ptr<hal::Device> executor_ = cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 1);
  std::vector<float> image_ = std::vector<float>(kValues);
};

TEST_F(ControlFlowTest, MainSubgraphAndBodiesHaveTheDriversKernels) {
  const auto compiled = CompiledModel::compile(branchModel().share(), {});
  ASSERT_TRUE(compiled.ok() && *compiled != nullptr);
  EXPECT_EQ((*compiled)->facts().operations, 5u);
  EXPECT_EQ((*compiled)->facts().steps, 5u);
  EXPECT_EQ((*compiled)->facts().ownKernels, 4u);  // all except the branch
  EXPECT_FALSE((*compiled)->facts().dividesLoops);
  const auto loop = CompiledModel::compile(loopModel().share(), {});
  ASSERT_TRUE(loop.ok() && *loop != nullptr);
  EXPECT_EQ((*loop)->facts().steps, 4u);
  EXPECT_EQ((*loop)->facts().ownKernels, 1u);
}

TEST_F(ControlFlowTest, BranchesGiveTheResultsOfTheExecutor) {
  const auto model = onDriver(branchModel());
  expectSameBranch(*model, *onExecutor(branchModel()));
  std::vector<uint8_t> flag = {1};
  std::vector<float> first;
  std::vector<float> out;
  const hal::Request request = branchRequest(flag, first, out);
  const Marks marks =
      marksOf([&] { EXPECT_TRUE(model->executeSynchronously(request, {}).status.ok()); });
  EXPECT_EQ(marks.steps, 4u);
  EXPECT_EQ(marks.stepsInBodies, 1u);
  EXPECT_EQ(marks.executors, 0u);
}

TEST_F(ControlFlowTest, RepeatedRequestsReadTheirConditionEveryTime) {
  const auto model = onDriver(branchModel());
  const auto reference = onExecutor(branchModel());
  std::vector<uint8_t> flag = {1};
  std::vector<float> first[2];
  std::vector<float> out[2];
  const hal::Request is = branchRequest(flag, first[0], out[0]);
  const hal::Request should = branchRequest(flag, first[1], out[1]);
  const auto repeated = model->createReusableExecution(is);
  ASSERT_TRUE(repeated.ok()) << repeated.status().toString();
  for (const uint8_t condition : {1, 0, 1}) {
    flag[0] = condition;
    ASSERT_TRUE((*repeated)->compute({}).status.ok());
    ASSERT_TRUE(reference->executeSynchronously(should, {}).status.ok());
    EXPECT_THAT(out[0], ::testing::Pointwise(::testing::FloatNear(1e-4f), out[1]));
  }
}

TEST_F(ControlFlowTest, LoopsGiveTheResultsOfTheExecutor) {
  const auto model = onDriver(loopModel());
  const auto reference = onExecutor(loopModel());
  for (const int32_t from : {0, 3, 4}) {
    std::vector<int32_t> n = {from};
    std::vector<int32_t> last[2] = {{-1}, {-1}};
    std::vector<float> out[2] = {std::vector<float>(kValues), std::vector<float>(kValues)};
    for (size_t i = 0; i < 2; ++i) {
      hal::Request request;
      request.inputs = {argument(n), argument(image_)};
      request.outputs = {argument(last[i]), argument(out[i])};
      hal::PreparedModel& each = i == 0 ? *model : *reference;
      const auto result = each.executeSynchronously(request, {});
      ASSERT_TRUE(result.status.ok()) << result.status.toString();
    }
    EXPECT_EQ(last[0], last[1]);
    EXPECT_THAT(out[0], ::testing::Pointwise(::testing::FloatNear(1e-3f), out[1]));
  }
}

// The main subgraph runs on the executor, which runs the steps of the bodies.
TEST_F(ControlFlowTest, BodiesOfKnownSizesHaveStepsInModelsOfUnknownSizes) {
  TestModel open = branchModel({1, 0, 6, 8}, kImage);
  const auto compiled = CompiledModel::compile(open.share(), {});
  ASSERT_TRUE(compiled.ok());
  EXPECT_EQ(*compiled, nullptr);
  const auto model = onDriver(open);
  expectSameBranch(*model, *onExecutor(open));
  std::vector<uint8_t> flag = {1};
  std::vector<float> first;
  std::vector<float> out;
  const hal::Request request = branchRequest(flag, first, out);
  const Marks marks =
      marksOf([&] { EXPECT_TRUE(model->executeSynchronously(request, {}).status.ok()); });
  EXPECT_EQ(marks.stepsInBodies, 1u);
  EXPECT_EQ(marks.executors, 3u);
}

TEST_F(ControlFlowTest, BodiesOfUnknownSizesRunInModelsOfKnownOnes) {
  const TestModel test = branchModel(kImage, {1, 0, 0, 8});
  const auto compiled = CompiledModel::compile(test.share(), {});
  ASSERT_TRUE(compiled.ok() && *compiled != nullptr);
  EXPECT_TRUE((*compiled)->facts().dividesLoops);  // the sizes of bodies may be any
  const auto model = onDriver(test);
  expectSameBranch(*model, *onExecutor(test));
  std::vector<uint8_t> flag = {0};
  std::vector<float> first;
  std::vector<float> out;
  const hal::Request request = branchRequest(flag, first, out);
  const Marks marks =
      marksOf([&] { EXPECT_TRUE(model->executeSynchronously(request, {}).status.ok()); });
  EXPECT_EQ(marks.steps, 3u);
  EXPECT_EQ(marks.executors, 1u);
}

TEST_F(ControlFlowTest, OtherRequestsAreAnsweredAsByTheExecutor) {
  const auto model = onDriver(branchModel());
  const auto reference = onExecutor(branchModel());
  const auto same = [&](const auto& spoil) {
    std::vector<uint8_t> flag = {1};
    std::vector<float> first;
    std::vector<float> out;
    hal::Request request = branchRequest(flag, first, out);
    spoil(request);
    const auto is = model->executeSynchronously(request, {});
    const auto should = reference->executeSynchronously(request, {});
    EXPECT_FALSE(is.status.ok());
    EXPECT_EQ(is.status.code(), should.status.code());
    EXPECT_EQ(is.status.message(), should.status.message());
    ASSERT_EQ(is.outputShapes.size(), should.outputShapes.size());
    for (size_t i = 0; i < is.outputShapes.size(); ++i) {
      EXPECT_EQ(is.outputShapes[i].dimensions, should.outputShapes[i].dimensions);
      EXPECT_EQ(is.outputShapes[i].isSufficient, should.outputShapes[i].isSufficient);
    }
  };
  same([](hal::Request& request) {
    request.inputs[0] = {};
    request.inputs[0].kind = hal::RequestArgument::Kind::NO_VALUE;
  });
  same([](hal::Request& request) { request.outputs[0].length = 4; });
  same([](hal::Request& request) { request.outputs[1].length = 4; });
}

// The branch ignores its second value, so a request may omit it.
TEST_F(ControlFlowTest, ValuesMayBeOmittedWhereTheExecutorCanDoWithoutThem) {
  TestModel ignoring = convolution(1, kImage);
  ignoring.input({2});
  TestModel test;
  const uint32_t condition = test.input({1}, kBool);
  const uint32_t x = test.input(kImage);
  const uint32_t unused = test.input({2});
  const uint32_t first = test.temporary(kImage);
  addConvolution(test, x, first, 1);
  const uint32_t branch = test.reference(ignoring);
  test.operation(OperationType::IF, {condition, branch, branch, first, unused},
                 {test.output(kImage)});
  const auto model = onDriver(test);
  std::vector<uint8_t> flag = {1};
  std::vector<float> two = {1, 2};
  std::vector<float> out[2] = {std::vector<float>(kValues), std::vector<float>(kValues)};
  for (size_t i = 0; i < 2; ++i) {
    hal::Request request;
    request.inputs = {argument(flag), argument(image_), argument(two)};
    if (i == 1) {
      request.inputs[2] = {};
      request.inputs[2].kind = hal::RequestArgument::Kind::NO_VALUE;
    }
    request.outputs = {argument(out[i])};
    const auto result = model->executeSynchronously(request, {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
  }
  EXPECT_THAT(out[0], ::testing::Pointwise(::testing::FloatNear(1e-4f), out[1]));
}

TEST_F(ControlFlowTest, DeadlinesEndLoops) {
  TestModel endless = loopModel();
  // Its condition compares with the largest number.
  const auto bound =
      static_cast<size_t>(std::ranges::find(endless.model().referenced[0].operands,
                                            Lifetime::CONSTANT_COPY, &Operand::lifetime) -
                          endless.model().referenced[0].operands.begin());
  const int32_t largest = INT32_MAX;
  std::memcpy(endless.model().operandValues.data() +
                  endless.model().referenced[0].operands[bound].location.offset,
              &largest, sizeof largest);
  const auto model = onDriver(endless);
  std::vector<int32_t> n = {0};
  std::vector<int32_t> last = {0};
  std::vector<float> out(kValues);
  hal::Request request;
  request.inputs = {argument(n), argument(image_)};
  request.outputs = {argument(last), argument(out)};
  hal::ExecuteOptions options;
  options.loopTimeout = std::chrono::milliseconds(5);
  const auto timedOut = model->executeSynchronously(request, options);
  EXPECT_EQ(timedOut.status.code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
  EXPECT_THAT(timedOut.status.message(), HasSubstr("operation #0 WHILE: the loop has not ended"));
  options.loopTimeout = std::chrono::seconds(10);
  options.deadline = hal::Clock::now() + std::chrono::milliseconds(5);
  EXPECT_EQ(model->executeSynchronously(request, options).status.code(),
            ResultCode::MISSED_DEADLINE_TRANSIENT);
}

}  // namespace
}  // namespace halyard::cpudriver
