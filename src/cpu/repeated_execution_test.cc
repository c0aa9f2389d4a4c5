// Tests repeated executions in a burst: the number of allocations in a driver's process, from the
// packet in the ring to the answer.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>

#include "base/sanitized.h"
#include "cpu/cpu_device.h"
#include "cpu/model_for_test.h"
#include "cpu/step_run.h"
#include "hal/ring/packets.h"
#include "hal/ring/ring_client.h"
#include "hal/ring/served_ring.h"
#include "hal/sandbox/sanitizer.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"

namespace {
std::atomic<size_t> allocations = 0;

void* allocate(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size);
}
}  // namespace

// A sanitizer has its own function, which this one must not replace.
#ifndef HALYARD_SANITIZED
void* operator new(size_t size) {
  if (void* const memory = allocate(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif

namespace halyard::cpu {
namespace {

using hal::DatumQueue;
using hal::RingClient;
using hal::ServedRing;
using testing::TestModel;

constexpr uint32_t kCapacity = 64;

// out = (a + b) + b, over a ring; the test has both ends.
class RepeatedExecution : public ::testing::Test {
 protected:
  void SetUp() override {
    TestModel test;
    const uint32_t a = test.input({2});
    const uint32_t b = test.input({2});
    const uint32_t sum = test.temporary({2});
    test.add(a, b, sum).add(sum, b, test.output({2}));
    const auto model = test.share();
    session_ = std::make_unique<hal::ClientSession>(makeCpuDevice(cpuDeviceInfo(), 1),
                                                    std::make_shared<hal::SessionServices>());
    const auto prepared = session_->prepareModel(validated(model).value(), {});
    ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
    const auto channels = RingClient::createChannels(kCapacity, kCapacity).value();
    const hal::QueueShape shape{kCapacity, sizeof(hal::Datum), true};
    client_ = RingClient::create(channels, kCapacity, kCapacity, std::make_shared<hal::SpinGate>())
                  .value();
    ring_ = ServedRing::create({DatumQueue::map(*channels.requests, shape).value(),
                                DatumQueue::map(*channels.results, shape).value(), model, *prepared,
                                HalVersion::V1_3, true,
                                [this](const std::vector<int32_t>&) { bringMemory(); },
                                ForeignFd(::fcntl(client_->doorbell(), F_DUPFD_CLOEXEC, 0))})
                .value();
    memory_ = SharedMemory::create(256, "arguments").value();
    floats_ = reinterpret_cast<float*>(memory_->mapped().value()->data());
    hal::Request request;
    request.inputs = {place(0), place(64)};
    request.outputs = {place(128)};
    const int32_t slots[] = {0};
    hal::encodeRequestPacket(request, slots, {}, true, &record_);
    hal::appendRecording(3, &record_);
    hal::encodeRunPacket(3, {}, true, &run_);
  }

  static hal::RequestArgument place(uint32_t offset) {
    hal::RequestArgument argument;
    argument.kind = hal::RequestArgument::Kind::POOL;
    argument.location = {0, offset, 8};
    return argument;
  }
  void bringMemory() {
    std::vector<hal::PoolDescription> pools(1);
    pools[0].size = memory_->size();
    pools[0].prot = 3;
    pools[0].fd.reset(::fcntl(memory_->fd(), F_DUPFD_CLOEXEC, 0));
    ring_->memoriesArrived(std::move(pools));
  }
  // Returns the number of allocations in the driver's part.
  size_t execute(const std::vector<hal::Datum>& packet, float a, float b) {
    floats_[0] = floats_[1] = a;
    floats_[16] = floats_[17] = b;
    EXPECT_TRUE(client_->send(packet));
    const size_t before = allocations;
    while (ring_->step() == ServedRing::Step::WAITING) {
    }
    const size_t made = allocations - before;
    hal::ExecutionResult result;
    EXPECT_TRUE(hal::decodeResultPacket(client_->takeAnswer(), 1, &result).ok());
    EXPECT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(floats_[32], a + b + b);
    EXPECT_EQ(floats_[33], a + b + b);
    return made;
  }

  std::unique_ptr<hal::ClientSession> session_;
  std::shared_ptr<RingClient> client_;
  std::shared_ptr<ServedRing> ring_;
  SharedMemoryPtr memory_;
  float* floats_ = nullptr;
  std::vector<hal::Datum> record_;
  std::vector<hal::Datum> run_;
};

TEST_F(RepeatedExecution, AllocatesNothing) {
  if (hal::kSanitized) GTEST_SKIP() << "allocations are the sanitizer's here";
  EXPECT_GT(execute(record_, 1, 2), 0u) << "recording makes what the next executions use";
  execute(run_, 2, 3);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(execute(run_, static_cast<float>(i), 0.5f), 0u) << i;
}

// Adds two tensors of two elements, over scratch memory.
class Sum final : public Kernel {
 public:
  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    auto* const scratch = static_cast<float*>(services.scratch(2 * sizeof(float)));
    for (size_t i = 0; i < 2; ++i) {
      scratch[i] = operands.input<float>(0)[i] + operands.input<float>(1)[i];
    }
    std::memcpy(operands.output<float>(0), scratch, 2 * sizeof(float));
    return okStatus();
  }
};

class CallersThread final : public KernelScratch {
 public:
  void parallelFor(size_t count, size_t /*grain*/,
                   const std::function<void(size_t begin, size_t end)>& body) override {
    body(0, count);
  }
};

// Each result is an output that the next step reads.
TEST(RepeatedSteps, AllocateNothing) {
  if (hal::kSanitized) GTEST_SKIP() << "allocations are the sanitizer's here";
  TestModel test;
  const uint32_t x = test.input({2});
  const uint32_t first = test.output({2});
  test.add(x, x, first).add(first, x, test.output({2}));
  Result<ExecutionPlan> plan = ExecutionPlan::make(test.share());
  ASSERT_TRUE(plan.ok()) << plan.status().toString();
  std::vector<Step> steps;
  for (size_t i = 0; i < 2; ++i) {
    const Operation& operation = plan->main.subgraph->operations[i];
    steps.push_back(
        {i, operation.inputs, operation.outputs, operation.inputs, std::make_unique<Sum>()});
  }
  plan->main.steps = planSteps(plan->main, std::move(steps));
  const auto arena = BlockPool::allocate(plan->main.steps->places.bytes);
  StepRun run(plan->main);
  run.bindArena(static_cast<std::byte*>(arena.data()));
  CallersThread kernels;
  BlockPool blocks;
  const hal::ExecuteOptions options;
  float in[] = {1, 2};
  float twice[2];
  float thrice[2];
  for (int use = 0; use < 3; ++use) {
    const size_t before = allocations;
    run.bindInput(0, in, /*shared=*/true);
    run.bindOutput(0, twice);
    run.bindOutput(1, thrice);
    ASSERT_TRUE(run.run({*plan, kernels, blocks, &options}).ok());
    if (use > 0) {
      EXPECT_EQ(allocations, before);
    }
    EXPECT_EQ(twice[1], in[1] * 2);
    EXPECT_EQ(thrice[1], in[1] * 3);
    in[1] += 5;
  }
}

}  // namespace
}  // namespace halyard::cpu
