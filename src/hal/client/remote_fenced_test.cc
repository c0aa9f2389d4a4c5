// Tests of fenced execution in drivers' processes: chains between them, ended drivers, and old
// drivers.
#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "hal/client/remote_device.h"
#include "hal/session/client_session.h"
#include "hal/testing/fenced_results.h"
#include "hal/testing/float_memories.h"
#include "hal/testing/test_device.h"
#include "hal/testing/test_driver_manifest.h"

namespace halyard::hal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace hal::testing;  // NOLINT: the test driver's vocabulary

size_t entriesOf(const std::string& folder) {
  size_t count = 0;
  DIR* const dir = ::opendir(folder.c_str());
  if (dir == nullptr) return 0;
  while (::readdir(dir) != nullptr) ++count;
  ::closedir(dir);
  return count;
}

// Counts the threads, except those that close descriptors, because their number varies.
size_t threadsOf(const std::string& process) {
  size_t count = 0;
  DIR* const dir = ::opendir(fmt::format("/proc/{}/task", process).c_str());
  if (dir == nullptr) return 0;
  while (const dirent* const entry = ::readdir(dir)) {
    std::string name;
    std::getline(std::ifstream(fmt::format("/proc/{}/task/{}/comm", process, entry->d_name)), name);
    if (!name.empty() && name != "halyard-foreign") ++count;
  }
  ::closedir(dir);
  return count;
}

// Waits until `value()` is at most `limit`, or until a time limit. Returns the last value.
template <typename Value>
size_t settle(Value value, size_t limit) {
  const auto end = Clock::now() + seconds(20);
  size_t last = value();
  while (last > limit && Clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(2));
    last = value();
  }
  return last;
}

class RemoteFencedTest : public ::testing::Test {
 protected:
  std::shared_ptr<RemoteDevice> open(const std::string& name,
                                     HalVersion version = HalVersion::V1_3) {
    auto device = RemoteDevice::open(loop_, testManifest(version, name), std::nullopt, services_);
    EXPECT_TRUE(device.ok()) << device.status().toString();
    return *device;
  }
  static std::shared_ptr<PreparedModel> prepare(Device& device, uint32_t n = 4) {
    auto prepared = device.prepareModel(validated(addModel(n)).value(), {});
    EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
    return *prepared;
  }

  std::shared_ptr<RpcLoop> loop_ = RpcLoop::start().value();
  std::shared_ptr<SessionServices> services_ = std::make_shared<SessionServices>();
  const SharedMemoryPtr a_ = memoryOf({1, 2, 3, 4});
  const SharedMemoryPtr b_ = memoryOf({10, 20, 30, 40});
  const SharedMemoryPtr out_ = memoryOf({0, 0, 0, 0});
};

// The driver tells kinds of descriptors apart within its sandbox.
TEST_F(RemoteFencedTest, ASandboxedDriverKnowsTheKindsOfFences) {
  const auto device = open("one");
  const auto prepared = prepare(*device);
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  const FencedResult result = prepared->executeFenced(
      sumRequest(a_, b_, out_), std::vector<int>{event.get(), reading.get()}, {}, std::nullopt);
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_EQ(fenceState(result.fence.get()).value(), FenceState::PENDING);
  ASSERT_EQ(::eventfd_write(event.get(), 1), 0);
  ASSERT_EQ(::write(writing.get(), "x", 1), 1);
  EXPECT_EQ(waitFor(result), FenceState::SIGNALLED);
  EXPECT_THAT(contentsOf(out_), ElementsAre(11, 22, 33, 44));
}

TEST_F(RemoteFencedTest, ReturnedFenceIsTheNextOnesDependency) {
  const auto device = open("one");
  const auto prepared = prepare(*device);
  ExecuteOptions options;
  options.measureTiming = true;
  NewFence start = createFence().value();
  const FencedResult first = prepared->executeFenced(
      sumRequest(a_, b_, out_), std::vector<int>{start.fence.get()}, options, std::nullopt);
  ASSERT_TRUE(first.status.ok()) << first.status.toString();
  const SharedMemoryPtr total = memoryOf({0, 0, 0, 0});
  const FencedResult second = prepared->executeFenced(
      sumRequest(out_, b_, total), std::vector<int>{first.fence.get()}, {}, std::nullopt);
  EXPECT_EQ(first.execution->getExecutionInfo().status.code(), ResultCode::OP_FAILED);
  start.signaller.signal();
  EXPECT_EQ(waitFor(second), FenceState::SIGNALLED);
  EXPECT_THAT(contentsOf(total), ElementsAre(21, 42, 63, 84));
  const FencedInfo info = first.execution->getExecutionInfo();
  EXPECT_TRUE(info.status.ok()) << info.status.toString();
  EXPECT_EQ(info.fenced.timeOnDevice, 2'000'000u);
  ASSERT_TRUE(info.fenced.timeInDriver && info.launched.timeInDriver);
  EXPECT_LE(*info.fenced.timeInDriver, *info.launched.timeInDriver);
  EXPECT_FALSE(second.execution->getExecutionInfo().launched.timeInDriver.has_value());
}

TEST_F(RemoteFencedTest, RefusalsHaveNothingWithThem) {
  const auto device = open("one");
  const auto prepared = prepare(*device);
  NewFence failed = createFence().value();
  failed.signaller.fail();
  ExecuteOptions late;
  late.deadline = Clock::now();
  const NewFence never = createFence().value();
  Request incomplete = sumRequest(a_, b_, out_);
  incomplete.inputs.pop_back();
  const std::vector<std::pair<FencedResult, ResultCode>> results = [&] {
    std::vector<std::pair<FencedResult, ResultCode>> all;
    const auto run = [&](const Request& request, std::vector<int> fences,
                         const ExecuteOptions& options, ResultCode code) {
      all.emplace_back(prepared->executeFenced(request, fences, options, std::nullopt), code);
    };
    run(sumRequest(a_, b_, out_), {failed.fence.get()}, {}, ResultCode::BAD_DATA);
    run(sumRequest(a_, b_, out_), {-1}, {}, ResultCode::BAD_DATA);
    run(sumRequest(a_, b_, out_), {a_->fd()}, {}, ResultCode::BAD_DATA);
    run(incomplete, {}, {}, ResultCode::BAD_DATA);
    run(sumRequest(a_, b_, out_), {}, late, ResultCode::MISSED_DEADLINE_PERSISTENT);
    run(sumRequest(a_, b_, out_), {never.fence.get()}, late,
        ResultCode::MISSED_DEADLINE_PERSISTENT);
    return all;
  }();
  for (const auto& [result, code] : results) {
    EXPECT_EQ(result.status.code(), code) << result.status.toString();
    EXPECT_FALSE(result.fence.valid());
    EXPECT_EQ(result.execution, nullptr);
  }
}

TEST_F(RemoteFencedTest, PointersAreReadAfterAndWrittenBeforeTheFences) {
  const auto device = open("one");
  const auto prepared = prepare(*device);
  NewFence start = createFence().value();
  std::vector<float> a(4, -1.0f);
  const std::vector<float> b(4, 1.0f);
  std::vector<float> sum(4);
  std::vector<float> total(4);
  const FencedResult first =
      prepared->executeFenced(pointerRequest(a.data(), b.data(), sum.data(), 4),
                              std::vector<int>{start.fence.get()}, {}, std::nullopt);
  const FencedResult second =
      prepared->executeFenced(pointerRequest(sum.data(), b.data(), total.data(), 4),
                              std::vector<int>{first.fence.get()}, {}, std::nullopt);
  ASSERT_TRUE(first.status.ok() && second.status.ok());
  a = {1, 2, 3, 4};
  start.signaller.signal();
  EXPECT_EQ(waitFor(second), FenceState::SIGNALLED);
  EXPECT_THAT(total, ElementsAre(3, 4, 5, 6));
}

TEST_F(RemoteFencedTest, OldDriversWaitOnTheirClientsSide) {
  for (const HalVersion version : {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2}) {
    SCOPED_TRACE(std::string(halVersionName(version)));
    const auto device = open("old", version);
    const auto prepared = prepare(*device);
    // Without pending fences, the execution is done on return.
    const FencedResult done =
        prepared->executeFenced(sumRequest(a_, b_, out_), {}, {}, std::nullopt);
    ASSERT_TRUE(done.status.ok()) << done.status.toString();
    EXPECT_FALSE(done.fence.valid());
    EXPECT_TRUE(done.execution->getExecutionInfo().status.ok());
    EXPECT_THAT(contentsOf(out_), ElementsAre(11, 22, 33, 44));
    const FencedResult wrong = prepared->executeFenced(
        sumRequest(memoryOf(std::vector<float>(4, kThrow)), b_, out_), {}, {}, std::nullopt);
    EXPECT_EQ(wrong.status.code(), ResultCode::OP_FAILED);
    EXPECT_EQ(wrong.execution, nullptr);

    // The call returns although a fence is pending.
    NewFence start = createFence().value();
    const SharedMemoryPtr total = memoryOf({0, 0, 0, 0});
    const FencedResult waiting = prepared->executeFenced(
        sumRequest(out_, b_, total), std::vector<int>{start.fence.get()}, {}, hours(1));
    ASSERT_TRUE(waiting.status.ok()) << waiting.status.toString();
    EXPECT_EQ(fenceState(waiting.fence.get()).value(), FenceState::PENDING);
    start.signaller.signal();
    EXPECT_EQ(waitFor(waiting), FenceState::SIGNALLED);
    EXPECT_THAT(contentsOf(total), ElementsAre(21, 42, 63, 84));

    NewFence failing = createFence().value();
    const FencedResult failed = prepared->executeFenced(
        sumRequest(a_, b_, out_), std::vector<int>{failing.fence.get()}, {}, std::nullopt);
    failing.signaller.fail();
    EXPECT_EQ(waitFor(failed), FenceState::ERROR);
    EXPECT_EQ(failed.execution->getExecutionInfo().status.code(), ResultCode::OP_FAILED);
  }
}

// The results of a fenced execution that its caller sees.
struct SeenResult {
  ResultCode call = ResultCode::NO_ERROR;  // the status of executeFenced
  bool hasFence = false;
  FenceState fence = FenceState::SIGNALLED;
  ResultCode execution = ResultCode::NO_ERROR;
  bool operator==(const SeenResult&) const = default;
};
std::ostream& operator<<(std::ostream& out, const SeenResult& outcome) {
  return out << fmt::format("the call {}, {} fence{}, the execution {}",
                            static_cast<int>(outcome.call), outcome.hasFence ? "a" : "no",
                            outcome.fence == FenceState::ERROR ? " in error" : "",
                            static_cast<int>(outcome.execution));
}
SeenResult outcomeOf(const FencedResult& result) {
  SeenResult outcome;
  outcome.call = result.status.code();
  outcome.hasFence = result.fence.valid();
  if (outcome.hasFence) outcome.fence = waitFor(result);
  if (result.execution) outcome.execution = result.execution->getExecutionInfo().status.code();
  return outcome;
}

// A session stands for a driver that is a library.
TEST_F(RemoteFencedTest, FailuresAreToldInTheSameWayByLibraries) {
  const auto readOnly = [&] {
    return std::make_shared<const SharedMemory>(
        MemoryKind::ASHMEM, UniqueFd(::fcntl(out_->fd(), F_DUPFD_CLOEXEC, 0)), 16, PROT_READ, 0);
  };
  const SharedMemoryPtr bad = memoryOf(std::vector<float>(4, kThrow));
  for (const HalVersion version :
       {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2, HalVersion::V1_3}) {
    const auto process = open("old", version);
    ClientSession library(std::make_shared<TestDevice>(version), services_);
    const auto inProcess = prepare(*process);
    const auto inLibrary = prepare(library);
    const auto expectSame = [&](const std::string& what, auto run) {
      SCOPED_TRACE(fmt::format("HAL {}: {}", halVersionName(version), what));
      const SeenResult expected = run(*inProcess);
      EXPECT_EQ(run(*inLibrary), expected);
      return expected;
    };
    const auto now = [](const Request& request, const ExecuteOptions& options = {}) {
      return [=](PreparedModel& model) {
        return outcomeOf(model.executeFenced(request, {}, options, std::nullopt));
      };
    };
    EXPECT_EQ(expectSame("all is well", now(sumRequest(a_, b_, out_))).hasFence,
              version >= HalVersion::V1_3);
    // A driver without fences has computed when the call returns, and the call reports the error.
    const SeenResult failed = expectSame("the computation fails", now(sumRequest(bad, b_, out_)));
    EXPECT_EQ(failed.call,
              version < HalVersion::V1_3 ? ResultCode::OP_FAILED : ResultCode::NO_ERROR);
    expectSame("output that must not be written", now(sumRequest(a_, b_, readOnly())));
    std::vector<float> values(4, kThrow);
    expectSame("the computation fails with pointers",
               now(pointerRequest(values.data(), values.data(), values.data(), 4)));
    Request incomplete = sumRequest(a_, b_, out_);
    incomplete.inputs.pop_back();
    EXPECT_EQ(expectSame("an input is missing", now(incomplete)).call, ResultCode::BAD_DATA);
    ExecuteOptions late;
    late.deadline = Clock::now();
    EXPECT_EQ(expectSame("the deadline has passed", now(sumRequest(a_, b_, out_), late)).call,
              ResultCode::MISSED_DEADLINE_PERSISTENT);
    Request unknown = sumRequest(a_, b_, out_);
    unknown.pools[2] = uint32_t{4711};
    unknown.outputs[0].location = {2, 0, 0};
    expectSame("an unknown token", now(unknown));
    for (const bool isGood : {true, false}) {
      expectSame(
          fmt::format("a fence that {}", isGood ? "signals" : "fails"), [&](PreparedModel& model) {
            NewFence start = createFence().value();
            const FencedResult result = model.executeFenced(
                sumRequest(bad, b_, out_), std::vector<int>{start.fence.get()}, {}, std::nullopt);
            isGood ? start.signaller.signal() : start.signaller.fail();
            return outcomeOf(result);
          });
    }
  }
}

TEST_F(RemoteFencedTest, KilledDriverFailsAllItsFences) {
  const auto device = open("one");
  const auto prepared = prepare(*device);
  const auto other = open("two");
  const auto elsewhere = prepare(*other);
  const NewFence never = createFence().value();
  std::vector<FencedResult> pending;
  for (int i = 0; i < 10; ++i) {
    pending.push_back(prepared->executeFenced(
        sumRequest(a_, b_, out_), std::vector<int>{never.fence.get()}, {}, std::nullopt));
    ASSERT_TRUE(pending.back().status.ok()) << pending.back().status.toString();
  }
  pending.push_back(prepared->executeFenced(
      sumRequest(memoryOf(std::vector<float>(4, kHang)), b_, out_), {}, {}, std::nullopt));
  // The error propagates to the next execution, on another driver.
  const FencedResult next = elsewhere->executeFenced(
      sumRequest(a_, b_, out_), std::vector<int>{pending.front().fence.get()}, {}, std::nullopt);
  const pid_t pid = device->processId();
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  for (const FencedResult& result : pending) {
    EXPECT_EQ(waitFor(result), FenceState::ERROR);
    const FencedInfo info = result.execution->getExecutionInfo();
    EXPECT_EQ(info.status.code(), ResultCode::DEAD_OBJECT);
    EXPECT_THAT(info.status.message(), HasSubstr("signal 9"));
  }
  EXPECT_EQ(waitFor(next), FenceState::ERROR);
  EXPECT_EQ(next.execution->getExecutionInfo().status.code(), ResultCode::OP_FAILED);
  const auto again = prepare(*device);
  EXPECT_EQ(waitFor(again->executeFenced(sumRequest(a_, b_, out_), {}, {}, std::nullopt)),
            FenceState::SIGNALLED);
  EXPECT_THAT(contentsOf(out_), ElementsAre(11, 22, 33, 44));
}

TEST_F(RemoteFencedTest, StoppedDriverIsGivenUpInTime) {
  const auto device = open("one");
  const auto prepared = prepare(*device);
  NewFence start = createFence().value();
  const std::vector<int> fences = {start.fence.get()};
  ExecuteOptions options;
  options.deadline = Clock::now() + milliseconds(100);
  const FencedResult byDeadline =
      prepared->executeFenced(sumRequest(a_, b_, out_), fences, options, std::nullopt);
  const FencedResult byDuration =
      prepared->executeFenced(sumRequest(a_, b_, out_), fences, {}, milliseconds(50));
  ASSERT_TRUE(byDeadline.status.ok() && byDuration.status.ok());
  const pid_t pid = device->processId();
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  EXPECT_EQ(waitFor(byDeadline), FenceState::ERROR);
  EXPECT_GE(Clock::now(), *options.deadline);
  EXPECT_EQ(fenceState(byDuration.fence.get()).value(), FenceState::PENDING);
  start.signaller.signal();
  EXPECT_EQ(waitFor(byDuration), FenceState::ERROR);
  for (const FencedResult* result : {&byDeadline, &byDuration}) {
    const FencedInfo info = result->execution->getExecutionInfo();
    EXPECT_EQ(info.status.code(), ResultCode::MISSED_DEADLINE_PERSISTENT);
    EXPECT_THAT(info.status.message(), HasSubstr("driver 'one'"));
  }
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
}

TEST_F(RemoteFencedTest, MoreFencesThanAMessageTakes) {
  const auto device = open("one");
  const auto prepared = prepare(*device);
  std::vector<NewFence> starts;
  std::vector<int> fences;
  for (int i = 0; i < 300; ++i) {
    starts.push_back(createFence().value());
    fences.push_back(starts.back().fence.get());
  }
  const FencedResult result =
      prepared->executeFenced(sumRequest(a_, b_, out_), fences, {}, std::nullopt);
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  for (NewFence& start : starts) start.signaller.signal();
  EXPECT_EQ(waitFor(result), FenceState::SIGNALLED);
  EXPECT_THAT(contentsOf(out_), ElementsAre(11, 22, 33, 44));
}

class ChainTest : public RemoteFencedTest {
 protected:
  static constexpr int kLinks = 1000;

  void SetUp() override {
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    ASSERT_GE(limit.rlim_max, 4096u);
    for (const char* name : {"one", "two"}) {
      devices_.push_back(open(name));
      prepared_.push_back(prepare(*devices_.back()));
    }
  }
  // Each link adds b_ to the previous link's result, in the other driver.
  std::vector<FencedResult> chainOf(int links, int firstFence) {
    std::vector<FencedResult> chain;
    const SharedMemoryPtr memories[] = {out_, other_};
    for (int i = 0; i < links; ++i) {
      const auto odd = static_cast<size_t>(i % 2);
      const int fence = i == 0 ? firstFence : chain.back().fence.get();
      chain.push_back(
          prepared_[odd]->executeFenced(sumRequest(memories[1 - odd], b_, memories[odd]),
                                        std::vector<int>{fence}, {}, std::nullopt));
      EXPECT_TRUE(chain.back().status.ok()) << i << ": " << chain.back().status.toString();
    }
    return chain;
  }
  std::vector<size_t> threadCounts() const {
    std::vector<size_t> counts = {threadsOf("self")};
    for (const auto& device : devices_) {
      counts.push_back(threadsOf(fmt::to_string(device->processId())));
    }
    return counts;
  }
  std::vector<size_t> descriptorCounts() const {
    std::vector<size_t> counts = {entriesOf("/proc/self/fd")};
    for (const auto& device : devices_) {
      counts.push_back(entriesOf(fmt::format("/proc/{}/fd", device->processId())));
    }
    return counts;
  }

  // An executor may start more of its usual threads while one of them completes a link.
  static void expectAtMostUsualThreadsMore(const std::vector<size_t>& now,
                                           const std::vector<size_t>& before) {
    for (size_t i = 0; i < now.size(); ++i) {
      EXPECT_LE(now[i], before[i] + FairExecutor::usualThreads()) << i;
    }
  }

  const SharedMemoryPtr other_ = memoryOf({0, 0, 0, 0});
  std::vector<std::shared_ptr<RemoteDevice>> devices_;
  std::vector<std::shared_ptr<PreparedModel>> prepared_;
};

TEST_F(ChainTest, AThousandExecutionsOverTwoDriversNeedNoThreadEach) {
  const auto cycle = [&](int links) {
    NewFence start = createFence().value();
    const std::vector<FencedResult> chain = chainOf(links, start.fence.get());
    start.signaller.signal();
    EXPECT_EQ(waitFor(chain.back()), FenceState::SIGNALLED);
  };
  cycle(100);  // most threads exist afterwards
  const std::vector<size_t> threads = threadCounts();
  const std::vector<size_t> descriptors = descriptorCounts();
  for (const SharedMemoryPtr& memory : {out_, other_}) {
    std::memset(memory->map().value().data(), 0, 16);
  }

  NewFence start = createFence().value();
  {
    const std::vector<FencedResult> chain = chainOf(kLinks, start.fence.get());
    expectAtMostUsualThreadsMore(threadCounts(), threads);
    EXPECT_EQ(fenceState(chain.front().fence.get()).value(), FenceState::PENDING);
    start.signaller.signal();
    EXPECT_EQ(waitFor(chain.back()), FenceState::SIGNALLED);
    expectAtMostUsualThreadsMore(threadCounts(), threads);
    const auto times = static_cast<float>(kLinks);
    EXPECT_THAT(contentsOf(other_), ElementsAre(10 * times, 20 * times, 30 * times, 40 * times));
    for (const FencedResult& link : chain) {
      ASSERT_EQ(fenceState(link.fence.get()).value(), FenceState::SIGNALLED);
      ASSERT_TRUE(link.execution->getExecutionInfo().status.ok());
    }
  }
  start = {};
  for (size_t i = 0; i < descriptors.size(); ++i) {
    EXPECT_LE(settle([&] { return descriptorCounts()[i]; }, descriptors[i]), descriptors[i]) << i;
  }
}

TEST_F(ChainTest, AnErrorRunsDownAThousandExecutions) {
  NewFence start = createFence().value();
  const std::vector<FencedResult> chain = chainOf(kLinks, start.fence.get());
  start.signaller.fail();
  for (const FencedResult& link : chain) ASSERT_EQ(waitFor(link), FenceState::ERROR);
  EXPECT_EQ(chain.back().execution->getExecutionInfo().status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(contentsOf(out_), ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace halyard::hal
