// Buffers on the device, for memory that the processor maps and for memory that it does not.
#include "plan/vulkan_memory.h"

#include <gmock/gmock.h>

#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "hal/testing/buffer_fixture.h"
#include "svdf_for_test.h"
#include "vulkan_driver.h"

namespace halyard::vulkandriver {
namespace {

using hal::testing::addModel;
using hal::testing::Arg;
using hal::testing::floats;
using hal::testing::requestOf;
using hal::testing::valuesOf;

// The parameter: whether the processor maps the device's own memory.
class VulkanMemoryTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    auto opened = VulkanDevice::open({.software = true, .mapsMemory = GetParam()});
    if (!opened.ok()) {
      GTEST_SKIP() << "NO VULKAN DEVICE, NOTHING IS TESTED: " << opened.status().toString();
    }
    vulkan_ = *opened;
    session_ = std::make_shared<hal::ClientSession>(makeVulkanDriverOn(vulkan_),
                                                    std::make_shared<hal::SessionServices>());
    add_ = session_->prepareModel(validated(addModel(4)).value(), {}).value();
  }

  std::unique_ptr<hal::Buffer> allocate() {
    const hal::BufferRole role = {0, 0, 1.0f};
    auto made = session_->allocate({}, {&add_, 1}, {&role, 1}, {&role, 1});
    EXPECT_TRUE(made.ok()) << made.status().toString();
    return made.ok() ? std::move(*made) : nullptr;
  }
  static std::vector<float> contents(hal::Buffer& buffer) {
    const auto out = floats(std::vector<float>(4));
    const Status status = buffer.copyTo(out);
    EXPECT_TRUE(status.ok()) << status.toString();
    return valuesOf(out);
  }

  std::shared_ptr<VulkanDevice> vulkan_;
  std::shared_ptr<hal::Device> session_;
  std::shared_ptr<hal::PreparedModel> add_;
};
INSTANTIATE_TEST_SUITE_P(Maps, VulkanMemoryTest, ::testing::Bool());

TEST_P(VulkanMemoryTest, CopiesInAndOut) {
  const auto made = VulkanMemory::create(vulkan_, 6);
  ASSERT_TRUE(made.ok()) << made.status().toString();
  std::vector<uint8_t> bytes(6, 7);
  ASSERT_TRUE((*made)->read(bytes, {}).ok());
  EXPECT_EQ(bytes, std::vector<uint8_t>(6, 0));
  const std::vector<uint8_t> written = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE((*made)->write(written, {}).ok());
  ASSERT_TRUE((*made)->read(bytes, {}).ok());
  EXPECT_EQ(bytes, written);
  bytes.resize(100);
  EXPECT_EQ((*made)->read(bytes, {}).code(), ResultCode::BAD_DATA);
}

// The state of a model that goes from step to step.
TEST_P(VulkanMemoryTest, NothingIsCopiedBetweenBuffers) {
  std::unique_ptr<hal::Buffer> states[] = {allocate(), allocate()};
  ASSERT_TRUE(states[0]->copyFrom(floats({1, 2, 3, 4}), {}).ok());
  const auto step = floats({1, 1, 1, 1});
  for (size_t i = 0; i < 4; ++i) {
    const auto result =
        add_->executeSynchronously(requestOf({states[i % 2], step}, {states[(i + 1) % 2]}), {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(result.copiedBytes, 16u);  // of the step
  }
  EXPECT_EQ(contents(*states[0]), (std::vector<float>{5, 6, 7, 8}));
  EXPECT_EQ(contents(*states[1]), (std::vector<float>{4, 5, 6, 7}));
  const auto same = add_->executeSynchronously(requestOf({states[0], step}, {step}), {});
  EXPECT_TRUE(same.status.ok()) << same.status.toString();
  EXPECT_EQ(valuesOf(step), (std::vector<float>{6, 7, 8, 9}));
}

TEST_P(VulkanMemoryTest, RecordedExecutionsCopyNothing) {
  const hal::BufferRole both[] = {{0, 0, 1.0f}, {0, 1, 1.0f}};
  const auto in = session_->allocate({}, {&add_, 1}, both, {}).value();
  const auto out = allocate();
  ASSERT_TRUE(in->copyFrom(floats({1, 2, 3, 4}), {}).ok());
  const hal::Request request = requestOf({in, in}, {out});
  const auto recorded = add_->createReusableExecution(request);
  ASSERT_TRUE(recorded.ok()) << recorded.status().toString();
  for (const float value : {1.0f, 5.0f}) {
    ASSERT_TRUE(in->copyFrom(floats({value, 2, 3, 4}), {}).ok());
    const auto result = (*recorded)->compute({});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(result.copiedBytes, 0u);
    EXPECT_EQ(contents(*out), (std::vector<float>{2 * value, 4, 6, 8}));
  }
}

// One model writes what the next reads.
TEST_P(VulkanMemoryTest, AChainOfModels) {
  const auto next = session_->prepareModel(validated(addModel(4)).value(), {}).value();
  const std::shared_ptr<hal::PreparedModel> models[] = {add_, next};
  const hal::BufferRole reads[] = {{1, 0, 1.0f}, {1, 1, 1.0f}};
  const hal::BufferRole writes[] = {{0, 0, 1.0f}};
  const auto between = session_->allocate({}, models, reads, writes).value();
  const auto in = floats({1, 2, 3, 4});
  const auto out = floats({0, 0, 0, 0});
  ASSERT_TRUE(add_->executeSynchronously(requestOf({in, in}, {between}), {}).status.ok());
  const auto result = next->executeSynchronously(requestOf({between, between}, {out}), {});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_EQ(result.copiedBytes, 16u);
  EXPECT_EQ(valuesOf(out), (std::vector<float>{4, 8, 12, 16}));
}

// The pages of large pools are imported where the device can do it.
TEST_P(VulkanMemoryTest, RecordedExecutionsOfSharedMemory) {
  constexpr uint32_t kCount = 10'000;
  const auto model = session_->prepareModel(validated(addModel(kCount)).value(), {}).value();
  const auto in = floats(std::vector<float>(kCount, 1));
  const auto out = floats(std::vector<float>(kCount, 0));
  const hal::Request request = requestOf({in, in}, {out});
  const auto recorded = model->createReusableExecution(request);
  ASSERT_TRUE(recorded.ok()) << recorded.status().toString();
  for (const float value : {1.0f, 3.0f}) {
    const std::vector<float> values(kCount, value);
    std::memcpy(in->mapped().value()->data(), values.data(), kCount * sizeof(float));
    const auto result = (*recorded)->compute({});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(result.copiedBytes, 3 * kCount * sizeof(float));
    EXPECT_EQ(valuesOf(out), std::vector<float>(kCount, 2 * value));
  }
}

TEST_P(VulkanMemoryTest, ImportsPages) {
  const uint64_t alignment = vulkan_->importAlignment();
  if (alignment == 0) GTEST_SKIP() << "the device imports nothing";
  const auto memory = SharedMemory::create(2 * alignment, "test").value();
  uint8_t* const pages = memory->mapped().value()->data();
  EXPECT_FALSE(DeviceBuffer::imported(vulkan_, {pages + 64, alignment}).ok());
  EXPECT_FALSE(DeviceBuffer::imported(vulkan_, {pages, alignment - 64}).ok());
  EXPECT_FALSE(DeviceBuffer::imported(vulkan_, {}).ok());
  const auto buffer = DeviceBuffer::imported(vulkan_, {pages, 2 * alignment});
  ASSERT_TRUE(buffer.ok()) << buffer.status().toString();
  const std::vector<uint8_t> written = {1, 2, 3, 4};
  ASSERT_TRUE((*buffer)->write(written).ok());
  EXPECT_EQ(std::vector<uint8_t>(pages, pages + 4), written);
}

// Omitted inputs, and constants that lie in the device's memory.
TEST_P(VulkanMemoryTest, ModelsWithConstantsAndOmittedInputs) {
  const auto prepared = session_->prepareModel(validated(testing::svdfModel()).value(), {});
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  for (int round = 0; round < 2; ++round) {
    testing::SvdfValues given;
    auto result = (*prepared)->executeSynchronously(given.request(), {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(given.outputs[1], 130);
    testing::SvdfValues omitted;
    result = (*prepared)->executeSynchronously(omitted.without({3}), {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(omitted.outputs[1], 30);
  }
}

// The positions come with the execution.
TEST_P(VulkanMemoryTest, AnIndexOutsideFailsOneExecution) {
  Model model;
  const auto add = [&model](OperandType type, Shape dims, Lifetime lifetime) {
    Operand operand;
    operand.type = type;
    operand.dimensions = std::move(dims);
    operand.lifetime = lifetime;
    model.main.operands.push_back(std::move(operand));
  };
  add(OperandType::TENSOR_FLOAT32, {3, 2}, Lifetime::SUBGRAPH_INPUT);
  add(OperandType::INT32, {}, Lifetime::CONSTANT_COPY);
  const int32_t axis = 0;
  model.main.operands[1].location = appendConstant(model, &axis, sizeof axis);
  add(OperandType::TENSOR_INT32, {2}, Lifetime::SUBGRAPH_INPUT);
  add(OperandType::TENSOR_FLOAT32, {2, 2}, Lifetime::SUBGRAPH_OUTPUT);
  model.main.operations = {{OperationType::GATHER, {0, 1, 2}, {3}}};
  model.main.inputIndexes = {0, 2};
  model.main.outputIndexes = {3};
  const auto prepared = session_->prepareModel(validated(model).value(), {});
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  const auto values = floats({1, 2, 3, 4, 5, 6});
  const auto out = floats({0, 0, 0, 0});
  for (const int32_t second : {0, 3, 1, -1, 2}) {
    const auto positions = floats({0, 0});
    const int32_t given[] = {2, second};
    std::memcpy(positions->mapped().value()->data(), given, sizeof given);
    const auto result =
        (*prepared)->executeSynchronously(requestOf({values, positions}, {out}), {});
    if (second < 0 || second > 2) {
      EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED);
      EXPECT_THAT(result.status.message(), ::testing::HasSubstr("an index is outside"));
      continue;
    }
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    const auto first = static_cast<float>(2 * second + 1);
    EXPECT_EQ(valuesOf(out), (std::vector<float>{5, 6, first, first + 1}));
  }
}

}  // namespace
}  // namespace halyard::vulkandriver
