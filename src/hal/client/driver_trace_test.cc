// Tests of traces of a driver in its own process, and of a server against hostile trace requests.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "hal/client/remote_device.h"
#include "hal/testing/server_fixture.h"
#include "hal/testing/test_device.h"
#include "hal/testing/test_driver_manifest.h"
#include "hal/wire/wire_memory.h"
#include "trace/timeline.h"
#include "trace/trace_collection.h"

namespace halyard::hal {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace hal::testing;  // NOLINT: the test driver's vocabulary
using trace::TraceCollection;

class DriverTraceTest : public ::testing::Test {
 protected:
  void TearDown() override { (void)TraceCollection::ofProcess().stop(); }

  static std::shared_ptr<RemoteDevice> open(HalVersion version) {
    auto device = RemoteDevice::open(RpcLoop::start().value(), testing::testManifest(version));
    EXPECT_TRUE(device.ok()) << device.status().toString();
    return device.ok() ? *device : nullptr;
  }

  static void execute(PreparedModel& prepared, uint64_t context, Burst* burst = nullptr) {
    const trace::Scope step(trace::Layer::RUNTIME, trace::Phase::EXECUTION, "step",
                            {.context = context});
    const std::vector<float> a = {1, 2, 3, 4};
    std::vector<float> out(4);
    const Request request = pointerRequest(a.data(), a.data(), out.data(), 4);
    const ExecutionResult result =
        burst == nullptr ? prepared.executeSynchronously(request, {}) : burst->execute(request, {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(out[3], 8);
  }

  static trace::Timeline timeline() {
    return trace::makeTimeline(TraceCollection::ofProcess().records(), "test", ::getpid());
  }

  static std::vector<trace::Slice> slices(const trace::ProcessTimeline& process,
                                          std::string_view detail) {
    std::vector<trace::Slice> found;
    for (const trace::ThreadTimeline& thread : process.threads) {
      for (const trace::Slice& slice : thread.slices) {
        if (slice.mark.detail == detail) found.push_back(slice);
      }
    }
    return found;
  }
};

// For each version, over rings and over calls: a driver's slices lie within the client's slices of
// the same execution. Both use one clock and the client's context.
TEST_F(DriverTraceTest, SlicesOfAllVersionsLieWithinTheClients) {
  for (const HalVersion version :
       {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2, HalVersion::V1_3}) {
    SCOPED_TRACE(std::string(halVersionName(version)));
    ASSERT_TRUE(TraceCollection::ofProcess().start(1000).ok());
    const auto device = open(version);
    ASSERT_NE(device, nullptr);
    const auto model = std::make_shared<const Model>(addModel(4));
    const auto first = device->prepareModel(validated(model).value(), {}).value();
    const auto second = device->prepareModel(validated(model).value(), {}).value();
    for (int i = 0; i < 3; ++i) {
      execute(*first, 11);
      execute(*second, 22);
    }
    const int64_t pid = device->processId();
    ASSERT_TRUE(TraceCollection::ofProcess().stop().ok());
    const trace::Timeline trace = timeline();
    ASSERT_EQ(trace.processes.size(), 2u);
    const trace::ProcessTimeline& driver = trace.processes[1];
    EXPECT_TRUE(driver.status.ok()) << driver.status.toString();
    EXPECT_EQ(driver.processId, pid);
    EXPECT_EQ(driver.rejected, 0u);
    EXPECT_EQ(driver.cut, 0u);  // no slice was outside the client's slices
    EXPECT_EQ(driver.lost, 0u);
    EXPECT_EQ(slices(driver, "prepareModel").size(), 2u);
    for (const trace::ProcessTimeline& process : trace.processes) {
      const Status nests = trace::checkNesting(process);
      EXPECT_TRUE(nests.ok()) << nests.toString();
    }
    const auto executions = slices(driver, "execute");
    const auto operations = slices(driver, "ADD");
    std::vector<trace::Slice> steps = slices(trace.processes[0], "step");
    ASSERT_EQ(executions.size(), 6u);
    ASSERT_EQ(operations.size(), 6u);
    ASSERT_EQ(steps.size(), 6u);
    size_t found = 0;
    for (const trace::Slice& step : steps) {
      for (const trace::Slice& execution : executions) {
        if (execution.begin < step.begin || execution.end > step.end) continue;
        EXPECT_EQ(execution.context, step.context);
        ++found;
      }
    }
    EXPECT_EQ(found, 6u);
    for (const trace::Slice& operation : operations) {
      EXPECT_EQ(operation.operation, 0);
      EXPECT_THAT(operation.context, ::testing::AnyOf(11, 22));
    }
  }
}

// Each call has the phase of its work. The trace's own calls are not in the trace.
TEST_F(DriverTraceTest, CallsHaveThePhaseOfTheirWork) {
  ASSERT_TRUE(TraceCollection::ofProcess().start(1000).ok());
  const auto device = open(HalVersion::V1_3);
  ASSERT_NE(device, nullptr);
  const ValidModel model = validated(addModel(4)).value();
  ASSERT_TRUE(device->getSupportedOperations(model).ok());
  ASSERT_TRUE(device->prepareModel(model, {}).ok());
  ASSERT_TRUE(TraceCollection::ofProcess().stop().ok());
  const trace::Timeline trace = timeline();
  const auto phaseOf = [&](std::string_view call) {
    const auto found = slices(trace.processes[0], call);
    EXPECT_EQ(found.size(), 1u) << call;
    return found.empty() ? trace::Phase::UNSPECIFIED : found[0].mark.phase;
  };
  EXPECT_EQ(phaseOf("getCapabilities_1_3"), trace::Phase::INITIALIZATION);
  EXPECT_EQ(phaseOf("getSupportedOperations_1_3"), trace::Phase::COMPILATION);
  EXPECT_EQ(phaseOf("prepareModel_1_3"), trace::Phase::COMPILATION);
  EXPECT_THAT(slices(trace.processes[0], "trace"), IsEmpty());
  EXPECT_THAT(slices(trace.processes[0], "traceModel"), IsEmpty());
}

TEST_F(DriverTraceTest, ADriverThatIsThereIsAskedWhenATraceBegins) {
  const auto device = open(HalVersion::V1_3);
  ASSERT_NE(device, nullptr);
  const auto prepared = device->prepareModel(validated(addModel(4)).value(), {}).value();
  execute(*prepared, 5);
  const auto burst = prepared->configureBurst().value();
  ASSERT_TRUE(TraceCollection::ofProcess().start(1000).ok());
  execute(*prepared, 5, burst.get());
  ASSERT_TRUE(TraceCollection::ofProcess().stop().ok());
  execute(*prepared, 5, burst.get());
  const trace::Timeline trace = timeline();
  ASSERT_EQ(trace.processes.size(), 2u);
  const auto executions = slices(trace.processes[1], "execute");
  ASSERT_EQ(executions.size(), 1u);
  EXPECT_EQ(executions[0].context, 5u);
  EXPECT_THAT(slices(trace.processes[1], "prepareModel"), IsEmpty());
}

TEST_F(DriverTraceTest, WhatADriverRecordedBeforeItDiedIsThere) {
  ASSERT_TRUE(TraceCollection::ofProcess().start(1000).ok());
  const auto device = open(HalVersion::V1_3);
  ASSERT_NE(device, nullptr);
  const auto prepared = device->prepareModel(validated(addModel(4)).value(), {}).value();
  execute(*prepared, 5);
  const std::vector<float> a = {kAbort, 2, 3, 4};
  std::vector<float> out(4);
  const auto result =
      prepared->executeSynchronously(pointerRequest(a.data(), a.data(), out.data(), 4), {});
  EXPECT_EQ(result.status.code(), ResultCode::DEAD_OBJECT);
  const trace::Timeline trace = timeline();
  ASSERT_EQ(trace.processes.size(), 2u);
  EXPECT_EQ(slices(trace.processes[1], "execute").size(), 1u);
}

// A client that sends invalid trace requests.
class HostileTraceTest : public ServerTest {
 protected:
  using Driver = wire::IDriver;

  Outcome trace(const SharedMemoryPtr& memory,
                const std::function<void(wire::Memory::Builder)>& mutate = nullptr) {
    return onLoop<Outcome>([&](RpcLoop::Context&) {
      auto call = client_->peer().castAs<Driver>().traceRequest();
      if (memory != nullptr) MemoryEncoder().encode(memory, 0, call.initMemory());
      if (mutate) mutate(call.getMemory());
      return call.send().then([](auto&& response) -> Outcome {
        return {response.getStatus(), response.getMessage().cStr()};
      });
    });
  }
  void expectRefused(const Outcome& outcome, const std::string& text) {
    EXPECT_NE(outcome.status, wire::ErrorStatus::NONE);
    EXPECT_THAT(outcome.message, HasSubstr(text));
  }
};

TEST_F(HostileTraceTest, MemoryThatCouldHarmIsRefused) {
  const size_t bytes = trace::Recorder::bytesFor(16);
  const auto good = SharedMemory::create(bytes, "good").value();
  EXPECT_EQ(trace(good).status, wire::ErrorStatus::NONE);
  const UniqueFd plain(::memfd_create("plain", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(plain.get(), static_cast<off_t>(bytes)), 0);
  const auto shrinks = SharedMemory::fromFd(bytes, PROT_READ | PROT_WRITE, plain.get(), 0).value();
  expectRefused(trace(shrinks), "could shrink");
  const auto small = SharedMemory::create(100, "small").value();
  expectRefused(trace(small), "100 bytes for a trace");
  expectRefused(trace(good, [](wire::Memory::Builder memory) { memory.setSize(UINT64_MAX / 2); }),
                "bytes for a trace; at most");
  expectRefused(trace(good, [](wire::Memory::Builder memory) { memory.setProt(1); }),
                "may not be written");
  expectRefused(trace(good, [&](wire::Memory::Builder memory) { memory.setSize(bytes * 2); }),
                "the memory");
  EXPECT_EQ(trace(nullptr).status, wire::ErrorStatus::NONE);
}

TEST_F(HostileTraceTest, OnlyAPreparedModelOfItsOwnHasAName) {
  const auto name = [&](bool isNull) {
    return onLoop<Outcome>([&](RpcLoop::Context&) {
      auto call = client_->peer().castAs<Driver>().traceModelRequest();
      if (!isNull) {
        call.setPreparedModel(deviceClient_->castAs<wire::v1_0::IPreparedModel>());
      }
      call.setContext(7);
      return call.send().then([](auto&& response) -> Outcome {
        return {response.getStatus(), response.getMessage().cStr()};
      });
    });
  };
  expectRefused(name(true), "the prepared model is null");
  expectRefused(name(false), "it is no prepared model of the client's");
}

}  // namespace
}  // namespace halyard::hal
