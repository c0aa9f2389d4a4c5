// The table of the support library, and its functions for devices and caching.
#include <android/NeuralNetworksSupportLibraryImpl.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "api/caching.h"
#include "api/objects.h"

namespace halyard::api {
namespace {

#define FUNCTION(name) .name = ::name

// The designated initialisers must stand in the order of the members. The compiler checks this.
constexpr NnApiSLDriverImplFL8 kTable = {
    .base =
        {
            .base = {.implFeatureLevel = ANEURALNETWORKS_FEATURE_LEVEL_8},
            FUNCTION(ANeuralNetworksBurst_create),
            FUNCTION(ANeuralNetworksBurst_free),
            FUNCTION(ANeuralNetworksCompilation_createForDevices),
            FUNCTION(ANeuralNetworksCompilation_finish),
            FUNCTION(ANeuralNetworksCompilation_free),
            FUNCTION(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput),
            FUNCTION(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput),
            FUNCTION(ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput),
            FUNCTION(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput),
            FUNCTION(ANeuralNetworksCompilation_setCaching),
            FUNCTION(ANeuralNetworksCompilation_setPreference),
            FUNCTION(ANeuralNetworksCompilation_setPriority),
            FUNCTION(ANeuralNetworksCompilation_setTimeout),
            FUNCTION(ANeuralNetworksDevice_getExtensionSupport),
            FUNCTION(ANeuralNetworksDevice_getFeatureLevel),
            FUNCTION(ANeuralNetworksDevice_getName),
            FUNCTION(ANeuralNetworksDevice_getType),
            FUNCTION(ANeuralNetworksDevice_getVersion),
            FUNCTION(ANeuralNetworksDevice_wait),
            FUNCTION(ANeuralNetworksEvent_createFromSyncFenceFd),
            FUNCTION(ANeuralNetworksEvent_free),
            FUNCTION(ANeuralNetworksEvent_getSyncFenceFd),
            FUNCTION(ANeuralNetworksEvent_wait),
            FUNCTION(ANeuralNetworksExecution_burstCompute),
            FUNCTION(ANeuralNetworksExecution_compute),
            FUNCTION(ANeuralNetworksExecution_create),
            FUNCTION(ANeuralNetworksExecution_enableInputAndOutputPadding),
            FUNCTION(ANeuralNetworksExecution_free),
            FUNCTION(ANeuralNetworksExecution_getDuration),
            FUNCTION(ANeuralNetworksExecution_getOutputOperandDimensions),
            FUNCTION(ANeuralNetworksExecution_getOutputOperandRank),
            FUNCTION(ANeuralNetworksExecution_setInput),
            FUNCTION(ANeuralNetworksExecution_setInputFromMemory),
            FUNCTION(ANeuralNetworksExecution_setLoopTimeout),
            FUNCTION(ANeuralNetworksExecution_setMeasureTiming),
            FUNCTION(ANeuralNetworksExecution_setOutput),
            FUNCTION(ANeuralNetworksExecution_setOutputFromMemory),
            FUNCTION(ANeuralNetworksExecution_setReusable),
            FUNCTION(ANeuralNetworksExecution_setTimeout),
            FUNCTION(ANeuralNetworksExecution_startComputeWithDependencies),
            FUNCTION(ANeuralNetworksMemoryDesc_addInputRole),
            FUNCTION(ANeuralNetworksMemoryDesc_addOutputRole),
            FUNCTION(ANeuralNetworksMemoryDesc_create),
            FUNCTION(ANeuralNetworksMemoryDesc_finish),
            FUNCTION(ANeuralNetworksMemoryDesc_free),
            FUNCTION(ANeuralNetworksMemoryDesc_setDimensions),
            FUNCTION(ANeuralNetworksMemory_copy),
            FUNCTION(ANeuralNetworksMemory_createFromAHardwareBuffer),
            FUNCTION(ANeuralNetworksMemory_createFromDesc),
            FUNCTION(ANeuralNetworksMemory_createFromFd),
            FUNCTION(ANeuralNetworksMemory_free),
            FUNCTION(ANeuralNetworksModel_addOperand),
            FUNCTION(ANeuralNetworksModel_addOperation),
            FUNCTION(ANeuralNetworksModel_create),
            FUNCTION(ANeuralNetworksModel_finish),
            FUNCTION(ANeuralNetworksModel_free),
            FUNCTION(ANeuralNetworksModel_getExtensionOperandType),
            FUNCTION(ANeuralNetworksModel_getExtensionOperationType),
            FUNCTION(ANeuralNetworksModel_getSupportedOperationsForDevices),
            FUNCTION(ANeuralNetworksModel_identifyInputsAndOutputs),
            FUNCTION(ANeuralNetworksModel_relaxComputationFloat32toFloat16),
            FUNCTION(ANeuralNetworksModel_setOperandExtensionData),
            FUNCTION(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams),
            FUNCTION(ANeuralNetworksModel_setOperandValue),
            FUNCTION(ANeuralNetworksModel_setOperandValueFromMemory),
            FUNCTION(ANeuralNetworksModel_setOperandValueFromModel),
            FUNCTION(ANeuralNetworks_getDefaultLoopTimeout),
            FUNCTION(ANeuralNetworks_getDevice),
            FUNCTION(ANeuralNetworks_getDeviceCount),
            FUNCTION(ANeuralNetworks_getMaximumLoopTimeout),
            FUNCTION(ANeuralNetworks_getRuntimeFeatureLevel),
            FUNCTION(SL_ANeuralNetworksCompilation_setCachingFromFds),
            FUNCTION(SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded),
            FUNCTION(SL_ANeuralNetworksDevice_getPerformanceInfo),
            FUNCTION(SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo),
            FUNCTION(SL_ANeuralNetworksDevice_getVendorExtensionCount),
            FUNCTION(SL_ANeuralNetworksDevice_getVendorExtensionName),
            FUNCTION(SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation),
            FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_getSessionId),
            FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_getNnApiVersion),
            FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_getModelArchHash),
            FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds),
            FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_getErrorCode),
            FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_getInputDataClass),
            FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_getOutputDataClass),
            FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos),
            FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_isCachingEnabled),
            FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_isControlFlowUsed),
            FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_areDynamicTensorsUsed),
            FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getSessionId),
            FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getNnApiVersion),
            FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getModelArchHash),
            FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds),
            FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode),
            FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getInputDataClass),
            FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getOutputDataClass),
            FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode),
            FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos),
            FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getDriverExecutionTimeNanos),
            FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getHardwareExecutionTimeNanos),
            FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_isCachingEnabled),
            FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_isControlFlowUsed),
            FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_areDynamicTensorsUsed),
            FUNCTION(SL_ANeuralNetworksDiagnostic_registerCallbacks),
        },
    FUNCTION(ANeuralNetworksCompilation_addExtensionAttribute),
    FUNCTION(ANeuralNetworksExecution_addExtensionAttribute),
};

#undef FUNCTION

SL_ANeuralNetworksPerformanceInfo figures(const hal::PerformanceInfo& info) {
  return {info.execTime, info.powerUsage};
}

Result<SL_ANeuralNetworksPerformanceInfo> performanceOf(const hal::Capabilities& capabilities,
                                                        int32_t kind) {
  switch (kind) {
    case SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_SCALAR:
      return figures(capabilities.relaxedFloat32toFloat16PerformanceScalar);
    case SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_TENSOR:
      return figures(capabilities.relaxedFloat32toFloat16PerformanceTensor);
    case SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_IF:
      return figures(capabilities.ifPerformance);
    case SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_WHILE:
      return figures(capabilities.whilePerformance);
    default:
      return badData("performance kind {}, expected 0 to 3", kind);
  }
}

// The extensions that applications may use. A name that devices describe differently is left out.
Result<std::vector<const hal::Extension*>> extensionsOf(const ANeuralNetworksDevice* device) {
  HALYARD_ASSIGN_OR_RETURN(const runtime::Device* found, checkDevice(device));
  std::vector<const hal::Extension*> extensions;
  for (const hal::Extension& extension : found->info().extensions) {
    if (!deviceManager().extensions().isDisabled(extension.name)) extensions.push_back(&extension);
  }
  return extensions;
}

Result<const hal::Extension*> extensionAt(const ANeuralNetworksDevice* device, uint32_t index) {
  HALYARD_ASSIGN_OR_RETURN(const auto extensions, extensionsOf(device));
  if (index >= extensions.size()) {
    return badData("extension {} of a device with {}", index, extensions.size());
  }
  return extensions[index];
}

}  // namespace
}  // namespace halyard::api

using namespace halyard;  // NOLINT(google-build-using-namespace): entry points are global
using api::entryPoint;

NnApiSLDriverImpl* ANeuralNetworks_getSLDriverImpl() {
  api::registerImplementation();
  // NNAPI's type is not const, although no client may write.
  return const_cast<NnApiSLDriverImpl*>(&api::kTable.base.base);
}

int SL_ANeuralNetworksDevice_getPerformanceInfo(
    const ANeuralNetworksDevice* device, int32_t performanceInfoKind,
    SL_ANeuralNetworksPerformanceInfo* performanceInfo) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(performanceInfo);
    HALYARD_ASSIGN_OR_RETURN(const runtime::Device* found, api::checkDevice(device));
    HALYARD_ASSIGN_OR_RETURN(*performanceInfo,
                             api::performanceOf(found->info().capabilities, performanceInfoKind));
    return okStatus();
  });
}

int SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(
    const ANeuralNetworksDevice* device, void* context,
    SL_ANeuralNetworksOperandPerformanceCallback callback) {
  return entryPoint(__func__, [&]() -> Status {
    if (callback == nullptr) return unexpectedNull("callback is null");
    HALYARD_ASSIGN_OR_RETURN(const runtime::Device* found, api::checkDevice(device));
    for (const hal::OperandPerformance& row : found->info().capabilities.operandPerformance) {
      callback({static_cast<int32_t>(row.type), api::figures(row.info)}, context);
    }
    return okStatus();
  });
}

int SL_ANeuralNetworksDevice_getVendorExtensionCount(const ANeuralNetworksDevice* device,
                                                     uint32_t* vendorExtensionCount) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(vendorExtensionCount);
    HALYARD_ASSIGN_OR_RETURN(const auto extensions, api::extensionsOf(device));
    *vendorExtensionCount = static_cast<uint32_t>(extensions.size());
    return okStatus();
  });
}

int SL_ANeuralNetworksDevice_getVendorExtensionName(const ANeuralNetworksDevice* device,
                                                    uint32_t vendorExtensionIndex,
                                                    const char** extensionName) {
  return entryPoint(__func__, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(extensionName);
    HALYARD_ASSIGN_OR_RETURN(const hal::Extension* extension,
                             api::extensionAt(device, vendorExtensionIndex));
    *extensionName = extension->name.c_str();
    return okStatus();
  });
}

int SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(
    const ANeuralNetworksDevice* device, uint32_t vendorExtensionIndex, void* context,
    SL_ANeuralNetworksExtensionOperandTypeCallback callback) {
  return entryPoint(__func__, [&]() -> Status {
    if (callback == nullptr) return unexpectedNull("callback is null");
    HALYARD_ASSIGN_OR_RETURN(const hal::Extension* extension,
                             api::extensionAt(device, vendorExtensionIndex));
    for (const hal::ExtensionOperandType& row : extension->operandTypes) {
      callback({row.byteSize, row.type, row.isTensor}, context);
    }
    return okStatus();
  });
}

int SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(const ANeuralNetworksDevice* device,
                                                         uint32_t* numModelCacheFiles,
                                                         uint32_t* numDataCacheFiles) {
  return entryPoint(__func__, [&]() -> Status {
    if (numModelCacheFiles != nullptr) *numModelCacheFiles = 0;
    if (numDataCacheFiles != nullptr) *numDataCacheFiles = 0;
    HALYARD_RETURN_IF_NULL(numModelCacheFiles);
    HALYARD_RETURN_IF_NULL(numDataCacheFiles);
    HALYARD_ASSIGN_OR_RETURN(const runtime::Device* found, api::checkDevice(device));
    *numModelCacheFiles = found->info().modelCacheFiles;
    *numDataCacheFiles = found->info().dataCacheFiles;
    return okStatus();
  });
}

int SL_ANeuralNetworksCompilation_setCachingFromFds(ANeuralNetworksCompilation* compilation,
                                                    const int* modelCacheFds,
                                                    const uint32_t numModelCacheFiles,
                                                    const int* dataCacheFds,
                                                    const uint32_t numDataCacheFiles,
                                                    const uint8_t* token) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&] {
    return api::useCacheFiles(compilation, modelCacheFds, numModelCacheFiles, dataCacheFds,
                              numDataCacheFiles, token);
  });
}
