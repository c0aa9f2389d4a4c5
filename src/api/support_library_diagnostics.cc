// The diagnostic callbacks of the support library, and the getters of their facts.
#include <android/NeuralNetworksSupportLibraryImpl.h>

#include "api/objects.h"
#include "runtime/report/diagnostics.h"

struct ANeuralNetworksDiagnosticCompilationInfo {
  const halyard::runtime::CompilationEnd& end;
};
struct ANeuralNetworksDiagnosticExecutionInfo {
  const halyard::runtime::ExecutionEnd& end;
};

namespace halyard::api {
namespace {

// `read` of the end that `info` describes. A value of zeroes if there is no info.
template <typename Info, typename Read>
auto factOf(const char* function, const Info* info, Read read) -> decltype(read(info->end)) {
  if (info == nullptr) {
    setLastError(function, unexpectedNull("the info is null"));
    return {};
  }
  setLastError(function, okStatus());
  return read(info->end);
}

ANeuralNetworksDiagnosticDataClass dataClass(runtime::DataClass value) {
  return static_cast<ANeuralNetworksDiagnosticDataClass>(value);
}

}  // namespace
}  // namespace halyard::api

using namespace halyard;  // NOLINT(google-build-using-namespace): entry points are global
using api::factOf;

void SL_ANeuralNetworksDiagnostic_registerCallbacks(
    ANeuralNetworksDiagnosticCompilationFinishedCallback compilationCallback,
    ANeuralNetworksDiagnosticExecutionFinishedCallback executionCallback, void* callbackContext) {
  api::entryPoint(__func__, [&] {
    runtime::DiagnosticCallbacks callbacks;
    if (compilationCallback != nullptr) {
      callbacks.compilation = [=](const runtime::CompilationEnd& end) {
        const ANeuralNetworksDiagnosticCompilationInfo info = {end};
        compilationCallback(callbackContext, &info);
      };
    }
    if (executionCallback != nullptr) {
      callbacks.execution = [=](const runtime::ExecutionEnd& end) {
        const ANeuralNetworksDiagnosticExecutionInfo info = {end};
        executionCallback(callbackContext, &info);
      };
    }
    runtime::setDiagnosticCallbacks(std::move(callbacks));
    return okStatus();
  });
}

int32_t SL_ANeuralNetworksDiagnosticCompilationInfo_getSessionId(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo) {
  return factOf(__func__, diagnosticCompilationInfo,
                [](const runtime::CompilationEnd&) { return runtime::sessionId(); });
}

int64_t SL_ANeuralNetworksDiagnosticCompilationInfo_getNnApiVersion(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo) {
  return factOf(__func__, diagnosticCompilationInfo, [](const runtime::CompilationEnd&) {
    return ANeuralNetworks_getRuntimeFeatureLevel();
  });
}

const uint8_t* SL_ANeuralNetworksDiagnosticCompilationInfo_getModelArchHash(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo) {
  return factOf(__func__, diagnosticCompilationInfo,
                [](const runtime::CompilationEnd& end) { return end.facts.modelHash.data(); });
}

const char* SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo) {
  return factOf(__func__, diagnosticCompilationInfo,
                [](const runtime::CompilationEnd& end) { return end.facts.deviceIds.c_str(); });
}

int32_t SL_ANeuralNetworksDiagnosticCompilationInfo_getErrorCode(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo) {
  return factOf(__func__, diagnosticCompilationInfo, [](const runtime::CompilationEnd& end) {
    return static_cast<int32_t>(end.result);
  });
}

ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticCompilationInfo_getInputDataClass(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo) {
  return factOf(__func__, diagnosticCompilationInfo, [](const runtime::CompilationEnd& end) {
    return api::dataClass(end.facts.inputs);
  });
}

ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticCompilationInfo_getOutputDataClass(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo) {
  return factOf(__func__, diagnosticCompilationInfo, [](const runtime::CompilationEnd& end) {
    return api::dataClass(end.facts.outputs);
  });
}

uint64_t SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo) {
  return factOf(__func__, diagnosticCompilationInfo,
                [](const runtime::CompilationEnd& end) { return end.nanoseconds; });
}

bool SL_ANeuralNetworksDiagnosticCompilationInfo_isCachingEnabled(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo) {
  return factOf(__func__, diagnosticCompilationInfo,
                [](const runtime::CompilationEnd& end) { return end.facts.hasCache; });
}

bool SL_ANeuralNetworksDiagnosticCompilationInfo_isControlFlowUsed(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo) {
  return factOf(__func__, diagnosticCompilationInfo,
                [](const runtime::CompilationEnd& end) { return end.facts.hasControlFlow; });
}

bool SL_ANeuralNetworksDiagnosticCompilationInfo_areDynamicTensorsUsed(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo) {
  return factOf(__func__, diagnosticCompilationInfo,
                [](const runtime::CompilationEnd& end) { return end.facts.hasDynamicTemporaries; });
}

int32_t SL_ANeuralNetworksDiagnosticExecutionInfo_getSessionId(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
  return factOf(__func__, diagnosticExecutionInfo,
                [](const runtime::ExecutionEnd&) { return runtime::sessionId(); });
}

int64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getNnApiVersion(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
  return factOf(__func__, diagnosticExecutionInfo, [](const runtime::ExecutionEnd&) {
    return ANeuralNetworks_getRuntimeFeatureLevel();
  });
}

const uint8_t* SL_ANeuralNetworksDiagnosticExecutionInfo_getModelArchHash(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
  return factOf(__func__, diagnosticExecutionInfo,
                [](const runtime::ExecutionEnd& end) { return end.facts.modelHash.data(); });
}

const char* SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
  return factOf(__func__, diagnosticExecutionInfo,
                [](const runtime::ExecutionEnd& end) { return end.facts.deviceIds.c_str(); });
}

ANeuralNetworksDiagnosticExecutionMode SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
  return factOf(__func__, diagnosticExecutionInfo, [](const runtime::ExecutionEnd& end) {
    return static_cast<ANeuralNetworksDiagnosticExecutionMode>(end.mode);
  });
}

ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticExecutionInfo_getInputDataClass(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
  return factOf(__func__, diagnosticExecutionInfo,
                [](const runtime::ExecutionEnd& end) { return api::dataClass(end.facts.inputs); });
}

ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticExecutionInfo_getOutputDataClass(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
  return factOf(__func__, diagnosticExecutionInfo,
                [](const runtime::ExecutionEnd& end) { return api::dataClass(end.facts.outputs); });
}

uint32_t SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
  return factOf(__func__, diagnosticExecutionInfo,
                [](const runtime::ExecutionEnd& end) { return static_cast<uint32_t>(end.result); });
}

uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
  return factOf(__func__, diagnosticExecutionInfo,
                [](const runtime::ExecutionEnd& end) { return end.timeInRuntime; });
}

uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getDriverExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
  return factOf(__func__, diagnosticExecutionInfo,
                [](const runtime::ExecutionEnd& end) { return end.timeInDriver; });
}

uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getHardwareExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
  return factOf(__func__, diagnosticExecutionInfo,
                [](const runtime::ExecutionEnd& end) { return end.timeOnDevice; });
}

bool SL_ANeuralNetworksDiagnosticExecutionInfo_isCachingEnabled(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
  return factOf(__func__, diagnosticExecutionInfo,
                [](const runtime::ExecutionEnd& end) { return end.facts.hasCache; });
}

bool SL_ANeuralNetworksDiagnosticExecutionInfo_isControlFlowUsed(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
  return factOf(__func__, diagnosticExecutionInfo,
                [](const runtime::ExecutionEnd& end) { return end.facts.hasControlFlow; });
}

bool SL_ANeuralNetworksDiagnosticExecutionInfo_areDynamicTensorsUsed(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
  return factOf(__func__, diagnosticExecutionInfo,
                [](const runtime::ExecutionEnd& end) { return end.facts.hasDynamicTemporaries; });
}
