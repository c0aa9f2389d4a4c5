// Tests of the driver that imitates a device with memory of its own: its copies, and the values that
// stay.
#include "device_arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "personality_device.h"

namespace halyard::drivers {
namespace {

using ::testing::ElementsAre;

// next = state + step; out = state * step.
Model stepModel(uint32_t count) {
  Model model;
  Operand tensor;
  tensor.type = OperandType::TENSOR_FLOAT32;
  tensor.dimensions = {count};
  Operand none;
  none.type = OperandType::INT32;
  none.lifetime = Lifetime::CONSTANT_COPY;
  none.location = {0, 0, 4};
  model.operandValues.assign(4, 0);
  model.main.operands = {tensor, tensor, tensor, tensor, none};
  for (const uint32_t input : {0u, 1u}) {
    model.main.operands[input].lifetime = Lifetime::SUBGRAPH_INPUT;
  }
  for (const uint32_t output : {2u, 3u}) {
    model.main.operands[output].lifetime = Lifetime::SUBGRAPH_OUTPUT;
  }
  model.main.operations = {{OperationType::ADD, {0, 1, 4}, {2}},
                           {OperationType::MUL, {0, 1, 4}, {3}}};
  model.main.inputIndexes = {0, 1};
  model.main.outputIndexes = {2, 3};
  return model;
}

class DeviceArenaTest : public ::testing::Test {
 protected:
  void open(std::string_view personality, uint32_t count = 2) {
    count_ = count;
    session_ = std::make_shared<hal::ClientSession>(
        makePersonalityDevice(parsePersonality(personality).value()).value(),
        std::make_shared<hal::SessionServices>());
    prepared_ = session_->prepareModel(validated(stepModel(count)).value(), {}).value();
  }
  SharedMemoryPtr memoryOf(float value) const {
    auto memory = SharedMemory::create(count_ * sizeof(float), "test").value();
    auto* const data = reinterpret_cast<float*>(memory->mapped().value()->data());
    std::fill_n(data, count_, value);
    return memory;
  }
  static float firstOf(const SharedMemoryPtr& memory) {
    return *reinterpret_cast<const float*>(memory->mapped().value()->data());
  }
  std::unique_ptr<hal::Buffer> bufferFor(std::vector<uint32_t> inputs,
                                         std::vector<uint32_t> outputs) {
    std::vector<hal::BufferRole> inputRoles;
    for (const uint32_t index : inputs) inputRoles.push_back({0, index, 1});
    std::vector<hal::BufferRole> outputRoles;
    for (const uint32_t index : outputs) outputRoles.push_back({0, index, 1});
    return session_->allocate({}, std::vector{prepared_}, inputRoles, outputRoles).value();
  }
  // The request with a pool for each argument.
  hal::Request request(hal::RequestPool state, hal::RequestPool step, hal::RequestPool next,
                       hal::RequestPool out) const {
    hal::Request request;
    request.pools = {std::move(state), std::move(step), std::move(next), std::move(out)};
    for (uint32_t pool = 0; pool < 4; ++pool) {
      hal::RequestArgument argument;
      argument.kind = hal::RequestArgument::Kind::POOL;
      argument.location.poolIndex = pool;
      (pool < 2 ? request.inputs : request.outputs).push_back(argument);
    }
    return request;
  }

  uint32_t count_ = 2;
  std::shared_ptr<hal::ClientSession> session_;
  std::shared_ptr<hal::PreparedModel> prepared_;
};

TEST_F(DeviceArenaTest, SharedMemoryIsCopiedAndCounted) {
  open(R"({"own_memory": {}})");
  const auto next = memoryOf(0);
  const auto out = memoryOf(0);
  const auto result =
      prepared_->executeSynchronously(request(memoryOf(2), memoryOf(3), next, out), {});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_EQ(firstOf(next), 5);
  EXPECT_EQ(firstOf(out), 6);
  EXPECT_EQ(result.copiedBytes, 4 * count_ * sizeof(float));
}

TEST_F(DeviceArenaTest, ImportedMemoryIsUsedInPlace) {
  open(R"({"own_memory": {"imports": ["host_pages"]}})");
  const auto next = memoryOf(0);
  const auto result =
      prepared_->executeSynchronously(request(memoryOf(2), memoryOf(3), next, memoryOf(0)), {});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_EQ(firstOf(next), 5);
  EXPECT_EQ(result.copiedBytes, 0);
}

// The state of a recurrent model: two buffers in turn. Only copyFrom and copyTo copy it.
TEST_F(DeviceArenaTest, StateInBuffersIsNotCopied) {
  open(R"({"own_memory": {}})", 1000);
  const std::unique_ptr<hal::Buffer> states[] = {bufferFor({0}, {0}), bufferFor({0}, {0})};
  const auto step = bufferFor({1}, {});
  const auto out = bufferFor({}, {1});
  ASSERT_TRUE(states[0]->copyFrom(memoryOf(1), {}).ok());
  ASSERT_TRUE(step->copyFrom(memoryOf(2), {}).ok());
  for (int i = 0; i < 5; ++i) {
    const auto result = prepared_->executeSynchronously(
        request(states[i % 2]->token(), step->token(), states[1 - i % 2]->token(), out->token()),
        {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(result.copiedBytes, 0);
  }
  const auto seen = memoryOf(0);
  ASSERT_TRUE(states[1]->copyTo(seen).ok());
  EXPECT_EQ(firstOf(seen), 11);
  ASSERT_TRUE(out->copyTo(seen).ok());
  EXPECT_EQ(firstOf(seen), 18);
}

TEST_F(DeviceArenaTest, ARecordedExecutionUsesTheBuffers) {
  open(R"({"own_memory": {}})");
  const auto state = bufferFor({0}, {});
  const auto next = bufferFor({}, {0});
  const auto seen = memoryOf(0);
  hal::Request recorded = request(state->token(), memoryOf(10), next->token(), memoryOf(0));
  const auto execution = prepared_->createReusableExecution(recorded).value();
  EXPECT_EQ(execution->compute({}).status.code(), ResultCode::OP_FAILED) << "no state yet";
  for (const float value : {1.0f, 2.0f, 3.0f}) {
    ASSERT_TRUE(state->copyFrom(memoryOf(value), {}).ok());
    const auto result = execution->compute({});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(result.copiedBytes, 2 * count_ * sizeof(float)) << "the two in shared memory";
    ASSERT_TRUE(next->copyTo(seen).ok());
    EXPECT_EQ(firstOf(seen), value + 10);
  }
}

TEST_F(DeviceArenaTest, ImportsAreRead) {
  EXPECT_EQ(parsePersonality("{}").value().info.ownMemory, false);
  const auto both = parsePersonality(R"({"own_memory": {"imports": ["host_pages", "dma_buf"]}})");
  EXPECT_TRUE(both->info.ownMemory);
  EXPECT_EQ(both->info.imports, hal::kEveryImport);
  const auto wrong = parsePersonality(R"({"own_memory": {"imports": ["cache"]}})");
  EXPECT_THAT(wrong.status().message(), ::testing::HasSubstr("one of host_pages, dma_buf"));
}

}  // namespace
}  // namespace halyard::drivers
