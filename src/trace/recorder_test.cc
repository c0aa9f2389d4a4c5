// Tests of scopes and recorders. Without a recorder, scopes cost nothing.
#include "trace/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <thread>

#include "base/sanitized.h"

namespace {
thread_local size_t allocations = 0;

void* allocate(size_t size) {
  ++allocations;
  return std::malloc(size);
}
}  // namespace

// A sanitizer has its own function, which this one must not replace.
#ifndef HALYARD_SANITIZED
[[gnu::noinline]] void* operator new(size_t size) {
  if (void* const memory = allocate(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif

namespace halyard::trace {
namespace {

using ::testing::HasSubstr;

std::vector<Record> slicesOf(const Recorder& recorder) {
  std::vector<Record> slices;
  for (const Record& record : recorder.records()) {
    if (record.kind == Record::SLICE) slices.push_back(record);
  }
  return slices;
}

// Records with a recorder of the test.
class TraceTest : public ::testing::Test {
 protected:
  void SetUp() override { start(1000); }
  void TearDown() override { setProcessRecorder(nullptr); }

  void start(uint32_t capacity) {
    setProcessRecorder(nullptr);
    recorder_ = Recorder::create(capacity).value();
    setProcessRecorder(recorder_.get());
  }

  std::unique_ptr<Recorder> recorder_;
};

TEST_F(TraceTest, AScopeIsASliceWithAllThatIsKnownOfIt) {
  const uint64_t before = now();
  {
    const Scope scope(Layer::CPU, Phase::COMPUTATION, "CONV_2D",
                      {.operation = 3, .subgraph = 2, .context = 9, .peer = 4});
  }
  const uint64_t after = now();
  const std::vector<Record> slices = slicesOf(*recorder_);
  ASSERT_EQ(slices.size(), 1u);
  const Record& slice = slices[0];
  EXPECT_GE(slice.begin, before);
  EXPECT_LE(slice.begin, slice.end);
  EXPECT_LE(slice.end, after);
  EXPECT_EQ(slice.layer, static_cast<uint8_t>(Layer::CPU));
  EXPECT_EQ(slice.phase, static_cast<uint8_t>(Phase::COMPUTATION));
  EXPECT_EQ(slice.operation, 3);
  EXPECT_EQ(slice.subgraph, 2u);
  EXPECT_EQ(slice.context, 9u);
  EXPECT_EQ(slice.peer, 4u);
  EXPECT_STREQ(slice.text.data(), "CONV_2D");
}

TEST_F(TraceTest, ASwitchEndsOneSliceAndBeginsAnother) {
  {
    Scope scope(Layer::RUNTIME, Phase::INPUTS_AND_OUTPUTS, "copy in");
    scope.switchTo(Phase::RESULTS, "copy out");
  }
  const std::vector<Record> slices = slicesOf(*recorder_);
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_STREQ(slices[0].text.data(), "copy in");
  EXPECT_STREQ(slices[1].text.data(), "copy out");
  EXPECT_EQ(slices[0].end, slices[1].begin);
  EXPECT_EQ(slices[1].variant, static_cast<uint8_t>(Variant::SWITCH));
}

TEST_F(TraceTest, TheInnermostContextIsTheThreads) {
  EXPECT_EQ(currentContext(), 0u);
  {
    const Scope outer(Layer::RUNTIME, Phase::EXECUTION, "outer", {.context = 7});
    const Scope inner(Layer::IPC, Phase::EXECUTION, "inner");
    EXPECT_EQ(currentContext(), 7u);
    std::thread([] { EXPECT_EQ(currentContext(), 0u); }).join();
  }
  EXPECT_EQ(currentContext(), 0u);
}

TEST_F(TraceTest, LongTextsAreCut) {
  const std::string text(500, 'x');
  { const Scope scope(Layer::OTHER, Phase::OVERALL, text); }
  EXPECT_EQ(std::string(slicesOf(*recorder_)[0].text.data()),
            std::string(Record::kTextBytes - 1, 'x'));
}

TEST_F(TraceTest, AFullRecorderCountsWhatItLoses) {
  start(4);
  for (int i = 0; i < 10; ++i) const Scope scope(Layer::OTHER, Phase::OVERALL, "x");
  EXPECT_EQ(recorder_->records().size(), 4u);  // one of them is the thread's name
  EXPECT_EQ(recorder_->lost(), 7u);
}

TEST_F(TraceTest, ThreadsRecordAtOnceAndAreNamed) {
  start(100'000);
  constexpr int kThreads = 8;
  constexpr int kScopes = 2000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      ::pthread_setname_np(::pthread_self(), fmt::format("tester-{}", t).c_str());
      for (int i = 0; i < kScopes; ++i) {
        const Scope scope(Layer::OTHER, Phase::OVERALL, "x", {.operation = i});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<uint32_t, int> expected;
  size_t names = 0;
  for (const Record& record : recorder_->records()) {
    if (record.kind == Record::THREAD) {
      EXPECT_THAT(std::string(record.text.data()), HasSubstr("tester-"));
      ++names;
      continue;
    }
    EXPECT_EQ(record.operation, expected[record.thread]++);
  }
  EXPECT_EQ(names, size_t{kThreads});
  EXPECT_EQ(expected.size(), size_t{kThreads});
  EXPECT_EQ(recorder_->lost(), 0u);
}

// A recorder may end as soon as setProcessRecorder has returned, while threads record.
TEST_F(TraceTest, RecordersComeAndGoWhileThreadsRecord) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop) const Scope scope(Layer::OTHER, Phase::OVERALL, "x");
    });
  }
  for (int i = 0; i < 300; ++i) {
    start(64);
    for (const Record& record : slicesOf(*recorder_)) ASSERT_LE(record.begin, record.end);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TraceTest, WhatIsDoneForAClientIsRecordedForIt) {
  const auto memory = SharedMemory::create(Recorder::bytesFor(100), "test").value();
  ClientRecorder client;
  client.set(std::shared_ptr<Recorder>(Recorder::over(memory).value()));
  {
    const RecorderUse use(client.get());
    const Scope scope(Layer::DRIVER, Phase::EXECUTION, "execute");
  }
  { const Scope scope(Layer::RUNTIME, Phase::EXECUTION, "compute"); }
  ASSERT_EQ(slicesOf(*recorder_).size(), 1u);
  EXPECT_STREQ(slicesOf(*recorder_)[0].text.data(), "compute");
  const auto view = Recorder::over(memory).value();
  ASSERT_EQ(slicesOf(*view).size(), 1u);
  EXPECT_STREQ(slicesOf(*view)[0].text.data(), "execute");
  client.set(nullptr);
  EXPECT_EQ(client.get(), nullptr);
}

TEST_F(TraceTest, AClientThatSpoilsItsMemoryHarmsNobody) {
  const auto memory = SharedMemory::create(Recorder::bytesFor(10), "test").value();
  const std::shared_ptr<Recorder> recorder = Recorder::over(memory).value();
  const Mapping* const mapping = memory->mapped().value();
  for (const uint8_t byte : {0xff, 0x7f, 0x80, 0x00}) {
    std::memset(mapping->data(), byte, mapping->size());
    const RecorderUse use(recorder);
    const Scope scope(Layer::DRIVER, Phase::EXECUTION, "execute");
    EXPECT_LE(recorder->records().size(), 10u);
  }
  const auto small = SharedMemory::create(100, "test").value();
  EXPECT_THAT(Recorder::over(small).status().message(), HasSubstr("100 bytes for a trace"));
}

TEST_F(TraceTest, ALibrarysCopyRecordsInTheSameMemory) {
  setProcessRecorder(nullptr);
  attachTrace(recorder_->memory(), recorder_->bytes());
  { const OperationScope scope("ADD", 5); }
  attachTrace(nullptr, 0);
  { const OperationScope scope("MUL", 6); }
  const std::vector<Record> slices = slicesOf(*recorder_);
  ASSERT_EQ(slices.size(), 1u);
  EXPECT_EQ(slices[0].operation, 5);
}

TEST(TraceOffTest, NothingIsDoneWhileNobodyLooks) {
  ASSERT_FALSE(isActive());
  const size_t before = allocations;
  for (int i = 0; i < 1000; ++i) {
    Scope scope(Layer::RUNTIME, Phase::EXECUTION, "compute", {.context = 5});
    EXPECT_EQ(currentContext(), 0u);
    scope.switchTo(Phase::RESULTS, "results");
    addSlice(Layer::RUNTIME, Phase::EXECUTION, "x", 1, 2);
  }
  EXPECT_EQ(allocations, before);
}

TEST(TraceOffTest, NothingIsAllocatedWhileSomebodyDoes) {
  const auto recorder = Recorder::create(10'000).value();
  setProcessRecorder(recorder.get());
  const size_t before = allocations;
  for (int i = 0; i < 1000; ++i) {
    const Scope scope(Layer::RUNTIME, Phase::EXECUTION, "compute", {.context = 5});
  }
  const size_t after = allocations;
  setProcessRecorder(nullptr);
  EXPECT_EQ(after, before);
  EXPECT_EQ(recorder->records().size(), 1001u);
}

}  // namespace
}  // namespace halyard::trace
