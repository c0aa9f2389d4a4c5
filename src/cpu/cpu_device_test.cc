// Tests of CpuDevice: its description, supported models, requests by pointer and pool, timing.
#include "cpu/cpu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "cpu/model_for_test.h"

namespace halyard::cpu {
namespace {

using hal::RequestArgument;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TestModel;

TestModel doubling() {
  TestModel test;
  const uint32_t a = test.input({2});
  test.add(a, a, test.output({2}));
  return test;
}

RequestArgument pointerTo(std::vector<float>& values) {
  RequestArgument argument;
  argument.kind = RequestArgument::Kind::POINTER;
  argument.pointer = values.data();
  argument.length = static_cast<uint32_t>(values.size() * sizeof(float));
  return argument;
}

RequestArgument inPool(uint32_t pool, uint32_t offset, uint32_t length) {
  RequestArgument argument;
  argument.kind = RequestArgument::Kind::POOL;
  argument.location = {pool, offset, length};
  return argument;
}

std::shared_ptr<hal::PreparedModel> prepare(hal::Device& device, const TestModel& test) {
  auto prepared = device.prepareModel(validated(test.share()).value(), {});
  EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
  return prepared.ok() ? *prepared : nullptr;
}

TEST(CpuDevice, SaysWhatItIs) {
  const hal::DeviceInfo info = cpuDeviceInfo();
  EXPECT_EQ(info.name, "nnapi-reference");
  EXPECT_EQ(info.type, hal::DeviceType::CPU);
  EXPECT_EQ(info.halVersion, HalVersion::V1_3);
  // Three numbers, as in CMake's project version.
  EXPECT_EQ(info.versionString.find_first_not_of("0123456789."), std::string::npos);
  EXPECT_EQ(std::count(info.versionString.begin(), info.versionString.end(), '.'), 2);
  EXPECT_TRUE(hal::validateCapabilities(info.capabilities).ok());
  EXPECT_EQ(info.capabilities.lookup(OperandType::TENSOR_FLOAT32).execTime, 1.0f);
  EXPECT_EQ(info.capabilities.lookup(OperandType::INT32).powerUsage, 1.0f);
  EXPECT_EQ(info.capabilities.whilePerformance.execTime, 1.0f);
  EXPECT_EQ(info.modelCacheFiles, 0u);
  EXPECT_EQ(info.dataCacheFiles, 0u);

  hal::DeviceInfo other = info;
  other.name = "other";
  const auto device = makeCpuDevice(other, 1);
  EXPECT_EQ(device->info().name, "other");
  EXPECT_EQ(device->status(), hal::DeviceStatus::AVAILABLE);
}

TEST(CpuDevice, SupportsWhatHasADefinition) {
  const auto device = makeCpuDevice(cpuDeviceInfo(), 1);
  TestModel test = doubling();
  test.operation(OperationType::OEM_OPERATION, {0}, {test.output({2})});
  const auto supported = device->getSupportedOperations(validated(test.model()).value());
  ASSERT_TRUE(supported.ok()) << supported.status().toString();
  EXPECT_THAT(*supported,
              ElementsAre(true, hal::OperationSupport::no("it has no operations of vendors")));
  const auto prepared = device->prepareModel(validated(test.share()).value(), {});
  EXPECT_EQ(prepared.status().code(), ResultCode::BAD_DATA);
  EXPECT_THAT(prepared.status().message(), HasSubstr("operation #1 OEM_OPERATION"));
}

// The operations may also be in a branch.
TEST(CpuDevice, SupportsOperationsOfOurExtensionWhereItOffersIt) {
  const auto rounding = [] {
    TestModel test;
    const uint32_t x = test.input({2});
    return std::move(test.operation(OperationType::ROUND_TO_DYNAMIC_RANGE, {x, test.int32(0)},
                                    {test.output({2})}));
  };
  TestModel test = rounding();
  const uint32_t x = test.input({2});
  const uint32_t condition = test.input({1}, OperandType::TENSOR_BOOL8);
  const uint32_t branch = test.reference(rounding());
  test.operation(OperationType::IF, {condition, branch, branch, x}, {test.output({2})});
  hal::DeviceInfo info = cpuDeviceInfo();
  EXPECT_THAT(*makeCpuDevice(info, 1)->getSupportedOperations(validated(test.model()).value()),
              ElementsAre(true, true));
  info.extensions.clear();
  const auto refused =
      makeCpuDevice(info, 1)->getSupportedOperations(validated(test.model()).value());
  const std::string reason = fmt::format("it does not offer the extension {}", kTfliteExtension);
  ASSERT_EQ(refused->size(), 2u);
  EXPECT_EQ((*refused)[0], hal::OperationSupport::no(reason));
  EXPECT_FALSE((*refused)[1].supported);
  EXPECT_THAT((*refused)[1].reason, ::testing::EndsWith("of subgraph 0: " + reason));
}

TEST(CpuDevice, PreparationDeadline) {
  const auto device = makeCpuDevice(cpuDeviceInfo(), 1);
  hal::PrepareOptions options;
  options.deadline = hal::Clock::now() - std::chrono::milliseconds(1);
  EXPECT_EQ(device->prepareModel(validated(doubling().share()).value(), options).status().code(),
            ResultCode::MISSED_DEADLINE_PERSISTENT);
  options.deadline = hal::Clock::now() + std::chrono::hours(1);
  EXPECT_TRUE(device->prepareModel(validated(doubling().share()).value(), options).ok());
}

TEST(CpuDevice, ExecutesByPointerAndOutlivesItsDevice) {
  auto device = makeCpuDevice(cpuDeviceInfo(), 2);
  // The tensor is large enough for several threads of the device.
  TestModel test;
  const uint32_t a = test.input({300, 1000});
  test.add(a, a, test.output({300, 1000}));
  const auto prepared = prepare(*device, test);
  device = nullptr;
  std::vector<float> in(300000, 4.0f);
  std::vector<float> out(300000);
  hal::Request request{{pointerTo(in)}, {pointerTo(out)}, {}};
  const auto result = prepared->executeSynchronously(request, {});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_EQ(out, std::vector<float>(300000, 8.0f));
  ASSERT_EQ(result.outputShapes.size(), 1u);
  EXPECT_THAT(result.outputShapes[0].dimensions, ElementsAre(300, 1000));
}

TEST(CpuDevice, ExecutesFromPools) {
  const auto device = makeCpuDevice(cpuDeviceInfo(), 1);
  const auto prepared = prepare(*device, doubling());
  auto inputs = SharedMemory::create(100, "inputs");
  auto outputs = SharedMemory::create(8, "outputs");
  ASSERT_TRUE(inputs.ok() && outputs.ok());
  auto in = (*inputs)->map();
  auto out = (*outputs)->map();
  ASSERT_TRUE(in.ok() && out.ok());
  const float values[] = {3, 4};
  std::memcpy(in->data() + 5, values, 8);
  // Offset 0 and length 0 mean the whole pool.
  hal::Request request{{inPool(0, 5, 8)}, {inPool(1, 0, 0)}, {*inputs, *outputs}};
  auto result = prepared->executeSynchronously(request, {});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  float sums[2];
  std::memcpy(sums, out->data(), 8);
  EXPECT_THAT(sums, ElementsAre(6, 8));

  request.outputs[0] = inPool(1, 2, 4);
  result = prepared->executeSynchronously(request, {});
  EXPECT_EQ(result.status.code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE);
  ASSERT_EQ(result.outputShapes.size(), 1u);
  EXPECT_THAT(result.outputShapes[0].dimensions, ElementsAre(2));

  request.outputs[0] = inPool(1, 4, 8);
  EXPECT_EQ(prepared->executeSynchronously(request, {}).status.code(), ResultCode::BAD_DATA);
}

TEST(CpuDevice, RespectsThePoolsProtection) {
  const auto device = makeCpuDevice(cpuDeviceInfo(), 1);
  const auto prepared = prepare(*device, doubling());
  auto memory = SharedMemory::create(8, "memory");
  ASSERT_TRUE(memory.ok());
  auto readOnly = SharedMemory::fromFd(8, PROT_READ, (*memory)->fd(), 0);
  auto writeOnly = SharedMemory::fromFd(8, PROT_WRITE, (*memory)->fd(), 0);
  ASSERT_TRUE(readOnly.ok() && writeOnly.ok());
  std::vector<float> buffer(2);
  hal::Request request{{pointerTo(buffer)}, {inPool(0, 0, 8)}, {*readOnly}};
  EXPECT_EQ(prepared->executeSynchronously(request, {}).status.toString(),
            "BAD_DATA: request output 0: pool 0 may not be written");
  request = {{inPool(0, 0, 8)}, {pointerTo(buffer)}, {*writeOnly}};
  EXPECT_EQ(prepared->executeSynchronously(request, {}).status.toString(),
            "BAD_DATA: request input 0: pool 0 may not be read");
  request = {{pointerTo(buffer)}, {inPool(0, 0, 8)}, {*writeOnly}};
  EXPECT_TRUE(prepared->executeSynchronously(request, {}).status.ok());
}

TEST(CpuDevice, RefusesInvalidRequests) {
  const auto device = makeCpuDevice(cpuDeviceInfo(), 1);
  const auto prepared = prepare(*device, doubling());
  std::vector<float> buffer(2);
  const auto code = [&](hal::Request request) {
    const auto result = prepared->executeSynchronously(request, {});
    EXPECT_TRUE(result.outputShapes.empty());
    return result.status.code();
  };
  EXPECT_EQ(code({{}, {pointerTo(buffer)}, {}}), ResultCode::BAD_DATA);
  EXPECT_EQ(code({{pointerTo(buffer)}, {}, {}}), ResultCode::BAD_DATA);
  EXPECT_EQ(code({{inPool(0, 0, 8)}, {pointerTo(buffer)}, {}}), ResultCode::BAD_DATA);
  EXPECT_EQ(code({{inPool(0, 0, 0)}, {pointerTo(buffer)}, {uint32_t{7}}}), ResultCode::BAD_DATA);
  const UniqueFd directory(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto unmappable = SharedMemory::fromFd(8, PROT_READ, directory.get(), 0);
  ASSERT_TRUE(unmappable.ok());
  EXPECT_EQ(code({{inPool(0, 0, 8)}, {pointerTo(buffer)}, {*unmappable}}), ResultCode::UNMAPPABLE);
}

TEST(CpuDevice, TimesExecutionsOnlyWhenAskedAndMeantTo) {
  std::vector<float> in{1, 2};
  std::vector<float> out(2);
  const hal::Request request{{pointerTo(in)}, {pointerTo(out)}, {}};
  hal::ExecuteOptions measured;
  measured.measureTiming = true;
  for (bool reportsTiming : {false, true}) {
    const auto device = makeCpuDevice(cpuDeviceInfo(), 1, reportsTiming);
    const auto prepared = prepare(*device, doubling());
    hal::Timing timing = prepared->executeSynchronously(request, {}).timing;
    EXPECT_FALSE(timing.timeOnDevice.has_value() || timing.timeInDriver.has_value());
    timing = prepared->executeSynchronously(request, measured).timing;
    ASSERT_EQ(timing.timeOnDevice.has_value(), reportsTiming);
    ASSERT_EQ(timing.timeInDriver.has_value(), reportsTiming);
    if (reportsTiming) {
      EXPECT_GT(*timing.timeOnDevice, 0u);
      EXPECT_LE(*timing.timeOnDevice, *timing.timeInDriver);
      EXPECT_LT(*timing.timeInDriver, uint64_t{60} * 1000000000);
    }
    measured.deadline = hal::Clock::now() - std::chrono::seconds(1);
    timing = prepared->executeSynchronously(request, measured).timing;
    EXPECT_FALSE(timing.timeOnDevice.has_value() || timing.timeInDriver.has_value());
    measured.deadline.reset();
  }
}

TEST(CpuDevice, ReusableExecutionsComputeWithWhatTheirMemoryHolds) {
  const auto device = makeCpuDevice(cpuDeviceInfo(), 1);
  // The intermediate sum uses the executor's memory.
  TestModel test;
  const uint32_t a = test.input({2});
  const uint32_t sum = test.temporary({2});
  test.add(a, a, sum).add(sum, a, test.output({2}));
  const auto prepared = prepare(*device, test);
  const auto memory = SharedMemory::create(8, "inputs").value();
  auto* const in = reinterpret_cast<float*>(memory->mapped().value()->data());
  std::vector<float> out(2);
  const hal::Request request{{inPool(0, 0, 8)}, {pointerTo(out)}, {memory}};
  auto created = prepared->createReusableExecution(request);
  ASSERT_TRUE(created.ok()) << created.status().toString();
  hal::ReusableExecution& execution = **created;
  hal::ExecuteOptions late;
  late.deadline = hal::Clock::now() - std::chrono::milliseconds(1);
  std::stop_source stopped;
  stopped.request_stop();
  hal::ExecuteOptions cancelled;
  cancelled.cancel = stopped.get_token();
  for (int i = 1; i < 5; ++i) {
    in[0] = static_cast<float>(i);
    in[1] = static_cast<float>(-i);
    const auto result = execution.compute({});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_TRUE(result.outputShapes.empty()) << "the model says them";
    EXPECT_THAT(out, ElementsAre(3 * i, -3 * i));
    // A failure affects only its own execution.
    EXPECT_EQ(execution.compute(late).status.code(), ResultCode::MISSED_DEADLINE_PERSISTENT);
    EXPECT_EQ(execution.compute(cancelled).status.code(), ResultCode::OP_FAILED);
  }
}

TEST(CpuDevice, ReusableExecutionsReportShapesThatWereOpen) {
  const auto device = makeCpuDevice(cpuDeviceInfo(), 1);
  TestModel test;
  const uint32_t a = test.input({0});
  test.add(a, a, test.output({0}));
  const auto prepared = prepare(*device, test);
  std::vector<float> in{1, 2, 3};
  std::vector<float> out(3);
  hal::Request request{{pointerTo(in)}, {pointerTo(out)}, {}};
  request.inputs[0].dimensions = {3};
  {
    const auto execution = prepared->createReusableExecution(request);
    ASSERT_TRUE(execution.ok()) << execution.status().toString();
    for (int i = 0; i < 2; ++i) {
      const auto result = (*execution)->compute({});
      ASSERT_TRUE(result.status.ok()) << result.status.toString();
      ASSERT_EQ(result.outputShapes.size(), 1u);
      EXPECT_THAT(result.outputShapes[0].dimensions, ElementsAre(3));
      EXPECT_THAT(out, ElementsAre(2, 4, 6));
    }
  }
  request.outputs[0].length = 8;
  const auto execution = prepared->createReusableExecution(request);
  ASSERT_TRUE(execution.ok()) << execution.status().toString();
  for (int i = 0; i < 2; ++i) {
    const auto result = (*execution)->compute({});
    EXPECT_EQ(result.status.code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE);
    ASSERT_EQ(result.outputShapes.size(), 1u);
    EXPECT_FALSE(result.outputShapes[0].isSufficient);
  }
  request.inputs.clear();
  EXPECT_EQ(prepared->createReusableExecution(request).status().code(), ResultCode::BAD_DATA);
}

}  // namespace
}  // namespace halyard::cpu
