// Fenced execution: fences before and after it, calls of its callback, and the time after which the
// driver leaves memory unchanged.
#include <cstring>
#include <thread>

#include "halyard/driver/sync_fence.h"
#include "validation/vts/hal_suite.h"
#include "validation/vts/models.h"
#include "validation/vts/request_rows.h"
#include "validation/vts/rules.h"
#include "validation/vts/runs.h"

namespace halyard::validation {
namespace {

using namespace std::chrono_literals;

constexpr HalVersion kFencedMethod = HalVersion::V1_3;
constexpr auto kFencePatience = 20s;

using FencedUse = std::function<Status(HalClient&, const DriverObjectPtr&)>;

CheckResult withModel(HalClient& client, const Model& made, const FencedUse& use) {
  HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                           prepareIfSupported(client, kFencedMethod, made));
  if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
  return use(client, prepared.model);
}

HalChecks::WithClient withFencedAdd(FencedUse use) {
  return [use = std::move(use)](HalClient& client) { return withModel(client, addModel(4), use); };
}

Status expectLaunched(const FencedAnswer& answer) {
  HALYARD_RETURN_IF_ERROR(expectCode("executeFenced", answer.status, {Code::NONE}, answer.message));
  if (!answer.hasCallback) return opFailed("executeFenced succeeds without a callback");
  if (answer.hasFence && !answer.fence.valid()) {
    return opFailed("the fence that executeFenced returns has no descriptor");
  }
  return okStatus();
}

// The final state of the execution's fence. Without a fence the execution is complete.
Result<FenceState> fenceStateAtEnd(const FencedAnswer& answer) {
  if (!answer.hasFence) return FenceState::SIGNALLED;
  return waitFence(answer.fence.get(), hal::Clock::now() + kFencePatience);
}

Status expectEnd(const FencedAnswer& answer, FenceState expected) {
  HALYARD_ASSIGN_OR_RETURN(const FenceState state, fenceStateAtEnd(answer));
  if (state == expected) return okStatus();
  const char* const names[] = {"still pending", "signalled", "in its error state"};
  return opFailed("the fence is {}, expected {}", names[static_cast<size_t>(state)],
                  names[static_cast<size_t>(expected)]);
}

// The execution has succeeded, and its callback says so.
Status expectDone(const FencedAnswer& answer, bool measured) {
  HALYARD_RETURN_IF_ERROR(expectEnd(answer, FenceState::SIGNALLED));
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer::Info info, answer.info());
  HALYARD_RETURN_IF_ERROR(expectCode("getExecutionInfo", info.status, {Code::NONE}, info.message));
  HALYARD_RETURN_IF_ERROR(checkTiming(info.launched, measured), "times from the launch");
  HALYARD_RETURN_IF_ERROR(checkTiming(info.fenced, measured), "times from the fences");
  if (info.fenced.timeInDriver && info.launched.timeInDriver &&
      *info.fenced.timeInDriver > *info.launched.timeInDriver) {
    return opFailed("{} ns since the fences are more than {} ns since the launch",
                    *info.fenced.timeInDriver, *info.launched.timeInDriver);
  }
  return okStatus();
}

Status fencedRuns(HalClient& client, const DriverObjectPtr& model) {
  for (const bool measure : {false, true}) {
    HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(4));
    FencedCall call;
    call.measure = measure;
    HALYARD_ASSIGN_OR_RETURN(const FencedAnswer answer,
                             client.executeFenced(model, memory.request(), call));
    HALYARD_RETURN_IF_ERROR(expectLaunched(answer));
    HALYARD_RETURN_IF_ERROR(expectEnd(answer, FenceState::SIGNALLED));
    // The outputs are complete as soon as the fence has signalled.
    HALYARD_RETURN_IF_ERROR(expectFilled(memory, 4, 3));
    HALYARD_RETURN_IF_ERROR(expectDone(answer, measure));
  }
  return okStatus();
}

Status waitsForFences(HalClient& client, const DriverObjectPtr& model) {
  HALYARD_ASSIGN_OR_RETURN(NewFence first, createFence());
  HALYARD_ASSIGN_OR_RETURN(NewFence second, createFence());
  HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(4));
  FencedCall call;
  call.waitFor = {first.fence.get(), second.fence.get()};
  call.measure = true;
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer answer,
                           client.executeFenced(model, memory.request(), call));
  HALYARD_RETURN_IF_ERROR(expectLaunched(answer));
  if (!answer.hasFence) return opFailed("the execution is complete before its fences signalled");
  first.signaller.signal();
  std::this_thread::sleep_for(30ms);
  HALYARD_ASSIGN_OR_RETURN(const FenceState early, fenceState(answer.fence.get()));
  if (early != FenceState::PENDING) {
    return opFailed("the execution's fence has ended while one that it waits for is pending");
  }
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer::Info before, answer.info());
  HALYARD_RETURN_IF_ERROR(expectCode("getExecutionInfo before the execution", before.status,
                                     {Code::GENERAL_FAILURE}, before.message));
  if (before.launched.timeInDriver || before.fenced.timeInDriver) {
    return opFailed("getExecutionInfo has times before the execution");
  }
  const std::vector<uint8_t> untouched = memory.output(0, 16);
  if (std::count(untouched.begin(), untouched.end(), untouched[0]) != 16) {
    return opFailed("the output is written before the fences signalled");
  }
  second.signaller.signal();
  HALYARD_RETURN_IF_ERROR(expectDone(answer, true));
  return expectFilled(memory, 4, 3);
}

// Inputs are read after the fences have signalled.
Status readsAfterFences(HalClient& client, const DriverObjectPtr& model) {
  HALYARD_ASSIGN_OR_RETURN(NewFence fence, createFence());
  HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(4));
  FencedCall call;
  call.waitFor = {fence.fence.get()};
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer answer,
                           client.executeFenced(model, memory.request(), call));
  HALYARD_RETURN_IF_ERROR(expectLaunched(answer));
  std::this_thread::sleep_for(10ms);
  const auto& pool = std::get<SharedMemoryPtr>(memory.request().pools[0]);
  HALYARD_ASSIGN_OR_RETURN(const Mapping* const mapping, pool->mapped());
  const std::vector<uint8_t> late = filled(kFloat, 4, 7);
  std::copy(late.begin(), late.end(), mapping->data());
  fence.signaller.signal();
  HALYARD_RETURN_IF_ERROR(expectDone(answer, false));
  const std::vector<uint8_t> expected = filled(kFloat, 4, 9);
  if (memory.output(0, 16) == expected) return okStatus();
  float result;
  std::memcpy(&result, memory.output(0, 4).data(), sizeof result);
  return opFailed("inputs that changed before the fence signalled give {}, expected 9", result);
}

Status chains(HalClient& client, const DriverObjectPtr& model) {
  HALYARD_ASSIGN_OR_RETURN(NewFence start, createFence());
  std::vector<FencedAnswer> answers;
  std::vector<RequestMemory> memories;
  int last = start.fence.get();
  for (int i = 0; i < 5; ++i) {
    HALYARD_ASSIGN_OR_RETURN(RequestMemory memory, addMemory(4));
    memories.push_back(std::move(memory));
    FencedCall call;
    call.waitFor = {last};
    HALYARD_ASSIGN_OR_RETURN(FencedAnswer answer,
                             client.executeFenced(model, memories.back().request(), call));
    HALYARD_RETURN_IF_ERROR(expectLaunched(answer), "execution {}", i);
    if (!answer.hasFence) return opFailed("execution {} is complete before its fence", i);
    answers.push_back(std::move(answer));
    last = answers.back().fence.get();
  }
  start.signaller.signal();
  for (size_t i = answers.size(); i-- > 0;) {
    HALYARD_RETURN_IF_ERROR(expectDone(answers[i], false), "execution {}", i);
    HALYARD_RETURN_IF_ERROR(expectFilled(memories[i], 4, 3), "execution {}", i);
  }
  return okStatus();
}

// A fence that fails after the call puts the execution's fence into its error state.
Status failingFence(HalClient& client, const DriverObjectPtr& model) {
  HALYARD_ASSIGN_OR_RETURN(NewFence fence, createFence());
  HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(4));
  FencedCall call;
  call.waitFor = {fence.fence.get()};
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer answer,
                           client.executeFenced(model, memory.request(), call));
  HALYARD_RETURN_IF_ERROR(expectLaunched(answer));
  fence.signaller.fail();
  HALYARD_RETURN_IF_ERROR(expectEnd(answer, FenceState::ERROR));
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer::Info info, answer.info());
  if (info.status == Code::NONE) return opFailed("the fence failed, and the execution is fine");
  return fencedRuns(client, model);
}

Status failedFence(HalClient& client, const DriverObjectPtr& model) {
  HALYARD_ASSIGN_OR_RETURN(NewFence fence, createFence());
  fence.signaller.fail();
  HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(4));
  FencedCall call;
  call.waitFor = {fence.fence.get()};
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer answer,
                           client.executeFenced(model, memory.request(), call));
  return expectError(answer, {Code::INVALID_ARGUMENT, Code::GENERAL_FAILURE});
}

Status nullFence(HalClient& client, const DriverObjectPtr& model) {
  HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(4));
  FencedCall call;
  call.waitFor = {-1};
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer answer,
                           client.executeFenced(model, memory.request(), call));
  HALYARD_RETURN_IF_ERROR(expectError(answer, {Code::INVALID_ARGUMENT}));
  return fencedRuns(client, model);
}

Status badFencedRequest(HalClient& client, const DriverObjectPtr& model, const BadRequest& row) {
  HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(4));
  FencedCall call;
  if (row.edit != nullptr) call.edit = row.edit;
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer answer,
                           client.executeFenced(model, row.spoilt(memory.request()), call));
  if (row.isOperations && answer.status == Code::NONE) {
    HALYARD_RETURN_IF_ERROR(expectLaunched(answer));
    HALYARD_RETURN_IF_ERROR(expectEnd(answer, FenceState::ERROR));
    HALYARD_ASSIGN_OR_RETURN(const FencedAnswer::Info info, answer.info());
    HALYARD_RETURN_IF_ERROR(expectCode("getExecutionInfo", info.status, row.codes(), info.message));
  } else {
    HALYARD_RETURN_IF_ERROR(expectError(answer, row.codes()));
  }
  return fencedRuns(client, model);
}

Status tooSmallFenced(HalClient& client, const DriverObjectPtr& model) {
  HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory,
                           RequestMemory::make({filled(kFloat, 4, 1), filled(kFloat, 4, 2)}, {15}));
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer answer,
                           client.executeFenced(model, memory.request()));
  return expectError(answer, {Code::INVALID_ARGUMENT});
}

Status openOutput(HalClient& client, const DriverObjectPtr& model) {
  HALYARD_ASSIGN_OR_RETURN(RequestMemory memory, addMemory(4));
  for (hal::RequestArgument& input : memory.mutableRequest().inputs) input.dimensions = {4};
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer answer,
                           client.executeFenced(model, memory.request()));
  HALYARD_RETURN_IF_ERROR(expectError(answer, {Code::INVALID_ARGUMENT}));
  memory.mutableRequest().outputs[0].dimensions = {4};
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer complete,
                           client.executeFenced(model, memory.request()));
  HALYARD_RETURN_IF_ERROR(expectLaunched(complete));
  HALYARD_RETURN_IF_ERROR(expectDone(complete, false));
  return expectFilled(memory, 4, 3);
}

Status deadline(HalClient& client, const DriverObjectPtr& model) {
  HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(4));
  FencedCall call;
  call.deadline = hal::Clock::now() - 1s;
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer late,
                           client.executeFenced(model, memory.request(), call));
  const std::initializer_list<Code> kMissed = {Code::MISSED_DEADLINE_TRANSIENT,
                                               Code::MISSED_DEADLINE_PERSISTENT};
  if (late.status == Code::NONE) return opFailed("a deadline that has passed is not missed");
  HALYARD_RETURN_IF_ERROR(expectError(late, kMissed));
  // The deadline passes while the execution waits for a fence that never signals.
  HALYARD_ASSIGN_OR_RETURN(const NewFence never, createFence());
  call.waitFor = {never.fence.get()};
  call.deadline = hal::Clock::now() + 50ms;
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer waiting,
                           client.executeFenced(model, memory.request(), call));
  if (waiting.status != Code::NONE) return expectError(waiting, kMissed);
  HALYARD_RETURN_IF_ERROR(expectEnd(waiting, FenceState::ERROR));
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer::Info info, waiting.info());
  return expectCode("getExecutionInfo", info.status, kMissed, info.message);
}

Status duration(HalClient& client, const DriverObjectPtr& endless) {
  HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory,
                           RequestMemory::make({filled(kFloat, 1, 1)}, {4}));
  FencedCall call;
  call.duration = 100ms;
  call.loopTimeout = 15s;
  const hal::TimePoint began = hal::Clock::now();
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer answer,
                           client.executeFenced(endless, memory.request(), call));
  const std::initializer_list<Code> kMissed = {Code::MISSED_DEADLINE_TRANSIENT,
                                               Code::MISSED_DEADLINE_PERSISTENT};
  if (answer.status != Code::NONE) return expectError(answer, kMissed);
  HALYARD_RETURN_IF_ERROR(expectEnd(answer, FenceState::ERROR));
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(hal::Clock::now() - began);
  if (took > 3s) return opFailed("it ended after {} ms, expected about 100", took.count());
  HALYARD_ASSIGN_OR_RETURN(const FencedAnswer::Info info, answer.info());
  return expectCode("getExecutionInfo", info.status, kMissed, info.message);
}

// After the fence has signalled, the memory may contain another execution's data, so the driver
// must not write to it.
Status leavesMemoryAlone(HalClient& client, const DriverObjectPtr& model) {
  HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(4));
  for (int i = 0; i < 5; ++i) {
    memory.clearOutputs();
    HALYARD_ASSIGN_OR_RETURN(const FencedAnswer answer,
                             client.executeFenced(model, memory.request()));
    HALYARD_RETURN_IF_ERROR(expectLaunched(answer));
    HALYARD_RETURN_IF_ERROR(expectEnd(answer, FenceState::SIGNALLED));
    HALYARD_RETURN_IF_ERROR(expectFilled(memory, 4, 3));
    memory.clearOutputs();
    const std::vector<uint8_t> cleared = memory.output(0, 16);
    std::this_thread::sleep_for(20ms);
    if (memory.output(0, 16) != cleared) {
      return opFailed("the output is written after the execution's fence has signalled");
    }
  }
  return okStatus();
}

}  // namespace

void listFencedChecks(HalChecks& checks) {
  const auto add = [&](const char* name, const char* what, FencedUse use) {
    checks.add(kFencedMethod, name, what, {}, withFencedAdd(std::move(use)));
  };
  add("fenced/runs", "an execution without fences ends with its outputs written, and tells of it",
      fencedRuns);
  add("fenced/waits_for_fences",
      "an execution begins when all its fences have signalled, and has no result before",
      waitsForFences);
  add("fenced/reads_after_fences", "inputs are read after the fences have signalled",
      readsAfterFences);
  add("fenced/chains", "the fence of an execution starts the next", chains);
  add("fenced/failing_fence", "a fence that fails makes the execution's fence fail", failingFence);
  add("fenced/failed_fence", "a fence that has failed is refused", failedFence);
  add("fenced/null_fence", "a null fence is refused with INVALID_ARGUMENT", nullFence);
  add("fenced/too_small", "an output that does not fit is refused with INVALID_ARGUMENT",
      tooSmallFenced);
  add("fenced/deadline", "a deadline that passes ends the execution with MISSED_DEADLINE",
      deadline);
  add("fenced/leaves_memory_alone", "memory is not touched after the fence has signalled",
      leavesMemoryAlone);
  checks.add(kFencedMethod, "fenced/open_output",
             "an output of unknown dimensions is refused with INVALID_ARGUMENT", {},
             [](HalClient& client) { return withModel(client, addModel(0), openOutput); });
  checks.add(kFencedMethod, "fenced/duration",
             "an execution that takes longer than its duration fails", {"ND-049"},
             [](HalClient& client) { return withModel(client, endlessModel(), duration); });
  for (const BadRequest& row : badRequests()) {
    checks.add(kFencedMethod, fmt::format("fenced/{}_{}", row.rule, row.name),
               fmt::format("rule {} of requests: {} is refused", row.rule, row.name), {"ND-044"},
               withFencedAdd([&row](HalClient& client, const DriverObjectPtr& model) {
                 return badFencedRequest(client, model, row);
               }));
  }
}

}  // namespace halyard::validation
