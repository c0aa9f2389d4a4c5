// Diagnostics: the callbacks for the ends of compilations and executions, and the facts that they
// receive. NeuralNetworksSupportLibraryImpl.h describes them for applications.
// Thread safety: any thread may call everything. Callbacks may run in several threads at once.
// Ownership: callbacks are never destroyed, because a thread may still run them. A receiver borrows
// the facts for a call.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/sha256.h"
#include "halyard/driver/model.h"
#include "runtime/device/device_manager.h"

namespace halyard::runtime {

// Values are the ANNDIAG_DATA_CLASS_* of the API.
enum class DataClass : uint8_t { UNKNOWN = 0, OTHER, FLOAT32, FLOAT16, QUANT, MIXED };
// Values are the ANNDIAG_EXECUTION_MODE_* of the API.
enum class ExecutionMode : uint8_t { ASYNC = 1, SYNC, BURST, ASYNC_WITH_DEPENDENCIES };

// The facts that a compilation has in common with its executions.
struct CompilationFacts {
  Digest modelHash = {};
  std::string deviceIds;  // "name=version,name=version", sorted
  DataClass inputs = DataClass::UNKNOWN;
  DataClass outputs = DataClass::UNKNOWN;
  bool hasControlFlow = false;
  bool hasCache = false;
  bool hasDynamicTemporaries = false;
};

constexpr uint64_t kTimeNotKnown = UINT64_MAX;

struct CompilationEnd {
  const CompilationFacts& facts;
  ResultCode result;
  uint64_t nanoseconds;
};
struct ExecutionEnd {
  const CompilationFacts& facts;
  ResultCode result;
  ExecutionMode mode;
  // In nanoseconds, or kTimeNotKnown.
  uint64_t timeInRuntime;
  uint64_t timeInDriver;
  uint64_t timeOnDevice;
};

// An empty function: no callback.
struct DiagnosticCallbacks {
  std::function<void(const CompilationEnd&)> compilation;
  std::function<void(const ExecutionEnd&)> execution;
};

// Replaces the callbacks of the process.
void setDiagnosticCallbacks(DiagnosticCallbacks callbacks);
// Returns the callbacks of the process; null before the first registration. Costs one load of a
// variable.
const DiagnosticCallbacks* diagnosticCallbacks();

// Returns a digest of the model's operands, operations, inputs and outputs, without its constants.
// The prefixes of extensions, which differ between processes, do not count.
Digest architectureHash(const Model& model);
DataClass dataClassOf(const Subgraph& subgraph, std::span<const uint32_t> operands);
std::string deviceIds(std::span<const Device* const> devices);
// Returns a number for this process. It is the same at each call.
int32_t sessionId();

}  // namespace halyard::runtime
