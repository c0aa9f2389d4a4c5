#include "validation/vts/runs.h"

#include <cstring>
#include <mutex>
#include <thread>

#include "validation/vts/rules.h"

namespace halyard::validation {
namespace {

size_t elementBytes(Kind kind) { return kind.type == OperandType::TENSOR_FLOAT32 ? 4 : 1; }

}  // namespace

std::vector<Path> pathsOf(HalVersion method) {
  if (method < HalVersion::V1_2) return {Path::ASYNCHRONOUS};
  return {Path::ASYNCHRONOUS, Path::SYNCHRONOUS};
}

Result<RequestMemory> addMemory(uint32_t n, Kind kind, unsigned first, unsigned second) {
  return RequestMemory::make({filled(kind, n, first), filled(kind, n, second)},
                             {n * elementBytes(kind)});
}

Status expectFilled(const RequestMemory& memory, uint32_t n, unsigned value, Kind kind) {
  const std::vector<uint8_t> expected = filled(kind, n, value);
  const std::vector<uint8_t> actual = memory.output(0, expected.size());
  const size_t step = elementBytes(kind);
  for (size_t i = 0; i < expected.size(); i += step) {
    if (std::memcmp(&actual[i], &expected[i], step) == 0) continue;
    if (step == 1) {
      return opFailed("element {} of the output is {}, expected {}", i, actual[i], value);
    }
    float wrong;
    std::memcpy(&wrong, &actual[i], sizeof wrong);
    return opFailed("element {} of the output is {}, expected {}", i / step, wrong, value);
  }
  return memory.checkUntouched();
}

Status runsAdd(HalClient& client, HalVersion method, const DriverObjectPtr& model, uint32_t n,
               bool open, Kind kind) {
  HALYARD_ASSIGN_OR_RETURN(RequestMemory memory, addMemory(n, kind));
  if (open) {
    for (hal::RequestArgument& input : memory.mutableRequest().inputs) input.dimensions = {n};
  }
  for (const Path path : pathsOf(method)) {
    for (const bool measure : {false, true}) {
      if (measure && method < HalVersion::V1_2) continue;
      memory.clearOutputs();
      ExecuteCall call;
      call.measure = measure;
      HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                               client.execute(method, path, model, memory.request(), call));
      HALYARD_RETURN_IF_ERROR(expectSuccess(answer, {{n}}, measure, open), "executed {}{}",
                              pathName(path), measure ? " and timed" : "");
      HALYARD_RETURN_IF_ERROR(expectFilled(memory, n, 3, kind), "executed {}", pathName(path));
    }
  }
  return okStatus();
}

Status runsChain(HalClient& client, HalVersion method, const DriverObjectPtr& model,
                 bool multiplies, unsigned length, Kind kind) {
  constexpr uint32_t kElements = 1024;
  HALYARD_ASSIGN_OR_RETURN(
      const RequestMemory memory,
      RequestMemory::make({filled(kind, kElements, 1)}, {kElements * elementBytes(kind)}));
  HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                           client.execute(method, pathsOf(method).back(), model, memory.request()));
  HALYARD_RETURN_IF_ERROR(expectSuccess(answer, {{kElements}}, false, false));
  return expectFilled(memory, kElements, multiplies ? 1 : 1 + length, kind);
}

Status inThreads(unsigned threads, const std::function<Status(unsigned thread)>& work) {
  std::mutex mutex;
  Status first;
  std::vector<std::thread> running;
  for (unsigned i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      Status status = work(i);
      if (status.ok()) return;
      const std::lock_guard lock(mutex);
      if (first.ok()) first = status.annotate(fmt::format("thread {}", i));
    });
  }
  for (std::thread& thread : running) thread.join();
  return first;
}

}  // namespace halyard::validation
