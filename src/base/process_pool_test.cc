// Tests of jobs in processes that end normally, crash or hang.
#include "base/process_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <set>
#include <thread>

namespace halyard {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Answer = ProcessPool::Answer;

// Runs the action that the job's text names.
std::string work(std::string_view job) {
  if (job == "kill") ::kill(::getpid(), SIGKILL);
  if (job == "exit") ::_exit(7);
  if (job == "hang") {
    for (;;) std::this_thread::sleep_for(1h);
  }
  if (job == "pid") return std::to_string(::getpid());
  if (job == "bad end") {
    std::atexit([] {
      (void)!::write(STDERR_FILENO, "last words", 10);
      ::_exit(9);
    });
  }
  return std::string(job) + "!";
}

Result<ProcessWorker> start() { return ProcessWorker{"hello", work}; }

std::vector<Answer> doJobs(ProcessPool& pool, const std::vector<std::string>& jobs) {
  std::vector<Answer> answers(jobs.size());
  size_t next = 0;
  pool.run(
      [&]() -> std::optional<std::string> {
        if (next == jobs.size()) return std::nullopt;
        return jobs[next++];
      },
      [&](size_t number, Answer answer) { answers.at(number) = std::move(answer); });
  EXPECT_EQ(next, jobs.size());
  return answers;
}

std::unique_ptr<ProcessPool> makePool(unsigned processes,
                                      std::chrono::milliseconds jobLimit = 60s) {
  auto pool = ProcessPool::create({processes, 60s, jobLimit}, start);
  EXPECT_TRUE(pool.ok()) << pool.status().toString();
  return std::move(pool).value();
}

TEST(ProcessPool, DoesEveryJobOnce) {
  const auto pool = makePool(3);
  EXPECT_EQ(pool->greeting(), "hello");
  std::vector<std::string> jobs;
  for (int i = 0; i < 500; ++i) jobs.push_back(std::to_string(i));
  const std::vector<Answer> answers = doJobs(*pool, jobs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    ASSERT_TRUE(answers[i].response) << answers[i].failure;
    EXPECT_EQ(*answers[i].response, jobs[i] + "!");
  }
  EXPECT_TRUE(pool->finish().ok());
}

TEST(ProcessPool, UsesAsManyProcessesAsAllowed) {
  const auto pool = makePool(2);
  std::set<std::string> pids;
  for (const Answer& answer : doJobs(*pool, std::vector<std::string>(50, "pid"))) {
    pids.insert(answer.response.value_or("none"));
  }
  EXPECT_LE(pids.size(), 2u);
  EXPECT_EQ(pids.count(std::to_string(::getpid())), 0u);
}

TEST(ProcessPool, LargeMessages) {
  const auto pool = makePool(1);
  const std::string large(5'000'000, 'x');
  const std::vector<Answer> answers = doJobs(*pool, {large, ""});
  EXPECT_EQ(answers[0].response, large + "!");
  EXPECT_EQ(answers[1].response, "!");
}

TEST(ProcessPool, ACrashFailsItsJobOnly) {
  const auto pool = makePool(2);
  const std::vector<Answer> answers = doJobs(*pool, {"a", "kill", "b", "exit", "c", "kill", "d"});
  for (const size_t good : {0, 2, 4, 6}) EXPECT_TRUE(answers[good].response) << good;
  EXPECT_FALSE(answers[1].response);
  EXPECT_EQ(answers[1].failure, "its process ended: signal 9 (Killed)");
  EXPECT_EQ(answers[1].how, ProcessPool::How::ENDED);
  EXPECT_EQ(answers[3].failure, "its process ended: exit status 7");
  EXPECT_FALSE(answers[5].response);
  EXPECT_TRUE(pool->finish().ok());
}

TEST(ProcessPool, AHangFailsItsJobOnly) {
  const auto pool = makePool(2, 300ms);
  const std::vector<Answer> answers = doJobs(*pool, {"a", "hang", "b", "c"});
  EXPECT_EQ(answers[1].failure, "no result within 0.3 s; its process was killed");
  EXPECT_EQ(answers[1].how, ProcessPool::How::TIMED_OUT);
  EXPECT_GE(answers[1].duration, 300ms);
  for (const size_t good : {0, 2, 3}) EXPECT_TRUE(answers[good].response) << good;
}

TEST(ProcessPool, AJobMayHaveALimitOfItsOwn) {
  ProcessPoolOptions options{1, 60s, 60s};
  options.limitOf = [](std::string_view job) { return job == "hang" ? 200ms : 60'000ms; };
  auto pool = ProcessPool::create(options, start);
  ASSERT_TRUE(pool.ok());
  const std::vector<Answer> answers = doJobs(**pool, {"a", "hang", "b"});
  EXPECT_EQ(answers[1].failure, "no result within 0.2 s; its process was killed");
  EXPECT_TRUE(answers[0].response && answers[2].response);
}

TEST(ProcessPool, KeepsWhatEachJobWritesToStandardError) {
  ProcessPoolOptions options{1, 60s, 60s};
  options.keepErrors = true;
  auto pool = ProcessPool::create(options, [] {
    return Result<ProcessWorker>(ProcessWorker{"", [](std::string_view job) {
                                                 const std::string text(job);
                                                 // A driver that the process started would write in
                                                 // this way.
                                                 (void)std::system(
                                                     ("echo 'said " + text + "' >&2").c_str());
                                                 if (job == "kill") ::kill(::getpid(), SIGKILL);
                                                 return text;
                                               }});
  });
  ASSERT_TRUE(pool.ok());
  const std::vector<Answer> answers = doJobs(**pool, {"a", "kill", "b", std::string(20000, 'x')});
  EXPECT_EQ(answers[0].errors, "said a\n");
  EXPECT_EQ(answers[1].errors, "said kill\n");
  EXPECT_EQ(answers[2].errors, "said b\n");
  EXPECT_EQ(answers[3].errors, std::string(8191, 'x') + "\n");
}

TEST(ProcessPool, ProcessesEndWithThePool) {
  pid_t pid = 0;
  {
    const auto pool = makePool(1);
    pid = std::stoi(doJobs(*pool, {"pid"})[0].response.value_or("0"));
    ASSERT_GT(pid, 0);
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST(ProcessPool, ABadEndIsTold) {
  ProcessPoolOptions options;
  options.processes = 1;
  options.keepErrors = true;
  auto pool = ProcessPool::create(options, start);
  ASSERT_TRUE(pool.ok()) << pool.status().toString();
  EXPECT_TRUE(doJobs(**pool, {"bad end"})[0].response);
  EXPECT_THAT((*pool)->finish().message(),
              HasSubstr("exit status 9 when all was done; it wrote: last words"));
}

TEST(ProcessPool, FirstStartThatFails) {
  const ProcessPoolOptions options{1, 300ms, 60s};
  const auto refused = ProcessPool::create(
      options, []() -> Result<ProcessWorker> { return badData("no device {}", 7); });
  EXPECT_EQ(refused.status().toString(), "BAD_DATA: no device 7");
  const auto crashed = ProcessPool::create(options, []() -> Result<ProcessWorker> { ::_exit(3); });
  EXPECT_EQ(crashed.status().code(), ResultCode::DEAD_OBJECT);
  EXPECT_THAT(crashed.status().message(), HasSubstr("exit status 3"));
  const auto late = ProcessPool::create(options, []() -> Result<ProcessWorker> {
    std::this_thread::sleep_for(1h);
    return start();
  });
  EXPECT_EQ(late.status().code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
}

TEST(ProcessPool, LaterStartsThatFailEndTheRun) {
  // Memory shared with the processes that counts their starts.
  void* shared = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& starts = *new (shared) std::atomic<int>(0);
  auto pool = ProcessPool::create({1, 60s, 60s}, [&]() -> Result<ProcessWorker> {
    if (++starts > 1) return opFailed("gone");
    return start();
  });
  ASSERT_TRUE(pool.ok());
  const std::vector<Answer> answers = doJobs(**pool, {"a", "kill", "b", "c", "d", "e", "f"});
  EXPECT_TRUE(answers[0].response);
  for (size_t i = 2; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].failure, "not run: OP_FAILED: gone") << i;
  }
  EXPECT_EQ(starts, 4);
  ::munmap(shared, sizeof(std::atomic<int>));
}

}  // namespace
}  // namespace halyard
