// Executions: the four ways to run, states, times, shapes, padding.
#include <unistd.h>

#include <chrono>
#include <thread>
#include <tuple>

#include "halyard/driver/sync_fence.h"
#include "validation/cts/api_world.h"

namespace halyard::validation {
namespace {

// An execution of a sum of four elements with its buffers.
struct SumRun {
  std::vector<uint8_t> a, b, out;
  client::Execution execution;

  static Result<SumRun> make(const ApiWorld& world, const CompiledSum& sum) {
    SumRun run;
    run.a = world.elements({1, 2, 3, 4});
    run.b = world.elements({10, 20, 30, 40});
    run.out.resize(run.a.size());
    HALYARD_ASSIGN_OR_RETURN(run.execution, sum.execution());
    return run;
  }
  Status setArguments() {
    HALYARD_EXPECT_OK(execution.setInput(0, nullptr, a.data(), a.size()));
    HALYARD_EXPECT_OK(execution.setInput(1, nullptr, b.data(), b.size()));
    HALYARD_EXPECT_OK(execution.setOutput(0, nullptr, out.data(), out.size()));
    return okStatus();
  }
  // `more`: the amount added to the original values of a.
  Status expectResult(const ApiWorld& world, int more = 0) const {
    if (out == world.elements({11 + more, 22 + more, 33 + more, 44 + more})) return okStatus();
    return opFailed("the sum of 1 2 3 4 and 10 20 30 40, plus {}, is not 11 22 33 44", more);
  }
};

enum class Way { COMPUTE, ASYNC, BURST, FENCED };
constexpr std::pair<Way, std::string_view> kWays[] = {{Way::COMPUTE, "compute"},
                                                      {Way::ASYNC, "async"},
                                                      {Way::BURST, "burst"},
                                                      {Way::FENCED, "fenced"}};

int runIn(Way way, const CompiledSum& sum, const client::Execution& execution) {
  if (way == Way::COMPUTE) return execution.compute();
  if (way == Way::BURST) {
    client::Burst burst;
    const int code = burst.create(sum.compilation.get());
    return code == ANEURALNETWORKS_NO_ERROR ? execution.burstCompute(burst.get()).code() : code;
  }
  client::Event event;
  const int code = way == Way::ASYNC ? execution.startCompute(event)
                                     : execution.startComputeWithDependencies({}, 0, event);
  return code == ANEURALNETWORKS_NO_ERROR ? event.wait().code() : code;
}

// Runs the execution behind a fence, which is signalled 2 ms after the start.
int runBehindAFence(const client::Execution& execution) {
  auto fence = createFence();
  if (!fence.ok()) return ANEURALNETWORKS_OP_FAILED;
  client::Event dependency;
  int code = dependency.createFromSyncFenceFd(fence->fence.get());
  if (code != ANEURALNETWORKS_NO_ERROR) return code;
  const ANeuralNetworksEvent* const before = dependency.get();
  // Devices with an old interface wait for the fence during the call.
  std::jthread signal([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    fence->signaller.signal();
  });
  client::Event event;
  code = execution.startComputeWithDependencies({&before, 1}, 0, event);
  return code == ANEURALNETWORKS_NO_ERROR ? event.wait().code() : code;
}

CheckResult runsOnce(ApiWorld& world, Way way) {
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  HALYARD_ASSIGN_OR_RETURN(SumRun run, SumRun::make(world, sum));
  HALYARD_RETURN_IF_ERROR(run.setArguments());
  HALYARD_EXPECT_OK(runIn(way, sum, run.execution));
  HALYARD_RETURN_IF_ERROR(run.expectResult(world));
  HALYARD_EXPECT_CODE(runIn(way, sum, run.execution), ANEURALNETWORKS_BAD_STATE);
  uint8_t other[16] = {};
  HALYARD_EXPECT_CODE(run.execution.setInput(0, nullptr, other, run.a.size()),
                      ANEURALNETWORKS_BAD_STATE);
  return CheckResult::passed();
}

CheckResult runsAgain(ApiWorld& world, Way way) {
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  HALYARD_ASSIGN_OR_RETURN(SumRun run, SumRun::make(world, sum));
  HALYARD_EXPECT_OK(run.execution.setReusable(true));
  HALYARD_RETURN_IF_ERROR(run.setArguments());
  for (int i = 0; i < 3; ++i) {
    std::fill(run.out.begin(), run.out.end(), uint8_t{0xa5});
    // The run reads the buffers' present values, not earlier ones.
    const std::vector<uint8_t> a = world.elements({1 + i, 2 + i, 3 + i, 4 + i});
    std::copy(a.begin(), a.end(), run.a.begin());
    HALYARD_EXPECT_OK(runIn(way, sum, run.execution));
    HALYARD_RETURN_IF_ERROR(run.expectResult(world, i));
  }
  return CheckResult::passed();
}

// Times exist only when they are requested, and are consistent with each other.
CheckResult times(ApiWorld& world, Way way, bool behindAFence) {
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  for (const bool asked : {false, true}) {
    HALYARD_ASSIGN_OR_RETURN(SumRun run, SumRun::make(world, sum));
    const client::Execution& execution = run.execution;
    HALYARD_EXPECT_OK(execution.setMeasureTiming(asked));
    HALYARD_RETURN_IF_ERROR(run.setArguments());
    const auto start = std::chrono::steady_clock::now();
    HALYARD_EXPECT_OK(behindAFence ? runBehindAFence(execution) : runIn(way, sum, execution));
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start;
    uint64_t onHardware = 1;
    uint64_t inDriver = 1;
    const int code = asked ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_BAD_STATE;
    HALYARD_EXPECT_CODE(execution.getDuration(ANEURALNETWORKS_DURATION_ON_HARDWARE, onHardware),
                        code);
    HALYARD_EXPECT_CODE(execution.getDuration(ANEURALNETWORKS_DURATION_IN_DRIVER, inDriver), code);
    if (!asked) {
      HALYARD_EXPECT(onHardware == UINT64_MAX && inDriver == UINT64_MAX);
      continue;
    }
    uint64_t fencedOnHardware = 0;
    uint64_t fencedInDriver = 0;
    HALYARD_EXPECT_OK(
        execution.getDuration(ANEURALNETWORKS_FENCED_DURATION_ON_HARDWARE, fencedOnHardware));
    HALYARD_EXPECT_OK(
        execution.getDuration(ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER, fencedInDriver));
    // A part takes no longer than the whole. The whole takes no longer than the measured time of
    // the call.
    const auto whole = static_cast<uint64_t>(took.count());
    const std::tuple<std::string_view, uint64_t, uint64_t> rules[] = {
        {"the time on hardware, in driver", onHardware, inDriver},
        {"the time in driver, of the whole call", inDriver, whole},
        {"the time on hardware and in driver since the fences", fencedOnHardware, fencedInDriver},
        {"the time on hardware since the fences and since the launch", fencedOnHardware,
         onHardware},
        {"the time in driver since the fences and since the launch", fencedInDriver, inDriver},
    };
    for (const auto& [what, part, all] : rules) {
      if (part == UINT64_MAX || all == UINT64_MAX || part <= all) continue;
      return opFailed("{}: {} ns, expected at most {}", what, part, all);
    }
    if (way != Way::FENCED) {
      HALYARD_EXPECT(fencedOnHardware == onHardware && fencedInDriver == inDriver);
    }
    uint64_t value = 0;
    HALYARD_EXPECT_CODE(execution.getDuration(17, value), ANEURALNETWORKS_BAD_DATA);
  }
  return CheckResult::passed();
}

// With a buffer that is too small for an output of open size, the real shape is reported. Then a
// run with a larger buffer succeeds.
CheckResult insufficient(ApiWorld& world) {
  if (world.level() < ANEURALNETWORKS_FEATURE_LEVEL_3) return tooOld("1.2");
  HALYARD_ASSIGN_OR_RETURN(const auto model, world.sum({0}, {0}, {0}));
  HALYARD_ASSIGN_OR_RETURN(const bool takes, world.takes(model, 1));
  if (!takes) return CheckResult::skipped("the device takes no ADD whose sizes are open");
  HALYARD_ASSIGN_OR_RETURN(const auto compilation, world.compile(model));
  const std::vector<uint8_t> a = world.elements(4, 1);
  const Dims four = {4};
  const ANeuralNetworksOperandType type = world.tensor(four);
  for (const bool enough : {false, true}) {
    std::vector<uint8_t> out(enough ? a.size() : a.size() - 1);
    client::Execution execution;
    HALYARD_EXPECT_OK(execution.create(compilation.get()));
    for (const int32_t i : {0, 1}) {
      HALYARD_EXPECT_OK(execution.setInput(i, &type, a.data(), a.size()));
    }
    HALYARD_EXPECT_OK(execution.setOutput(0, nullptr, out.data(), out.size()));
    uint32_t rank = 0;
    HALYARD_EXPECT_CODE(execution.getOutputOperandRank(0, rank), ANEURALNETWORKS_BAD_STATE);
    const int code = enough ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE;
    HALYARD_EXPECT_CODE(execution.compute(), code);
    HALYARD_EXPECT_CODE(execution.getOutputOperandRank(0, rank), code);
    HALYARD_EXPECT(rank == 1);
    uint32_t size = 0;
    HALYARD_EXPECT_CODE(
        ANeuralNetworksExecution_getOutputOperandDimensions(execution.get(), 0, &size), code);
    HALYARD_EXPECT(size == 4);
    if (enough) HALYARD_EXPECT(out == world.elements(4, 2));
  }
  return CheckResult::passed();
}

CheckResult padding(ApiWorld& world) {
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  HALYARD_ASSIGN_OR_RETURN(SumRun run, SumRun::make(world, sum));
  const size_t exact = run.a.size();
  for (std::vector<uint8_t>* const buffer : {&run.a, &run.b, &run.out}) buffer->resize(exact + 12);
  HALYARD_ASSIGN_OR_RETURN(const auto without, sum.execution());
  HALYARD_EXPECT_CODE(without.setInput(0, nullptr, run.a.data(), run.a.size()),
                      ANEURALNETWORKS_BAD_DATA);
  HALYARD_EXPECT_OK(run.execution.enableInputAndOutputPadding(true));
  HALYARD_RETURN_IF_ERROR(run.setArguments());
  HALYARD_EXPECT_OK(run.execution.compute());
  run.out.resize(exact);
  HALYARD_RETURN_IF_ERROR(run.expectResult(world));
  return CheckResult::passed();
}

CheckResult preferredAlignment(ApiWorld& world) {
  using Query = int (*)(const ANeuralNetworksCompilation*, uint32_t, uint32_t*);
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  const std::pair<Query, uint32_t> queries[] = {
      {ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput, 2},
      {ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput, 2},
      {ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput, 1},
      {ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput, 1},
  };
  for (const auto& [query, count] : queries) {
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t value = 0;
      HALYARD_EXPECT_OK(query(sum.compilation.get(), i, &value));
      HALYARD_EXPECT(value != 0 && (value & (value - 1)) == 0);
    }
    uint32_t value = 0;
    HALYARD_EXPECT_CODE(query(sum.compilation.get(), count, &value), ANEURALNETWORKS_BAD_DATA);
  }
  return CheckResult::passed();
}

// Each execution waits for the previous one.
CheckResult dependencies(ApiWorld& world) {
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  std::vector<SumRun> runs;
  std::vector<client::Event> events;
  for (int i = 0; i < 5; ++i) {
    HALYARD_ASSIGN_OR_RETURN(SumRun run, SumRun::make(world, sum));
    HALYARD_RETURN_IF_ERROR(run.setArguments());
    const ANeuralNetworksEvent* const before = events.empty() ? nullptr : events.back().get();
    client::Event event;
    HALYARD_EXPECT_OK(run.execution.startComputeWithDependencies(
        {&before, before == nullptr ? size_t{0} : size_t{1}}, 0, event));
    events.push_back(std::move(event));
    runs.push_back(std::move(run));
  }
  HALYARD_EXPECT_OK(events.back().wait());
  for (const SumRun& run : runs) HALYARD_RETURN_IF_ERROR(run.expectResult(world));
  int fence = -1;
  const int code = events.back().getSyncFenceFd(fence);
  if (code == ANEURALNETWORKS_NO_ERROR) {
    HALYARD_EXPECT(fence >= 0);
    client::Event event;
    HALYARD_EXPECT_OK(event.createFromSyncFenceFd(fence));
    ::close(fence);
    HALYARD_EXPECT_OK(event.wait());
    return CheckResult::passed();
  }
  HALYARD_EXPECT_CODE(code, ANEURALNETWORKS_BAD_DATA);
  return CheckResult::passed("the events have no sync fences");
}

CheckResult parallel(ApiWorld& world, bool sharedCompilation) {
  constexpr int kThreads = 10;
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum shared, CompiledSum::make(world));
  std::vector<Status> ends(kThreads);
  std::vector<std::jthread> threads;
  for (Status& end : ends) {
    threads.emplace_back([&] {
      end = [&]() -> Status {
        CompiledSum own;
        if (!sharedCompilation) {
          HALYARD_ASSIGN_OR_RETURN(own, CompiledSum::make(world));
        }
        const CompiledSum& sum = sharedCompilation ? shared : own;
        for (int i = 0; i < 20; ++i) {
          HALYARD_ASSIGN_OR_RETURN(SumRun run, SumRun::make(world, sum));
          HALYARD_RETURN_IF_ERROR(run.setArguments());
          HALYARD_EXPECT_OK(runIn(kWays[i % 4].first, sum, run.execution));
          HALYARD_RETURN_IF_ERROR(run.expectResult(world));
        }
        return okStatus();
      }();
    });
  }
  threads.clear();
  for (Status& end : ends) HALYARD_RETURN_IF_ERROR(std::move(end));
  return CheckResult::passed();
}

CheckResult missingArgument(ApiWorld& world) {
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  HALYARD_ASSIGN_OR_RETURN(SumRun run, SumRun::make(world, sum));
  HALYARD_EXPECT_OK(run.execution.setInput(0, nullptr, run.a.data(), run.a.size()));
  HALYARD_EXPECT_CODE(run.execution.compute(), ANEURALNETWORKS_BAD_DATA);
  return CheckResult::passed();
}

}  // namespace

void listExecutionChecks(ApiChecks& checks) {
  for (const auto& [way, word] : kWays) {
    checks.add(fmt::format("execution/once/{}", word),
               "the result is right, and an execution runs once unless it is reusable",
               [way = way](ApiWorld& world) { return runsOnce(world, way); });
    checks.add(fmt::format("execution/reusable/{}", word), "a reusable execution runs again",
               [way = way](ApiWorld& world) { return runsAgain(world, way); });
    checks.add(fmt::format("execution/times/{}", word),
               "times are told when they are asked for, and hold together",
               [way = way](ApiWorld& world) { return times(world, way, false); });
  }
  checks.add("execution/times/behind_a_fence",
             "times since the fences are part of those since the launch",
             [](ApiWorld& world) { return times(world, Way::FENCED, true); });
  checks.add("execution/insufficient_size", "an output that does not fit has its shape told",
             insufficient);
  checks.add("execution/padding", "buffers may be longer where padding is enabled", padding);
  checks.add("execution/alignment", "preferred alignment and padding are powers of two",
             preferredAlignment);
  checks.add("execution/dependencies", "executions wait for each other's events", dependencies);
  checks.add("execution/missing_argument", "an execution without an input is refused",
             missingArgument);
  for (const bool shared : {false, true}) {
    checks.add(shared ? "execution/threads/one_compilation" : "execution/threads/own_compilations",
               "10 threads run at once, in every way",
               [shared](ApiWorld& world) { return parallel(world, shared); });
  }
}

}  // namespace halyard::validation
