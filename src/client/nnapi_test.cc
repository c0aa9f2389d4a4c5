// Tests of the wrapper on the CPU device of the runtime.
#include "client/nnapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <type_traits>

#include "client/status.h"
#include "client/sum_model.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

static_assert(!std::is_copy_constructible_v<Model> && std::is_nothrow_move_constructible_v<Model>);
static_assert(std::is_nothrow_move_assignable_v<Execution>);

#define EXPECT_OK(call) EXPECT_EQ((call), ANEURALNETWORKS_NO_ERROR) << halyard_lastErrorText()

const ANeuralNetworksDevice* listedReference() {
  std::vector<Device> devices;
  EXPECT_OK(listDevices(devices));
  return deviceNamed(devices, "nnapi-reference");
}

class Wrapper : public ::testing::Test {
 protected:
  void SetUp() override {
    EXPECT_OK(model_.create());
    EXPECT_OK(addSum(model_.get(), {2}, {2}, {2}));
    EXPECT_OK(model_.finish());
    const ANeuralNetworksDevice* const device = listedReference();
    EXPECT_OK(compilation_.createForDevices(model_.get(), {&device, 1}));
    EXPECT_OK(compilation_.finish());
  }
  Execution ready() {
    Execution execution;
    EXPECT_OK(execution.create(compilation_.get()));
    EXPECT_OK(execution.setInput(0, nullptr, kA, sizeof kA));
    EXPECT_OK(execution.setInput(1, nullptr, kB, sizeof kB));
    EXPECT_OK(execution.setOutput(0, nullptr, out_, sizeof out_));
    return execution;
  }

  static constexpr float kA[2] = {1, 2};
  static constexpr float kB[2] = {10, 20};
  float out_[2] = {};
  Model model_;
  Compilation compilation_;
};

TEST_F(Wrapper, ResultsHaveTheCodeTheCallAndTheText) {
  const Model empty;
  const CallResult result = empty.finish();
  EXPECT_EQ(result, ANEURALNETWORKS_UNEXPECTED_NULL);
  EXPECT_FALSE(result.ok());
  EXPECT_STREQ(result.call(), "ANeuralNetworksModel_finish");
  EXPECT_THAT(result.text(), HasSubstr("ANeuralNetworksModel_finish"));
  EXPECT_EQ(result.text(), halyard_lastErrorText());
  const Status status = toStatus(result);
  EXPECT_EQ(status.code(), ResultCode::UNEXPECTED_NULL);
  EXPECT_EQ(status.message(), result.text());
  EXPECT_TRUE(toStatus(ready().compute()).ok());
}

TEST_F(Wrapper, ACallWithoutATextIsNamedWithItsCode) {
  (void)Model().finish().code();  // sets a text of another call
  std::string text = "old";
  const CallResult report = Compilation().report(text);
  EXPECT_EQ(report.text(), "halyard_compilationReport: UNEXPECTED_NULL");
  EXPECT_EQ(text, "");
  EXPECT_EQ(driverProcessId(nullptr).status().message(),
            "halyard_deviceProcessId: UNEXPECTED_NULL");
}

TEST(CodeName, KnowsAllCodesAndNumbers) {
  EXPECT_EQ(codeName(ANEURALNETWORKS_NO_ERROR), "NO_ERROR");
  EXPECT_EQ(codeName(ANEURALNETWORKS_DEAD_OBJECT), "DEAD_OBJECT");
  EXPECT_EQ(codeName(77), "code 77");
  for (int code = ANEURALNETWORKS_NO_ERROR; code <= ANEURALNETWORKS_DEAD_OBJECT; ++code) {
    EXPECT_EQ(codeName(code), resultCodeName(static_cast<ResultCode>(code)));
  }
}

TEST_F(Wrapper, ObjectsMoveAndGiveTheirHandlesAway) {
  Execution first = ready();
  ANeuralNetworksExecution* const handle = first.get();
  Execution second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): what a move leaves is promised
  EXPECT_EQ(second.get(), handle);
  first = std::move(second);
  EXPECT_TRUE(first);
  Execution& same = first;
  first = std::move(same);
  EXPECT_EQ(first.get(), handle);
  EXPECT_OK(first.compute());
  ANeuralNetworksExecution* const given = first.release();
  EXPECT_EQ(given, handle);
  EXPECT_FALSE(first);
  first.reset(given);
  first.reset();
  EXPECT_FALSE(first);
}

TEST_F(Wrapper, AFailedCreateLeavesTheObjectEmpty) {
  Execution execution = ready();
  EXPECT_EQ(execution.create(nullptr), ANEURALNETWORKS_UNEXPECTED_NULL);
  EXPECT_FALSE(execution);
}

TEST_F(Wrapper, DevicesAreListedByName) {
  const auto devices = allDevices();
  ASSERT_TRUE(devices.ok());
  EXPECT_EQ(devices->back().name, "nnapi-reference");
  EXPECT_EQ(deviceNamed(*devices, "nnapi-reference"), devices->back().handle);
  EXPECT_EQ(deviceNamed(*devices, "other"), nullptr);
  const ANeuralNetworksDevice* const device = listedReference();
  std::vector<bool> supported;
  EXPECT_OK(model_.getSupportedOperationsForDevices({&device, 1}, 1, supported));
  EXPECT_THAT(supported, ElementsAre(true));
}

TEST_F(Wrapper, AllWaysOfComputing) {
  EXPECT_OK(ready().compute());
  EXPECT_THAT(out_, ElementsAre(11, 22));
  out_[0] = 0;
  Burst burst;
  EXPECT_OK(burst.create(compilation_.get()));
  EXPECT_OK(ready().burstCompute(burst.get()));
  EXPECT_EQ(out_[0], 11);
  out_[0] = 0;
  Event event;
  const Execution started = ready();
  EXPECT_OK(started.startCompute(event));
  EXPECT_OK(event.wait());
  EXPECT_EQ(out_[0], 11);
  out_[0] = 0;
  const Execution fenced = ready();
  Event after;
  EXPECT_OK(fenced.startComputeWithDependencies({}, 0, after));
  const ANeuralNetworksEvent* const dependency = after.get();
  const Execution next = ready();
  Event last;
  EXPECT_OK(next.startComputeWithDependencies({&dependency, 1}, 0, last));
  EXPECT_OK(last.wait());
  EXPECT_EQ(out_[0], 11);
}

TEST_F(Wrapper, OptionsOfAnExecutionReachIt) {
  Execution execution;
  EXPECT_OK(execution.create(compilation_.get()));
  EXPECT_OK(execution.enableInputAndOutputPadding(true));
  EXPECT_OK(execution.setInput(0, nullptr, kA, sizeof kA));
  EXPECT_OK(execution.setInput(1, nullptr, kB, sizeof kB));
  EXPECT_OK(execution.setOutput(0, nullptr, out_, sizeof out_));
  EXPECT_OK(execution.setReusable(true));
  EXPECT_OK(execution.setMeasureTiming(true));
  EXPECT_OK(execution.setTimeout(1'000'000'000));
  EXPECT_OK(execution.setLoopTimeout(1'000'000'000));
  EXPECT_OK(execution.compute());
  EXPECT_OK(execution.compute());
  uint64_t nanoseconds = 0;
  EXPECT_OK(execution.getDuration(ANEURALNETWORKS_DURATION_ON_HARDWARE, nanoseconds));
  uint32_t rank = 0;
  EXPECT_OK(execution.getOutputOperandRank(0, rank));
  EXPECT_EQ(rank, 1u);
  Dims dimensions;
  EXPECT_OK(execution.getOutputOperandDimensions(0, dimensions));
  EXPECT_THAT(dimensions, ElementsAre(2));
  EXPECT_EQ(execution.getOutputOperandDimensions(1, dimensions), ANEURALNETWORKS_BAD_DATA);
}

TEST_F(Wrapper, DimensionsOfAnOutputThatIsTooSmall) {
  Model open;
  EXPECT_OK(open.create());
  EXPECT_OK(addSum(open.get(), {0}, {1}, {0}));
  EXPECT_OK(open.finish());
  Compilation compilation;
  EXPECT_OK(compilation.create(open.get()));
  EXPECT_OK(compilation.setPreference(ANEURALNETWORKS_PREFER_SUSTAINED_SPEED));
  EXPECT_OK(compilation.setPriority(ANEURALNETWORKS_PRIORITY_LOW));
  EXPECT_OK(compilation.finish());
  Execution execution;
  EXPECT_OK(execution.create(compilation.get()));
  const OperandDescription two(ANEURALNETWORKS_TENSOR_FLOAT32, {2});
  EXPECT_OK(execution.setInput(0, two.get(), kA, sizeof kA));
  EXPECT_OK(execution.setInput(1, nullptr, kB, sizeof kB[0]));
  EXPECT_OK(execution.setOutput(0, nullptr, out_, sizeof out_[0]));
  EXPECT_EQ(execution.compute(), ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE);
  Dims dimensions;
  EXPECT_EQ(execution.getOutputOperandDimensions(0, dimensions),
            ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE);
  EXPECT_THAT(dimensions, ElementsAre(2));
}

TEST_F(Wrapper, MemoriesOfFilesAndOfDescriptions) {
  UniqueFd fd(::memfd_create("wrapper", MFD_CLOEXEC));
  ASSERT_EQ(::pwrite(fd.get(), kA, sizeof kA, 64), ssize_t{sizeof kA});
  Memory file;
  EXPECT_OK(file.createFromFd(72, PROT_READ | PROT_WRITE, fd.get(), 0));
  UniqueFd out(::memfd_create("wrapper", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(out.get(), sizeof out_), 0);
  Memory result;
  EXPECT_OK(result.createFromFd(sizeof out_, PROT_READ | PROT_WRITE, out.get(), 0));
  MemoryDesc desc;
  EXPECT_OK(desc.create());
  EXPECT_OK(desc.addOutputRole(compilation_.get(), 0, 1));
  EXPECT_OK(desc.addInputRole(compilation_.get(), 1, 0.5f));
  EXPECT_OK(desc.setDimensions(Dims{2}));
  EXPECT_OK(desc.finish());
  Memory described;
  EXPECT_OK(described.createFromDesc(desc.get()));
  Execution execution;
  EXPECT_OK(execution.create(compilation_.get()));
  EXPECT_OK(execution.setInput(1, nullptr, kB, sizeof kB));
  EXPECT_OK(execution.setInputFromMemory(0, nullptr, file.get(), 64, sizeof kA));
  EXPECT_OK(execution.setOutputFromMemory(0, nullptr, described.get(), 0, 0));
  EXPECT_OK(execution.compute());
  EXPECT_OK(HALYARD_CALL(ANeuralNetworksMemory_copy, described.get(), result.get()));
  float copied[2] = {};
  ASSERT_EQ(::pread(out.get(), copied, sizeof copied, 0), ssize_t{sizeof copied});
  EXPECT_THAT(copied, ElementsAre(11, 22));
}

TEST_F(Wrapper, ReportsAndProfilesOfACompilation) {
  std::string json;
  EXPECT_OK(compilation_.report(json));
  EXPECT_THAT(json, HasSubstr("nnapi-reference"));
  EXPECT_EQ(compilation_.profile(json), ANEURALNETWORKS_BAD_STATE);
  EXPECT_EQ(json, "");
  ASSERT_EQ(halyard_traceStart(0), ANEURALNETWORKS_NO_ERROR);
  const CallResult profile = compilation_.profile(json);
  EXPECT_EQ(halyard_traceStop(), ANEURALNETWORKS_NO_ERROR);
  EXPECT_EQ(profile, ANEURALNETWORKS_NO_ERROR);
  EXPECT_THAT(json, HasSubstr("nnapi-reference"));
}

TEST_F(Wrapper, ASumReturnsTheFirstFailure) {
  const CallResult finished = addSum(model_.get(), {2}, {2}, {2});
  EXPECT_EQ(finished, ANEURALNETWORKS_BAD_STATE);
  EXPECT_STREQ(finished.call(), "ANeuralNetworksModel_addOperand");
}

}  // namespace
}  // namespace halyard::client
