// Models that are completed after they have been handed out: by a thread, or by their first run.
#include "late_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <latch>
#include <thread>
#include <vector>

#include "base/sanitized.h"
#include "compiled_model.h"
#include "cpu_driver.h"
#include "model_for_test.h"

namespace halyard::cpudriver {
namespace {

using testing::Builder;
using ::testing::HasSubstr;

constexpr uint32_t kWidth = 256;

std::shared_ptr<const Model> layersModel() {
  Builder b;
  const uint32_t none = b.int32(0);
  uint32_t x = b.input({1, kWidth});
  for (int i = 0; i < 4; ++i) {
    const uint32_t weights = b.constant({kWidth, kWidth});
    const uint32_t bias = b.constant({kWidth});
    const uint32_t y = i == 3 ? b.output({1, kWidth}) : b.tensor({1, kWidth});
    b.operation(OperationType::FULLY_CONNECTED, {x, weights, bias, none}, {y});
    x = y;
  }
  return b.take();
}

struct LateOutcome {
  Status status;
  std::vector<float> values;
};

LateOutcome outcomeOf(CompiledModel& model, const hal::ExecuteOptions& options = {}) {
  std::vector<float> in(kWidth);
  for (size_t i = 0; i < in.size(); ++i) in[i] = 0.01f * static_cast<float>(i % 61) - 0.3f;
  LateOutcome outcome{{}, std::vector<float>(kWidth)};
  const cpu::Argument input{in.data(), in.size() * sizeof(float), {}, false};
  const cpu::Argument output{outcome.values.data(), kWidth * sizeof(float), {}, false};
  outcome.status = model.run(std::span(&input, 1), std::span(&output, 1), options).status;
  return outcome;
}

std::vector<float> lateResult() {
  const auto compiled = CompiledModel::compile(layersModel(), {});
  EXPECT_TRUE(compiled.ok() && *compiled != nullptr);
  return outcomeOf(**compiled).values;
}

std::shared_ptr<CompiledModel> planned(const CompiledModel::Resources& resources = {}) {
  auto model = CompiledModel::compileLater(layersModel(), resources);
  EXPECT_TRUE(model.ok()) << model.status().toString();
  EXPECT_FALSE((*model)->isComplete());
  return std::move(*model);
}

TEST(LateCompilerTest, CompletesWhatNobodyRuns) {
  LateCompiler late;
  const std::shared_ptr<CompiledModel> model = planned();
  ASSERT_TRUE(late.add(model));
  while (!model->isComplete()) std::this_thread::yield();
  EXPECT_EQ(outcomeOf(*model).values, lateResult());
}

TEST(LateCompilerTest, TheFirstRunCompletesAModelWithoutWaitingForItsTurn) {
  const std::shared_ptr<CompiledModel> model = planned();
  const LateOutcome outcome = outcomeOf(*model);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.toString();
  EXPECT_EQ(outcome.values, lateResult());
  EXPECT_TRUE(model->isComplete());
}

TEST(LateCompilerTest, FirstRunsThatComeTogetherAllHaveTheResults) {
  const std::vector<float> right = lateResult();
  for (int round = 0; round < 20; ++round) {
    LateCompiler late;
    ThreadShare threads(2);
    const std::shared_ptr<CompiledModel> model = planned({&threads, nullptr, &late});
    ASSERT_TRUE(late.add(model));
    std::latch together(3);
    std::vector<std::thread> runners;
    for (int i = 0; i < 3; ++i) {
      runners.emplace_back([&] {
        together.arrive_and_wait();
        const LateOutcome outcome = outcomeOf(*model);
        EXPECT_TRUE(outcome.status.ok()) << outcome.status.toString();
        EXPECT_EQ(outcome.values, right);
      });
    }
    for (std::thread& runner : runners) runner.join();
  }
}

TEST(LateCompilerTest, ARunWithADeadlineWaitsNoLonger) {
  LateCompiler late;
  const std::shared_ptr<CompiledModel> waited = planned({nullptr, nullptr, &late});
  hal::ExecuteOptions soon;
  soon.deadline = hal::Clock::now() + std::chrono::milliseconds(1);
  // No thread completes it.
  const LateOutcome missed = outcomeOf(*waited, soon);
  EXPECT_EQ(missed.status.code(), ResultCode::MISSED_DEADLINE_TRANSIENT);
  EXPECT_THAT(missed.status.message(), HasSubstr("before the model's kernels were made"));
  ASSERT_TRUE(late.add(waited));
  hal::ExecuteOptions ample;
  ample.deadline = hal::Clock::now() + std::chrono::hours(1);
  EXPECT_EQ(outcomeOf(*waited, ample).values, lateResult());
}

TEST(LateCompilerTest, ModelsThatAreGoneAreLeftOut) {
  LateCompiler late;
  std::weak_ptr<CompiledModel> gone;
  {
    const std::shared_ptr<CompiledModel> model = planned();
    gone = model;
    ASSERT_TRUE(late.add(model));
  }
  const std::shared_ptr<CompiledModel> next = planned();
  ASSERT_TRUE(late.add(next));
  while (!next->isComplete()) std::this_thread::yield();
  EXPECT_TRUE(gone.expired());
}

// Whenever it ends: with models that wait, or in the midst of one.
TEST(LateCompilerTest, EndsWithoutItsModels) {
  for (int round = 0; round < 50; ++round) {
    std::vector<std::shared_ptr<CompiledModel>> models;
    {
      LateCompiler late;
      for (int i = 0; i < 3; ++i) {
        models.push_back(planned());
        ASSERT_TRUE(late.add(models.back()));
      }
      late.hurry();
      if (round % 2 == 0) models[0]->abandon();
    }
  }
}

TEST(LateCompilerTest, WhatAnAbandonedModelSays) {
  const std::shared_ptr<CompiledModel> model = planned();
  model->abandon();
  EXPECT_EQ(model->complete().code(), ResultCode::OP_FAILED);
  const LateOutcome outcome = outcomeOf(*model);
  EXPECT_EQ(outcome.status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(outcome.status.message(), HasSubstr("making the model's kernels"));
}

// Sanitizers end where memory does.
#ifndef HALYARD_SANITIZED
TEST(LateCompilerDeathTest, WithoutAThreadTheCallerIsTold) {
  // In a process of its own: stacks of threads that have ended are kept for others.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto addAndRun = [] {
    const std::shared_ptr<CompiledModel> model = planned();
    LateCompiler late;
    rlimit before{};
    ::getrlimit(RLIMIT_AS, &before);
    rlimit none = before;
    none.rlim_cur = 1 << 20;  // below the present use: no stack can be mapped
    ::setrlimit(RLIMIT_AS, &none);
    const bool added = late.add(model);
    ::setrlimit(RLIMIT_AS, &before);
    const bool addedThen = late.add(model);
    const bool isRight = outcomeOf(*model).values == lateResult();
    std::_Exit(!added && addedThen && isRight ? 0 : 1);
  };
  EXPECT_EXIT(addAndRun(), ::testing::ExitedWithCode(0), "");
}
#endif

// The weights lie in a file that becomes shorter between preparing and packing.
TEST(LateCompilerTest, ConstantsThatAreGoneFailTheRuns) {
  Model inFile = *layersModel();
  std::FILE* const file = std::tmpfile();
  uint32_t end = 0;
  for (Operand& operand : inFile.main.operands) {
    if (operand.lifetime != Lifetime::CONSTANT_COPY || operand.location.length < 65536) continue;
    const DataLocation from = operand.location;
    ASSERT_EQ(::pwrite(::fileno(file), inFile.operandValues.data() + from.offset, from.length, end),
              static_cast<ssize_t>(from.length));
    operand.lifetime = Lifetime::CONSTANT_REFERENCE;
    operand.location = {0, end, from.length};
    end += from.length;
  }
  ASSERT_EQ(std::fflush(file), 0);
  auto memory = SharedMemory::fromFd(end, PROT_READ, ::fileno(file), 0);
  ASSERT_TRUE(memory.ok());
  inFile.pools = {SharedMemory::ofConstants(**memory)};
  const auto shared = std::make_shared<const Model>(inFile);
  const auto whole = CompiledModel::compileLater(shared, {});
  const auto model = CompiledModel::compileLater(shared, {});
  ASSERT_TRUE(whole.ok() && model.ok()) << model.status().toString();
  EXPECT_EQ(outcomeOf(**whole).values, lateResult());
  ASSERT_EQ(::ftruncate(::fileno(file), end / 2), 0);
  for (int i = 0; i < 2; ++i) {
    const LateOutcome outcome = outcomeOf(**model);
    EXPECT_EQ(outcome.status.code(), ResultCode::UNMAPPABLE) << outcome.status.toString();
    EXPECT_THAT(outcome.status.message(), HasSubstr("making the model's kernels"));
  }
  std::fclose(file);
}

// Of a driver whose models come and go, with executions or without.
TEST(LateCompilerTest, ADriverEndsInTheMidstOfItAll) {
  const std::string arguments[] = {"--threads=2"};
  for (int round = 0; round < 20; ++round) {
    auto device = makeCpuDriver(arguments);
    ASSERT_TRUE(device.ok());
    std::vector<std::shared_ptr<hal::PreparedModel>> models;
    for (int i = 0; i < 4; ++i) {
      auto prepared = (*device)->prepareModel(validated(layersModel()).value(), {});
      ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
      if (i % 2 == 0) models.push_back(std::move(*prepared));
    }
    device->reset();
    // Another part of the way each time, before the models that are left end, too.
    std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
  }
}

}  // namespace
}  // namespace halyard::cpudriver
