// Tests with a handmade trace whose sums were calculated by hand.
#include "trace/accounting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/timeline_for_test.h"

namespace halyard::trace {
namespace {

using ::testing::SizeIs;

std::vector<Accounting> accountOf(std::vector<Record> own, std::vector<Record> drivers = {}) {
  TraceRecords trace;
  trace.begin = 1;
  trace.end = 100'000;
  trace.records = std::move(own);
  DriverRecords& driver = trace.drivers.emplace_back();
  driver.name = "npu";
  driver.processId = 77;
  driver.peer = 5;
  driver.records = std::move(drivers);
  return account(makeTimeline(trace, "app", 42));
}

TEST(AccountingTest, AWholeRunByHand) {
  Record prepare = waitOf("[NN_LI_PC]prepareModel", 2100, 2900, 5);
  Record execute = waitOf("[NN_LI_PE]executeSynchronously", 5200, 6800, 5);
  const auto runs = accountOf(
      {
          recordOf("[NN_LA_PO]bench", 1000, 9000),
          recordOf("[NN_LR_PP]ANeuralNetworksModel_create", 1100, 1200),
          recordOf("[NN_LR_PP]ANeuralNetworksModel_finish", 1300, 1600),
          recordOf("[NN_LR_PC]ANeuralNetworksCompilation_finish", 2000, 3000),
          prepare,
          recordOf("[NN_LA_PE]infer", 4000, 8000),
          recordOf("[NN_LR_PE]ANeuralNetworksExecution_create", 4100, 4200),
          recordOf("[NN_LR_PIO]ANeuralNetworksExecution_setInput", 4300, 4400),
          recordOf("[NN_LR_PE]ANeuralNetworksExecution_compute", 5000, 7000),
          recordOf("[NN_LR_PE]partition 0", 5100, 6900),  // detail
          execute,
          recordOf("[NN_LI_PE]nested", 5300, 5400),  // detail
          recordOf("[NN_LR_PR]results", 6900, 6950),
          recordOf("[NN_LR_PT]ANeuralNetworksModel_free", 8500, 8600),
      },
      {recordOf("[NN_LD_PC]prepareModel", 2200, 2800), recordOf("[NN_LD_PE]execute", 5300, 6300),
       recordOf("[NN_LC_PCO]ADD", 5400, 5900)});
  ASSERT_THAT(runs, SizeIs(1));
  const Accounting& run = runs[0];
  EXPECT_EQ(run.startingMark, "bench");
  EXPECT_EQ(run.executions, 1u);
  EXPECT_EQ(run.at(Layer::APPLICATION, Phase::OVERALL), 8000);
  EXPECT_EQ(run.at(Layer::APPLICATION, Phase::EXECUTION), 4000);
  EXPECT_EQ(run.at(Layer::RUNTIME, Phase::PREPARATION), 400);
  EXPECT_EQ(run.at(Layer::RUNTIME, Phase::COMPILATION), 1000);
  EXPECT_EQ(run.at(Layer::RUNTIME, Phase::EXECUTION), 100 + 100 + 2000);
  EXPECT_EQ(run.at(Layer::RUNTIME, Phase::INPUTS_AND_OUTPUTS), 100);
  EXPECT_EQ(run.at(Layer::RUNTIME, Phase::RESULTS), 50);
  EXPECT_EQ(run.at(Layer::RUNTIME, Phase::TERMINATION), 100);
  EXPECT_EQ(run.at(Layer::IPC, Phase::COMPILATION), 800);
  EXPECT_EQ(run.at(Layer::IPC, Phase::EXECUTION), 1600);
  EXPECT_EQ(run.at(Layer::DRIVER, Phase::COMPILATION), 600);
  EXPECT_EQ(run.at(Layer::DRIVER, Phase::EXECUTION), 1000);
  EXPECT_EQ(run.at(Layer::DRIVER, Phase::COMPUTATION), 500);
  EXPECT_EQ(run.at(Layer::CPU, Phase::COMPUTATION), 0);
  EXPECT_EQ(run.selfAt(Layer::APPLICATION, Phase::EXECUTION), 4000 - 2200);
  EXPECT_EQ(run.selfAt(Layer::RUNTIME, Phase::EXECUTION), 2200 - 1600);
  EXPECT_EQ(run.selfAt(Layer::IPC, Phase::EXECUTION), 1600 - 1000);
  EXPECT_EQ(run.selfAt(Layer::DRIVER, Phase::EXECUTION), 1000);
}

TEST(AccountingTest, WhatIsSubtractedCountsInItsOwnPlace) {
  const auto runs = accountOf({
      recordOf("[NN_LA_PE]infer", 1000, 5000),
      recordOf("[NN_LR_PE]compute", 1000, 4000),
      recordOf("[SUB][NN_LR_PC]prepare again", 1500, 2500),
      recordOf("[NN_LI_PC]prepareModel", 1600, 2400),
      recordOf("[NN_LI_PI]configureExecutionBurst", 3000, 3100),
  });
  const Accounting& run = runs[0];
  EXPECT_EQ(run.at(Layer::APPLICATION, Phase::EXECUTION), 4000 - 1000 - 100);
  EXPECT_EQ(run.at(Layer::RUNTIME, Phase::EXECUTION), 3000 - 1000 - 100);
  EXPECT_EQ(run.at(Layer::RUNTIME, Phase::COMPILATION), 1000);
  EXPECT_EQ(run.at(Layer::IPC, Phase::COMPILATION), 800);
  EXPECT_EQ(run.at(Layer::IPC, Phase::INITIALIZATION), 100);
  // Without a mark of the application, each of its own slices counts as an execution.
  EXPECT_EQ(run.executions, 1u);
}

TEST(AccountingTest, InitialisationWithinWhatIsSubtractedIsTakenAwayOnce) {
  const auto runs = accountOf({
      recordOf("[NN_LR_PE]compute", 1000, 4000),
      recordOf("[SUB][NN_LR_PC]prepare again", 1500, 2500),
      recordOf("[NN_LR_PI]getCapabilities", 1600, 1700),
  });
  EXPECT_EQ(runs[0].at(Layer::RUNTIME, Phase::EXECUTION), 2000);
  EXPECT_EQ(runs[0].at(Layer::RUNTIME, Phase::COMPILATION), 900);
  EXPECT_EQ(runs[0].at(Layer::RUNTIME, Phase::INITIALIZATION), 100);
}

TEST(AccountingTest, ThePhaseOfTheRuntimeCountsNotTheApplications) {
  const auto runs = accountOf({
      recordOf("[NN_LA_PP]load", 1000, 3000),
      recordOf("[NN_LR_PP]ANeuralNetworksModel_finish", 1000, 1500),
      recordOf("[NN_LR_PC]ANeuralNetworksCompilation_finish", 1500, 2500),
      recordOf("[NN_LR_PC]detail", 1600, 1700),
  });
  const Accounting& run = runs[0];
  EXPECT_EQ(run.at(Layer::APPLICATION, Phase::PREPARATION), 1000);
  EXPECT_EQ(run.at(Layer::APPLICATION, Phase::COMPILATION), 1000);
  EXPECT_EQ(run.at(Layer::RUNTIME, Phase::COMPILATION), 1000);
  EXPECT_EQ(run.selfAt(Layer::APPLICATION, Phase::COMPILATION), 0);
}

TEST(AccountingTest, AnAsynchronousExecutionLastsUntilItIsWaitedFor) {
  const auto runs = accountOf({
      recordOf("[NN_LR_PE]ANeuralNetworksExecution_create", 1000, 1100),
      recordOf("[NN_LR_PE]ANeuralNetworksExecution_startCompute", 2000, 2100),
      recordOf("[NN_LR_PE]partition 0", 2050, 4000, 2),  // on the runtime's thread
      recordOf("[NN_LC_PE]execute", 2100, 3900, 2),
      recordOf("[NN_LR_PE]ANeuralNetworksEvent_wait", 2500, 4100),
      recordOf("[NN_LR_PE]ANeuralNetworksEvent_free", 4200, 4250),
  });
  EXPECT_EQ(runs[0].at(Layer::RUNTIME, Phase::EXECUTION), 100 + (4100 - 2000) + 50);
  EXPECT_EQ(runs[0].at(Layer::CPU, Phase::EXECUTION), 1800);
}

TEST(AccountingTest, AStartOfTheApplicationBeginsARunAndItsBenchmarkCounts) {
  const auto runs = accountOf({
      recordOf("[NN_LA_PO]first", 1000, 2000),
      recordOf("[NN_LR_PE]ANeuralNetworksExecution_create", 1100, 1200),
      recordOf("[NN_LA_PO]second", 3000, 9000),
      recordOf("[NN_LA_PWU]warm-up", 3100, 4000),
      recordOf("[NN_LR_PE]ANeuralNetworksExecution_create", 3200, 3700),
      recordOf("[NN_LA_PBM]benchmark", 5000, 8000),
      recordOf("[NN_LR_PE]ANeuralNetworksExecution_create", 5200, 5210),
      recordOf("[NN_LR_PE]ANeuralNetworksExecution_create", 6200, 6210),
  });
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[0].executions, 1u);
  EXPECT_EQ(runs[0].countedExecutions, 1u);
  EXPECT_EQ(runs[1].startingMark, "second");
  EXPECT_EQ(runs[1].executions, 3u);
  EXPECT_EQ(runs[1].countedExecutions, 2u);
  EXPECT_EQ(runs[1].at(Layer::RUNTIME, Phase::EXECUTION), 520);
  const auto& counted = runs[1].counted[static_cast<size_t>(Layer::RUNTIME)];
  EXPECT_EQ(counted[static_cast<size_t>(Phase::EXECUTION)], 20);
}

}  // namespace
}  // namespace halyard::trace
