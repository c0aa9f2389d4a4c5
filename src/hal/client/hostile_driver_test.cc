// Tests of a client against a hostile driver. The client gets an error that names the driver, in
// time, and its process continues.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "hal/client/remote_device.h"
#include "hal/ring/packets.h"
#include "hal/testing/hostile_driver.h"
#include "hal/testing/test_device.h"

namespace halyard::hal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace hal::testing;  // NOLINT: the test driver's vocabulary
using Configure = HostileDriver::Configure;
using Execute = HostileDriver::Execute;

// Limits hangs only.
constexpr seconds kAtMost{10};

class BurstContext final : public wire::v1_2::IBurstContext::Server {};

UniqueFd brokenPipe() {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  return UniqueFd(ends[1]);
}

// A write to it blocks.
UniqueFd fullPipe(UniqueFd* readingEnd) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const char bytes[4096] = {};
  while (::write(ends[1], bytes, sizeof bytes) > 0) {
  }
  ::fcntl(ends[1], F_SETFL, 0);
  readingEnd->reset(ends[0]);
  return UniqueFd(ends[1]);
}

wire::FileDescriptor::Client asFile(int fd) { return KJ_ASSERT_NONNULL(encodeFile(fd)); }

// The queues of the ring that the client offers: requests, then results.
kj::Promise<std::vector<DatumQueue>> queuesOf(Configure context) {
  std::vector<wire::Memory::Reader> memories = {context.getParams().getRequestChannel().getMemory(),
                                                context.getParams().getResultChannel().getMemory()};
  return decodeMemories(std::move(memories)).then([](Result<std::vector<PoolDescription>> pools) {
    const QueueShape shape{kDefaultQueueCapacity, sizeof(Datum), true};
    std::vector<DatumQueue> queues;
    for (PoolDescription& pool : *pools) {
      const auto opened = ReceivedPool::open(std::move(pool)).value();
      queues.push_back(DatumQueue::map(*opened.memory(), shape).value());
    }
    return queues;
  });
}

class HostileDriverTest : public ::testing::Test {
 protected:
  void start(HostileDriver::Hooks hooks) {
    driver_.emplace(std::move(hooks));
    loop_ = RpcLoop::start().value();
    device_ = RemoteDevice::open(loop_, driver_->manifest()).value();
    prepared_ = device_->prepareModel(validated(model_).value(), {}).value();
  }
  void TearDown() override {
    prepared_.reset();
    device_.reset();
    loop_.reset();
    driver_.reset();
  }
  ExecutionResult execute(std::optional<milliseconds> left = milliseconds(300)) {
    const float a[] = {1, 2, 3, 4};
    float out[4] = {};
    ExecuteOptions options;
    if (left) options.deadline = Clock::now() + *left;
    const TimePoint start = Clock::now();
    Request request = pointerRequest(a, a, out, 4);
    request.outputs[0].dimensions.clear();
    ExecutionResult result = prepared_->executeSynchronously(request, options);
    EXPECT_LT(Clock::now() - start, kAtMost);
    return result;
  }

  Model model_ = addModel(4);
  std::optional<HostileDriver> driver_;
  std::shared_ptr<RpcLoop> loop_;
  std::shared_ptr<RemoteDevice> device_;
  std::shared_ptr<PreparedModel> prepared_;
};

TEST_F(HostileDriverTest, ReasonsAndCostsAreNotTrusted) {
  using Supported = HostileDriver::Supported;
  unsigned details = 1;
  start({.supported = [&](Supported context) -> kj::Promise<void> {
    context.getResults().initSupported(1);
    auto list = context.getResults().initDetails(details);
    for (auto each : list) {
      each.setReason(std::string(1000, 'x') + "\x1b]0;");
      each.setCost(1e300);
    }
    if (details == 1) {
      // Text that does not end with a zero byte.
      auto text = list[0].initReason(3);
      std::memcpy(text.begin(), "\n\xff\x07", 3);
    }
    return kj::READY_NOW;
  }});
  const auto model = validated(model_).value();
  auto supported = device_->getSupportedOperations(model);
  ASSERT_TRUE(supported.ok()) << supported.status().toString();
  EXPECT_THAT(*supported, ::testing::ElementsAre(OperationSupport::no(" ??")));
  details = 2;
  supported = device_->getSupportedOperations(model);
  EXPECT_EQ(supported.status().code(), ResultCode::OP_FAILED);
  EXPECT_THAT(supported.status().message(),
              HasSubstr("it gives reasons or costs of 2 operations; the model has 1"));
}

// The driver has an earlier schema or is hostile. The client does not write to the driver's
// doorbell.
TEST_F(HostileDriverTest, ADoorbellOfTheDriversIsNotUsed) {
  ::signal(SIGPIPE, SIG_DFL);
  UniqueFd readingEnd;
  UniqueFd doorbells[] = {brokenPipe(), fullPipe(&readingEnd), UniqueFd(::eventfd(0, EFD_CLOEXEC))};
  for (UniqueFd& doorbell : doorbells) {
    std::atomic<int> opened = 0;
    start({.configureBurst =
               [&](Configure context) {
                 ++opened;
                 context.getResults().setBurstContext(kj::heap<BurstContext>());
                 context.getResults().setExtended(true);
                 context.getResults().setDoorbell(asFile(doorbell.get()));
                 return kj::Promise<void>(kj::READY_NOW);
               },
           .execute = [](Execute) { return kj::Promise<void>(kj::READY_NOW); }});
    for (int i = 0; i < 3; ++i) {
      const Status status = execute().status;
      EXPECT_TRUE(status.ok()) << status.toString();
    }
    EXPECT_EQ(opened, 1) << "then it is called";
    TearDown();
  }
}

// The driver says that it watches its client's doorbell, damages it, and pretends to sleep. The
// client then rings.
TEST_F(HostileDriverTest, WhatItDoesToTheDoorbellDelaysNobody) {
  ::signal(SIGPIPE, SIG_DFL);
  std::vector<ForeignFd> taken;
  std::vector<DatumQueue> requests;
  const auto answer = [&](Configure context, auto spoil) {
    return duplicateFd(context.getParams().getDoorbell())
        .then([&taken, context, spoil](ForeignFd fd) mutable {
          EXPECT_TRUE(fd.valid());
          spoil(fd.get());
          taken.push_back(std::move(fd));
          return queuesOf(context);
        })
        .then([&requests, context](std::vector<DatumQueue> queues) mutable {
          requests.push_back(queues[0]);
          QueueReader(requests.back()).announceSleep();
          context.getResults().setBurstContext(kj::heap<BurstContext>());
          context.getResults().setExtended(true);
          context.getResults().setTakesDoorbell(true);
        });
  };
  using Spoil = void (*)(int fd);
  const Spoil ways[] = {[](int) {}, [](int fd) { ::fcntl(fd, F_SETFL, 0); },
                        [](int fd) { ::shutdown(fd, SHUT_RDWR); },
                        [](int fd) {
                          const int size = 1;
                          ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
                        }};
  for (const Spoil spoil : ways) {
    start({.configureBurst = [&](Configure context) { return answer(context, spoil); }});
    const Status status = execute().status;
    EXPECT_EQ(status.code(), ResultCode::MISSED_DEADLINE_TRANSIENT) << status.toString();
    EXPECT_THAT(status.message(), HasSubstr("driver 'test-hostile'"));
    ASSERT_FALSE(requests.empty());
    EXPECT_EQ(requests.back().header().event.load(), 0u) << "the client has rung";
    TearDown();
    requests.clear();
  }
}

// A send through another kind of socket could block.
TEST_F(HostileDriverTest, OnlyAMemoryChannelIsWrittenTo) {
  ::signal(SIGPIPE, SIG_DFL);
  UniqueFd readingEnd;
  int stream[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream), 0);
  const UniqueFd peer(stream[1]);
  UniqueFd channels[] = {brokenPipe(), fullPipe(&readingEnd), UniqueFd(stream[0]),
                         UniqueFd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0))};
  for (UniqueFd& channel : channels) {
    start({.configureBurst = [&](Configure context) {
      context.getResults().setBurstContext(kj::heap<BurstContext>());
      context.getResults().setExtended(true);
      context.getResults().setTakesDoorbell(true);
      context.getResults().setMemoryChannel(asFile(channel.get()));
      return kj::Promise<void>(kj::READY_NOW);
    }});
    EXPECT_EQ(execute().status.code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
    TearDown();
  }
  char byte = 0;
  EXPECT_LT(::recv(peer.get(), &byte, 1, MSG_DONTWAIT), 0) << "nothing was sent";
}

void report(Execute context, std::initializer_list<uint32_t> dimensions) {
  auto shape = context.getResults().initOutputShapes(1)[0];
  shape.setIsSufficient(true);
  auto list = shape.initDimensions(static_cast<unsigned>(dimensions.size()));
  unsigned i = 0;
  for (const uint32_t dimension : dimensions) list.set(i++, dimension);
}

TEST_F(HostileDriverTest, ShapesThatTheBufferCannotHoldAreNotBelieved) {
  model_.main.operands[model_.main.outputIndexes[0]].dimensions = {0};
  start({.execute = [](Execute context) {
    report(context, {5});
    return kj::Promise<void>(kj::READY_NOW);
  }});
  const ExecutionResult result = execute();
  EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED);
  EXPECT_EQ(result.status.message(),
            "driver 'test-hostile': the driver's result: output 0: it reports dimensions [5], 20 "
            "bytes, and the buffer has 16");
  EXPECT_TRUE(result.outputShapes.empty());
  TearDown();
  start({.execute = [](Execute context) {
    report(context, {4});
    return kj::Promise<void>(kj::READY_NOW);
  }});
  EXPECT_TRUE(execute().status.ok());
}

// Answers each packet of the ring with a shape, on its own thread.
class RingAnswerer {
 public:
  RingAnswerer(DatumQueue requests, DatumQueue results)
      : requests_(std::move(requests)), results_(std::move(results)) {
    thread_ = std::thread([this] { run(); });
  }
  ~RingAnswerer() {
    stopping_ = true;
    thread_.join();
  }
  RingAnswerer(const RingAnswerer&) = delete;
  RingAnswerer& operator=(const RingAnswerer&) = delete;

 private:
  void run() {
    QueueReader reader(requests_);
    QueueWriter writer(results_);
    while (!stopping_) {
      const uint32_t waiting = reader.available().value_or(0);
      if (waiting == 0) {
        std::this_thread::yield();
        continue;
      }
      std::vector<Datum> packet(waiting);
      reader.read(packet);
      ExecutionResult result;
      result.outputShapes = {{{1000}, true}};
      encodeResultPacket(result, HalVersion::V1_3, true, true, results_.capacity(), &packet);
      writer.write(packet);
      if (writer.takeSleeper()) wakeEventWord(results_.header().event);
    }
  }

  const DatumQueue requests_;
  const DatumQueue results_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

TEST_F(HostileDriverTest, NorThoseThatComeThroughARing) {
  model_.main.operands[model_.main.outputIndexes[0]].dimensions = {0};
  std::optional<RingAnswerer> answerer;
  start({.configureBurst = [&](Configure context) {
    return queuesOf(context).then([&, context](std::vector<DatumQueue> queues) mutable {
      answerer.emplace(queues[0], queues[1]);
      context.getResults().setBurstContext(kj::heap<BurstContext>());
      context.getResults().setExtended(true);
      context.getResults().setTakesDoorbell(true);
    });
  }});
  for (const bool burst : {false, true}) {
    const float a[] = {1, 2, 3, 4};
    float out[4] = {};
    Request request = pointerRequest(a, a, out, 4);
    request.outputs[0].dimensions.clear();
    const ExecutionResult result = burst ? prepared_->configureBurst().value()->execute(request, {})
                                         : prepared_->executeSynchronously(request, {});
    EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED);
    EXPECT_THAT(result.status.message(),
                AllOf(HasSubstr("driver 'test-hostile'"),
                      HasSubstr("output 0: it reports dimensions [1000], 4000 bytes")));
    EXPECT_TRUE(result.outputShapes.empty());
  }
}

// The driver answers calls, but its fence is never signalled. The fence may be of any kind.
TEST_F(HostileDriverTest, AFenceThatIsNeverSignalledEndsInTime) {
  ::setenv("HALYARD_DRIVER_EXECUTION_TIMEOUT_MS", "300", 1);
  const UniqueFd never(::eventfd(0, EFD_CLOEXEC));
  class Info final : public wire::v1_3::IFencedExecutionCallback::Server {};
  start({.executeFenced = [&](HostileDriver::ExecuteFenced context) {
    context.getResults().setSyncFence(asFile(never.get()));
    context.getResults().setCallback(kj::heap<Info>());
    return kj::Promise<void>(kj::READY_NOW);
  }});
  ::unsetenv("HALYARD_DRIVER_EXECUTION_TIMEOUT_MS");
  Request request;
  for (uint32_t pool = 0; pool < 3; ++pool) {
    RequestArgument argument;
    argument.kind = RequestArgument::Kind::POOL;
    argument.location = {pool, 0, 16};
    (pool < 2 ? request.inputs : request.outputs).push_back(argument);
    request.pools.emplace_back(SharedMemory::create(16, "test").value());
  }
  const FencedResult result = prepared_->executeFenced(request, {}, {}, std::nullopt);
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_EQ(waitFence(result.fence.get(), Clock::now() + kAtMost).value(), FenceState::ERROR);
  const Status status = result.execution->getExecutionInfo().status;
  EXPECT_EQ(status.code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("driver 'test-hostile'"),
                                      HasSubstr("has not answered executeFenced within 300 ms")));
}

// A service is not killed. The client closes its connection.
TEST_F(HostileDriverTest, AServiceThatNeverAnswersIsLeft) {
  ::setenv("HALYARD_DRIVER_EXECUTION_TIMEOUT_MS", "300", 1);
  start({.execute = [](Execute) { return kj::Promise<void>(kj::NEVER_DONE); }});
  ::unsetenv("HALYARD_DRIVER_EXECUTION_TIMEOUT_MS");
  const Status status = execute(std::nullopt).status;
  EXPECT_EQ(status.code(), ResultCode::DEAD_OBJECT) << status.toString();
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("driver 'test-hostile'"),
                    HasSubstr("has not answered executeSynchronously_1_3 within 300 ms")));
  EXPECT_EQ(execute().status.code(), ResultCode::DEAD_OBJECT) << "at once";
  EXPECT_TRUE(device_->prepareModel(validated(model_).value(), {}).ok());
}

}  // namespace
}  // namespace halyard::hal
