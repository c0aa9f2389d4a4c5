// Calls for executions and their events.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "api/fuzz/calls.h"

namespace halyard::api::fuzz {
namespace {

constexpr uint64_t kLoopNanoseconds = 20'000'000;

ANeuralNetworksExecution* handleOf(const ExecutionObject* execution) {
  return execution == nullptr ? nullptr : execution->handle;
}

void createExecution(ObjectTable& table, ByteSource& bytes) {
  const CompilationObject* const compilation = table.pick(table.compilations, bytes);
  auto made = std::make_unique<ExecutionObject>();
  made->compilation = compilation;
  const int code =
      ANeuralNetworksExecution_create(compilation ? compilation->handle : nullptr, &made->handle);
  if (!check(code)) return;
  if (made->handle == nullptr) fail("success without an execution");
  // A model may contain an endless loop.
  if (!check(ANeuralNetworksExecution_setLoopTimeout(made->handle, kLoopNanoseconds))) {
    fail("no loop timeout");
  }
  table.executions.push_back(std::move(made));
}

// An operand of the execution's model. If it does not exist, the type is TENSOR_FLOAT32 with shape
// [1].
struct Argument {
  int32_t type = ANEURALNETWORKS_TENSOR_FLOAT32;
  std::vector<uint32_t> dims = {1};
};

Argument argumentOf(const ExecutionObject* execution, bool input, uint32_t index) {
  if (execution == nullptr) return {};
  const ModelObject& model = *execution->compilation->model;
  const auto& list = input ? model.inputs : model.outputs;
  if (index >= list.size() || list[index] >= model.types.size()) return {};
  return {model.types[list[index]], model.shapes[list[index]]};
}

// Sets the sizes that the model leaves open.
void close(Argument& argument, ByteSource& bytes) {
  for (uint32_t& dim : argument.dims) {
    if (dim == 0) dim = bytes.below(8);
  }
}

// Reduces counts in the value that would make an execution long.
void limitCounts(int32_t type, uint8_t* value, size_t size) {
  if (type != ANEURALNETWORKS_INT32 && type != ANEURALNETWORKS_TENSOR_INT32 &&
      type != ANEURALNETWORKS_UINT32) {
    return;
  }
  for (size_t i = 0; i + 4 <= size; i += 4) {
    int32_t word = 0;
    std::memcpy(&word, value + i, 4);
    if (word > 48) word %= 48;
    std::memcpy(value + i, &word, 4);
  }
}

void setArgument(ObjectTable& table, ByteSource& bytes) {
  const ExecutionObject* const execution = table.pick(table.executions, bytes);
  const bool input = bytes.oneIn(2);
  const uint32_t index = bytes.byte() % 64u;
  Argument argument = argumentOf(execution, input, index);
  const bool withType = !bytes.oneIn(3);
  close(argument, bytes);
  ANeuralNetworksOperandType type = {};
  if (bytes.oneIn(12)) {
    type = chooseOperandType(table, bytes);
  } else {
    type.type = argument.type;
    type.dimensionCount = static_cast<uint32_t>(argument.dims.size());
    type.dimensions = argument.dims.empty() ? nullptr : argument.dims.data();
  }
  size_t size = valueSize(argument.type, argument.dims);
  if (bytes.oneIn(12)) size = bytes.below(2000);
  const auto* const passed = withType ? &type : nullptr;
  if (bytes.oneIn(4)) {
    const MemoryObject* const memory = table.pick(table.memories, bytes);
    const bool whole = bytes.oneIn(2);
    const size_t offset = whole ? 0 : bytes.number32();
    check((input ? ANeuralNetworksExecution_setInputFromMemory
                 : ANeuralNetworksExecution_setOutputFromMemory)(
        handleOf(execution), static_cast<int32_t>(index), passed, memory ? memory->handle : nullptr,
        offset, whole && bytes.oneIn(2) ? 0 : size));
    return;
  }
  const bool omitted = bytes.oneIn(16);
  if (input) {
    uint8_t* const value = omitted ? nullptr : table.buffer(size, bytes);
    if (value != nullptr) limitCounts(argument.type, value, size);
    check(ANeuralNetworksExecution_setInput(handleOf(execution), static_cast<int32_t>(index),
                                            passed, value, omitted ? 0 : size));
  } else {
    check(ANeuralNetworksExecution_setOutput(handleOf(execution), static_cast<int32_t>(index),
                                             passed, omitted ? nullptr : table.buffer(size),
                                             omitted ? 0 : size));
  }
}

void setExecutionWishes(ObjectTable& table, ByteSource& bytes) {
  ANeuralNetworksExecution* const handle = handleOf(table.pick(table.executions, bytes));
  const bool yes = bytes.oneIn(2);
  switch (bytes.below(5)) {
    case 0:
      check(ANeuralNetworksExecution_setReusable(handle, yes));
      return;
    case 1:
      check(ANeuralNetworksExecution_enableInputAndOutputPadding(handle, yes));
      return;
    case 2:
      check(ANeuralNetworksExecution_setMeasureTiming(handle, yes));
      return;
    case 3:
      check(ANeuralNetworksExecution_setTimeout(handle, bytes.number64()));
      return;
    default:
      check(ANeuralNetworksExecution_setLoopTimeout(
          handle, std::min<uint64_t>(bytes.number64(), kLoopNanoseconds)));
  }
}

void runFenced(ObjectTable& table, ByteSource& bytes, ExecutionObject& execution) {
  std::vector<const ANeuralNetworksEvent*> dependencies(bytes.below(4));
  for (const ANeuralNetworksEvent*& dependency : dependencies) {
    const auto& events = bytes.oneIn(2) ? table.looseEvents : execution.events;
    dependency = events.empty() ? nullptr : events[bytes.byte() % events.size()];
  }
  ANeuralNetworksEvent* event = nullptr;
  const int code = ANeuralNetworksExecution_startComputeWithDependencies(
      execution.handle, dependencies.data(), static_cast<uint32_t>(dependencies.size()),
      bytes.oneIn(4) ? bytes.number64() : 0, &event);
  if (check(code) && event == nullptr) fail("success without an event");
  if (event != nullptr) execution.events.push_back(event);
}

void run(ObjectTable& table, ByteSource& bytes) {
  ExecutionObject* const execution = table.pick(table.executions, bytes);
  if (execution == nullptr) {
    check(ANeuralNetworksExecution_compute(nullptr));
    return;
  }
  if (!execution->compilation->model->small) return;
  switch (bytes.below(4)) {
    case 0:
      if (check(ANeuralNetworksExecution_compute(execution->handle))) ++table.executed;
      return;
    case 1: {
      ANeuralNetworksEvent* event = nullptr;
      const int code = ANeuralNetworksExecution_startCompute(execution->handle, &event);
      if (check(code) && event == nullptr) fail("success without an event");
      if (event != nullptr) execution->events.push_back(event);
      return;
    }
    case 2: {
      const BurstObject* const burst = table.pick(table.bursts, bytes);
      check(ANeuralNetworksExecution_burstCompute(execution->handle,
                                                  burst ? burst->handle : nullptr));
      return;
    }
    default:
      runFenced(table, bytes, *execution);
  }
}

void askResult(ObjectTable& table, ByteSource& bytes) {
  const ExecutionObject* const execution = table.pick(table.executions, bytes);
  const auto index = static_cast<int32_t>(bytes.byte() % 8u);
  uint32_t rank = 0;
  const int code = ANeuralNetworksExecution_getOutputOperandRank(handleOf(execution), index, &rank);
  if (check(code) || code == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE) {
    if (rank > 4096) fail("a rank that cannot be");
    const auto dims = std::make_unique<uint32_t[]>(rank);
    check(ANeuralNetworksExecution_getOutputOperandDimensions(handleOf(execution), index,
                                                              dims.get()));
  }
  uint64_t duration = 0;
  check(ANeuralNetworksExecution_getDuration(handleOf(execution), bytes.byte() % 6, &duration));
}

void waitForEvent(ObjectTable& table, ByteSource& bytes) {
  const ExecutionObject* const execution = table.pick(table.executions, bytes);
  const bool loose = execution == nullptr;
  const auto& events = loose ? table.looseEvents : execution->events;
  if (events.empty()) {
    check(ANeuralNetworksEvent_wait(nullptr));
    return;
  }
  ANeuralNetworksEvent* const event = events[bytes.byte() % events.size()];
  const int code = ANeuralNetworksEvent_wait(event);
  if (check(code) && !loose) ++table.executed;
  if (ANeuralNetworksEvent_wait(event) != code) fail("two answers of one event", code);
  int fd = -1;
  if (check(ANeuralNetworksEvent_getSyncFenceFd(event, &fd))) {
    if (fd < 0) fail("success without a fence");
    ::close(fd);
  }
}

// A fence that is already signalled or in its error state, or an invalid descriptor.
void createEvent(ObjectTable& table, ByteSource& bytes) {
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) return;
  if (bytes.oneIn(2)) {
    if (::write(ends[1], "", 1) != 1) fail("no pipe");
  }
  ::close(ends[1]);  // this also wakes a reader
  ANeuralNetworksEvent* event = nullptr;
  const int fd = bytes.oneIn(8) ? -static_cast<int>(bytes.byte()) : ends[0];
  if (check(ANeuralNetworksEvent_createFromSyncFenceFd(fd, &event))) {
    if (event == nullptr) fail("success without an event");
    table.looseEvents.push_back(event);
  }
  ::close(ends[0]);
}

void dropExecution(ObjectTable& table, ByteSource& bytes) {
  if (const auto* const execution = table.pick(table.executions, bytes)) table.drop(execution);
}

}  // namespace

std::span<const Call> executionCalls() {
  static constexpr Call kCalls[] = {
      createExecution, setArgument,  setExecutionWishes, run,
      askResult,       waitForEvent, createEvent,        dropExecution};
  return kCalls;
}

}  // namespace halyard::api::fuzz
