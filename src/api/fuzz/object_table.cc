#include "api/fuzz/object_table.h"

#include <halyard/halyard.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace halyard::api::fuzz {
namespace {

template <typename T>
void erase(std::vector<std::unique_ptr<T>>& list, const T* object) {
  std::erase_if(list, [&](const auto& each) { return each.get() == object; });
}

// The first element of a list for which `satisfies` is true, or null.
template <typename T, typename Predicate>
const T* firstOf(const std::vector<std::unique_ptr<T>>& list, Predicate satisfies) {
  for (const auto& each : list) {
    if (satisfies(*each)) return each.get();
  }
  return nullptr;
}

}  // namespace

void fail(const char* what, int code) {
  std::fprintf(stderr, "api_fuzz: %s (code %d, text '%s')\n", what, code, halyard_lastErrorText());
  std::abort();
}

bool check(int code) {
  if (code == ANEURALNETWORKS_NO_ERROR) return true;
  static const bool show = std::getenv("HALYARD_FUZZ_ERRORS") != nullptr;
  if (show) std::fprintf(stderr, "api_fuzz: %d %s\n", code, halyard_lastErrorText());
  if (code < 0 || code > ANEURALNETWORKS_DEAD_OBJECT) fail("an answer that is no ResultCode", code);
  if (halyard_lastErrorCode() != code) fail("the last error is another than the answer", code);
  if (*halyard_lastErrorText() == '\0') fail("an error without a text", code);
  return false;
}

ObjectTable::~ObjectTable() {
  while (!executions.empty()) drop(executions.back().get());
  while (!bursts.empty()) drop(bursts.back().get());
  while (!compilations.empty()) drop(compilations.back().get());
  for (ANeuralNetworksEvent* const event : looseEvents) ANeuralNetworksEvent_free(event);
  for (ANeuralNetworksMemoryDesc* const desc : descriptors) ANeuralNetworksMemoryDesc_free(desc);
  // A model may be an operand of a later one.
  for (auto it = models.rbegin(); it != models.rend(); ++it) {
    ANeuralNetworksModel_free((*it)->handle);
  }
  for (const auto& memory : memories) ANeuralNetworksMemory_free(memory->handle);
}

uint8_t* ObjectTable::buffer(size_t size) {
  buffers_.push_back(std::make_unique<uint8_t[]>(size));
  return buffers_.back().get();
}

uint8_t* ObjectTable::buffer(size_t size, ByteSource& bytes) {
  uint8_t* const made = buffer(size);
  const auto taken = bytes.take(size);
  if (!taken.empty()) std::memcpy(made, taken.data(), taken.size());
  return made;
}

void ObjectTable::drop(const ExecutionObject* execution) {
  for (ANeuralNetworksEvent* const event : execution->events) ANeuralNetworksEvent_free(event);
  ANeuralNetworksExecution_free(execution->handle);
  erase(executions, execution);
}

void ObjectTable::drop(const BurstObject* burst) {
  ANeuralNetworksBurst_free(burst->handle);
  erase(bursts, burst);
}

void ObjectTable::drop(const CompilationObject* compilation) {
  const auto ofIt = [&](const auto& each) { return each.compilation == compilation; };
  while (const auto* const execution = firstOf(executions, ofIt)) drop(execution);
  while (const auto* const burst = firstOf(bursts, ofIt)) drop(burst);
  // Each descriptor may have a role of the compilation.
  for (ANeuralNetworksMemoryDesc* const desc : descriptors) ANeuralNetworksMemoryDesc_free(desc);
  descriptors.clear();
  ANeuralNetworksCompilation_free(compilation->handle);
  erase(compilations, compilation);
}

}  // namespace halyard::api::fuzz
