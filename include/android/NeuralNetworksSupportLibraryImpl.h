// SPDX-License-Identifier: Apache-2.0
//
// The Support Library form of NNAPI: a client loads libneuralnetworks.so by its path and gets all
// functions from one table. Also the functions of that form: cache files by descriptor, figures of
// devices, and diagnostic callbacks. The header is C, with typeof, or C++.
// Thread safety: as NeuralNetworks.h; see registerCallbacks for the callbacks.
// Ownership: the table is the library's and never changes; infos exist for the call of a callback.
//
//   void* library = dlopen("/usr/lib/libneuralnetworks.so", RTLD_NOW | RTLD_LOCAL);
//   NnApiSLDriverImpl* (*get)(void) = dlsym(library, "ANeuralNetworks_getSLDriverImpl");
//   const NnApiSLDriverImpl* base = get();
//   if (base->implFeatureLevel >= ANEURALNETWORKS_FEATURE_LEVEL_8) {
//     const NnApiSLDriverImplFL8* nnapi = (const NnApiSLDriverImplFL8*)base;
//     nnapi->base.ANeuralNetworksModel_create(&model);
//   }
//
// The functions of the table are those that the library exports. Objects may pass between the two
// forms. docs/support_library.md tells more. The rules for results told in NeuralNetworks.h hold
// here too.

#ifndef HALYARD_ANDROID_NEURAL_NETWORKS_SUPPORT_LIBRARY_IMPL_H_
#define HALYARD_ANDROID_NEURAL_NETWORKS_SUPPORT_LIBRARY_IMPL_H_

#include <stdbool.h>
#include <stdint.h>

#include "NeuralNetworks.h"
#include "NeuralNetworksExtensions.h"
#include "NeuralNetworksTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* ---- Figures and extensions of devices ----------------------------------------------------- */

/** Ratios to the processor for the same work. Less is better. FLT_MAX: not known. */
typedef struct {
  float execTime;
  float powerUsage;
} SL_ANeuralNetworksPerformanceInfo;

/** The figures of a device for one type of operands. */
typedef struct {
  /** An OperandCode. */
  int32_t operandType;
  SL_ANeuralNetworksPerformanceInfo performanceInfo;
} SL_ANeuralNetworksOperandPerformanceInfo;

/** A type of operands that an extension defines. */
typedef struct {
  /** Of a scalar, or of one element of a tensor. */
  uint32_t byteSize;
  /** The extension's own number of the type. */
  uint16_t type;
  bool isTensor;
} SL_ANeuralNetworksExtensionOperandTypeInformation;

/** The figures of a device that belong to no type of operands. */
typedef enum {
  /** float32 scalars of models with relaxed precision. */
  SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_SCALAR = 0,
  /** float32 tensors of models with relaxed precision. */
  SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_TENSOR = 1,
  /** The operation IF, in addition to the mean of its two models. */
  SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_IF = 2,
  /** The operation WHILE, in addition to its two models. */
  SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_WHILE = 3,
} SL_ANeuralNetworksPerformanceInfoCode;

/** Receives one row of a list, and the caller's context. */
typedef void (*SL_ANeuralNetworksOperandPerformanceCallback)(
    SL_ANeuralNetworksOperandPerformanceInfo info, void* context);
typedef void (*SL_ANeuralNetworksExtensionOperandTypeCallback)(
    SL_ANeuralNetworksExtensionOperandTypeInformation info, void* context);

/**
 * Writes the figures of the device to *performanceInfo.
 *
 * @param performanceInfoKind an SL_ANeuralNetworksPerformanceInfoCode.
 *
 * Since feature level 5. BAD_DATA: another kind.
 */
int SL_ANeuralNetworksDevice_getPerformanceInfo(const ANeuralNetworksDevice* device,
                                                int32_t performanceInfoKind,
                                                SL_ANeuralNetworksPerformanceInfo* performanceInfo);

/**
 * Calls the callback for each type of operands that the device has figures for, in ascending order.
 *
 * @param context may be NULL.
 *
 * Since feature level 5.
 */
int SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(
    const ANeuralNetworksDevice* device, void* context,
    SL_ANeuralNetworksOperandPerformanceCallback callback);

/**
 * Writes the number of extensions that the device offers to *vendorExtensionCount. An extension
 * does not count if two devices of the process describe it differently.
 *
 * Since feature level 5.
 */
int SL_ANeuralNetworksDevice_getVendorExtensionCount(const ANeuralNetworksDevice* device,
                                                     uint32_t* vendorExtensionCount);

/**
 * Writes the name of extension number vendorExtensionIndex, counted from 0, to *extensionName. The
 * text is valid until the process ends.
 *
 * Since feature level 5. BAD_DATA: the device does not have that many.
 */
int SL_ANeuralNetworksDevice_getVendorExtensionName(const ANeuralNetworksDevice* device,
                                                    uint32_t vendorExtensionIndex,
                                                    const char** extensionName);

/**
 * Calls the callback for each type of operands of extension number vendorExtensionIndex.
 *
 * @param context may be NULL.
 *
 * Since feature level 5. BAD_DATA: the device does not have that many extensions.
 */
int SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(
    const ANeuralNetworksDevice* device, uint32_t vendorExtensionIndex, void* context,
    SL_ANeuralNetworksExtensionOperandTypeCallback callback);

/* ---- Caching in files of the application --------------------------------------------------- */

/**
 * Writes to *numModelCacheFiles and *numDataCacheFiles the number of files of each kind that the
 * device needs to save one compilation, 0 to 32. Both are 0 if it saves nothing, and after an
 * error.
 *
 * Since feature level 5.
 */
int SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(const ANeuralNetworksDevice* device,
                                                         uint32_t* numModelCacheFiles,
                                                         uint32_t* numDataCacheFiles);

/**
 * Does the same as ANeuralNetworksCompilation_setCaching, for files that the application has
 * opened. If they contain a compilation that fits, the device loads it; otherwise it writes them.
 * A fault of the content never makes ANeuralNetworksCompilation_finish fail.
 *
 * @param modelCacheFds may be NULL when numModelCacheFiles is 0; the descriptors are duplicated.
 * @param dataCacheFds the same.
 * @param token ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN bytes that stand for this model.
 *
 * Since feature level 5. BAD_STATE: the compilation is finished. BAD_DATA: not made by
 * ANeuralNetworksCompilation_createForDevices with a single device. The numbers of files are not
 * those that the device needs. A descriptor is not of a regular file open for reading and writing.
 */
int SL_ANeuralNetworksCompilation_setCachingFromFds(ANeuralNetworksCompilation* compilation,
                                                    const int* modelCacheFds,
                                                    const uint32_t numModelCacheFiles,
                                                    const int* dataCacheFds,
                                                    const uint32_t numDataCacheFiles,
                                                    const uint8_t* token);

/* ---- Diagnostic callbacks ------------------------------------------------------------------ */

/** The facts about a compilation that ended. Exists during the call of a callback. */
typedef struct ANeuralNetworksDiagnosticCompilationInfo ANeuralNetworksDiagnosticCompilationInfo;
/** The facts about an execution that ended. Exists during the call of a callback. */
typedef struct ANeuralNetworksDiagnosticExecutionInfo ANeuralNetworksDiagnosticExecutionInfo;

/** Receives the context of the registration. */
typedef void (*ANeuralNetworksDiagnosticCompilationFinishedCallback)(
    const void* context, const ANeuralNetworksDiagnosticCompilationInfo* info);
typedef void (*ANeuralNetworksDiagnosticExecutionFinishedCallback)(
    const void* context, const ANeuralNetworksDiagnosticExecutionInfo* info);

/**
 * Registers callbacks for the ends of compilations and executions of the process, in place of
 * those registered before. An end counts whether it is a success or a failure. A call that is
 * refused with BAD_STATE ends nothing.
 *
 * The compilation callback runs in the thread of ANeuralNetworksCompilation_finish, before it
 * returns. The execution callback runs before the call returns that computes or waits: in its
 * thread, or in a thread of the runtime for ANeuralNetworksExecution_startCompute. An execution
 * with dependencies and a fence ends when the first thread waits for its event, or frees it.
 *
 * Callbacks may run in several threads at once. A callback may call the API, also this function,
 * but may not use the object that ended. After this function has returned, callbacks that it
 * replaced may still be running in other threads.
 *
 * @param compilationCallback NULL: no callback.
 * @param executionCallback NULL: no callback.
 * @param callbackContext may be NULL.
 *
 * Since feature level 5. Returns no code and cannot fail.
 */
void SL_ANeuralNetworksDiagnostic_registerCallbacks(
    ANeuralNetworksDiagnosticCompilationFinishedCallback compilationCallback,
    ANeuralNetworksDiagnosticExecutionFinishedCallback executionCallback, void* callbackContext);

/*
 * The functions below return a fact directly. All are since feature level 5. For a NULL info they
 * return 0, false, NULL or UNKNOWN, and the text of halyard_lastErrorText() tells the fault.
 */

/** The same number for all infos of a process, and probably another one in other processes. */
int32_t SL_ANeuralNetworksDiagnosticCompilationInfo_getSessionId(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);
/** The feature level of the runtime. */
int64_t SL_ANeuralNetworksDiagnosticCompilationInfo_getNnApiVersion(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);
/** 32 bytes: a SHA-256 of operands, operations, inputs and outputs; constants do not count. */
const uint8_t* SL_ANeuralNetworksDiagnosticCompilationInfo_getModelArchHash(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);
/** The devices that the compilation may use, sorted: "name=version,name=version". */
const char* SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);
/** The ResultCode of the compilation. */
int32_t SL_ANeuralNetworksDiagnosticCompilationInfo_getErrorCode(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);
/** The kind of values in all inputs of the model. */
ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticCompilationInfo_getInputDataClass(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);
/** The kind of values in all outputs of the model. */
ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticCompilationInfo_getOutputDataClass(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);
/** The time of ANeuralNetworksCompilation_finish. */
uint64_t SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);
/** Whether the application asked for a cache. */
bool SL_ANeuralNetworksDiagnosticCompilationInfo_isCachingEnabled(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);
/** Whether the model has an IF or WHILE. */
bool SL_ANeuralNetworksDiagnosticCompilationInfo_isControlFlowUsed(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);
/** Whether a value of unknown size passes between parts of the model. */
bool SL_ANeuralNetworksDiagnosticCompilationInfo_areDynamicTensorsUsed(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/** As of the compilation. */
int32_t SL_ANeuralNetworksDiagnosticExecutionInfo_getSessionId(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);
/** As of the compilation. */
int64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getNnApiVersion(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);
/** As of the compilation. */
const uint8_t* SL_ANeuralNetworksDiagnosticExecutionInfo_getModelArchHash(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);
/** As of the compilation. */
const char* SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);
/** The way in which the execution was started. */
ANeuralNetworksDiagnosticExecutionMode SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);
/** As of the compilation. */
ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticExecutionInfo_getInputDataClass(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);
/** As of the compilation. */
ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticExecutionInfo_getOutputDataClass(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);
/** The ResultCode of the execution. */
uint32_t SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);
/**
 * The time from the call that started the execution to its end. UINT64_MAX: not known, as for
 * executions with dependencies, and for those that started before the registration.
 */
uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);
/**
 * The time in the driver. UINT64_MAX: not known, as without
 * ANeuralNetworksExecution_setMeasureTiming.
 */
uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getDriverExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);
/** The time on the hardware; otherwise the same. */
uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getHardwareExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);
/** As of the compilation. */
bool SL_ANeuralNetworksDiagnosticExecutionInfo_isCachingEnabled(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);
/** As of the compilation. */
bool SL_ANeuralNetworksDiagnosticExecutionInfo_isControlFlowUsed(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);
/** As of the compilation. */
bool SL_ANeuralNetworksDiagnosticExecutionInfo_areDynamicTensorsUsed(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* ---- The table ------------------------------------------------------------------------------ */

// A member with the name of a function: a pointer to such a function.
#ifdef __cplusplus
#define HALYARD_SL_FUNCTION(name) decltype(::name)* name
#else
#define HALYARD_SL_FUNCTION(name) __typeof__(name)* name
#endif

/**
 * The beginning of every table. The level tells the type of the table, and so its size. A table
 * of a higher level begins with that of each lower level.
 */
typedef struct NnApiSLDriverImpl {
  /** A FeatureLevelCode, at least ANEURALNETWORKS_FEATURE_LEVEL_5. */
  int64_t implFeatureLevel;
} NnApiSLDriverImpl;

/** The table of feature level 5. It has neither Compilation_create nor Execution_startCompute. */
typedef struct NnApiSLDriverImplFL5 {
  NnApiSLDriverImpl base;
  HALYARD_SL_FUNCTION(ANeuralNetworksBurst_create);
  HALYARD_SL_FUNCTION(ANeuralNetworksBurst_free);
  HALYARD_SL_FUNCTION(ANeuralNetworksCompilation_createForDevices);
  HALYARD_SL_FUNCTION(ANeuralNetworksCompilation_finish);
  HALYARD_SL_FUNCTION(ANeuralNetworksCompilation_free);
  HALYARD_SL_FUNCTION(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput);
  HALYARD_SL_FUNCTION(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput);
  HALYARD_SL_FUNCTION(ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput);
  HALYARD_SL_FUNCTION(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput);
  HALYARD_SL_FUNCTION(ANeuralNetworksCompilation_setCaching);
  HALYARD_SL_FUNCTION(ANeuralNetworksCompilation_setPreference);
  HALYARD_SL_FUNCTION(ANeuralNetworksCompilation_setPriority);
  HALYARD_SL_FUNCTION(ANeuralNetworksCompilation_setTimeout);
  HALYARD_SL_FUNCTION(ANeuralNetworksDevice_getExtensionSupport);
  HALYARD_SL_FUNCTION(ANeuralNetworksDevice_getFeatureLevel);
  HALYARD_SL_FUNCTION(ANeuralNetworksDevice_getName);
  HALYARD_SL_FUNCTION(ANeuralNetworksDevice_getType);
  HALYARD_SL_FUNCTION(ANeuralNetworksDevice_getVersion);
  HALYARD_SL_FUNCTION(ANeuralNetworksDevice_wait);
  HALYARD_SL_FUNCTION(ANeuralNetworksEvent_createFromSyncFenceFd);
  HALYARD_SL_FUNCTION(ANeuralNetworksEvent_free);
  HALYARD_SL_FUNCTION(ANeuralNetworksEvent_getSyncFenceFd);
  HALYARD_SL_FUNCTION(ANeuralNetworksEvent_wait);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_burstCompute);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_compute);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_create);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_enableInputAndOutputPadding);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_free);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_getDuration);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_getOutputOperandDimensions);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_getOutputOperandRank);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_setInput);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_setInputFromMemory);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_setLoopTimeout);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_setMeasureTiming);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_setOutput);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_setOutputFromMemory);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_setReusable);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_setTimeout);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_startComputeWithDependencies);
  HALYARD_SL_FUNCTION(ANeuralNetworksMemoryDesc_addInputRole);
  HALYARD_SL_FUNCTION(ANeuralNetworksMemoryDesc_addOutputRole);
  HALYARD_SL_FUNCTION(ANeuralNetworksMemoryDesc_create);
  HALYARD_SL_FUNCTION(ANeuralNetworksMemoryDesc_finish);
  HALYARD_SL_FUNCTION(ANeuralNetworksMemoryDesc_free);
  HALYARD_SL_FUNCTION(ANeuralNetworksMemoryDesc_setDimensions);
  HALYARD_SL_FUNCTION(ANeuralNetworksMemory_copy);
  HALYARD_SL_FUNCTION(ANeuralNetworksMemory_createFromAHardwareBuffer);
  HALYARD_SL_FUNCTION(ANeuralNetworksMemory_createFromDesc);
  HALYARD_SL_FUNCTION(ANeuralNetworksMemory_createFromFd);
  HALYARD_SL_FUNCTION(ANeuralNetworksMemory_free);
  HALYARD_SL_FUNCTION(ANeuralNetworksModel_addOperand);
  HALYARD_SL_FUNCTION(ANeuralNetworksModel_addOperation);
  HALYARD_SL_FUNCTION(ANeuralNetworksModel_create);
  HALYARD_SL_FUNCTION(ANeuralNetworksModel_finish);
  HALYARD_SL_FUNCTION(ANeuralNetworksModel_free);
  HALYARD_SL_FUNCTION(ANeuralNetworksModel_getExtensionOperandType);
  HALYARD_SL_FUNCTION(ANeuralNetworksModel_getExtensionOperationType);
  HALYARD_SL_FUNCTION(ANeuralNetworksModel_getSupportedOperationsForDevices);
  HALYARD_SL_FUNCTION(ANeuralNetworksModel_identifyInputsAndOutputs);
  HALYARD_SL_FUNCTION(ANeuralNetworksModel_relaxComputationFloat32toFloat16);
  HALYARD_SL_FUNCTION(ANeuralNetworksModel_setOperandExtensionData);
  HALYARD_SL_FUNCTION(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams);
  HALYARD_SL_FUNCTION(ANeuralNetworksModel_setOperandValue);
  HALYARD_SL_FUNCTION(ANeuralNetworksModel_setOperandValueFromMemory);
  HALYARD_SL_FUNCTION(ANeuralNetworksModel_setOperandValueFromModel);
  HALYARD_SL_FUNCTION(ANeuralNetworks_getDefaultLoopTimeout);
  HALYARD_SL_FUNCTION(ANeuralNetworks_getDevice);
  HALYARD_SL_FUNCTION(ANeuralNetworks_getDeviceCount);
  HALYARD_SL_FUNCTION(ANeuralNetworks_getMaximumLoopTimeout);
  HALYARD_SL_FUNCTION(ANeuralNetworks_getRuntimeFeatureLevel);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksCompilation_setCachingFromFds);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDevice_getPerformanceInfo);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDevice_getVendorExtensionCount);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDevice_getVendorExtensionName);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_getSessionId);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_getNnApiVersion);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_getModelArchHash);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_getErrorCode);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_getInputDataClass);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_getOutputDataClass);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_isCachingEnabled);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_isControlFlowUsed);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticCompilationInfo_areDynamicTensorsUsed);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getSessionId);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getNnApiVersion);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getModelArchHash);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getInputDataClass);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getOutputDataClass);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getDriverExecutionTimeNanos);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_getHardwareExecutionTimeNanos);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_isCachingEnabled);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_isControlFlowUsed);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnosticExecutionInfo_areDynamicTensorsUsed);
  HALYARD_SL_FUNCTION(SL_ANeuralNetworksDiagnostic_registerCallbacks);
} NnApiSLDriverImplFL5;

/** Feature levels 6 and 7 add operations, and no functions. */
typedef NnApiSLDriverImplFL5 NnApiSLDriverImplFL6;
typedef NnApiSLDriverImplFL5 NnApiSLDriverImplFL7;

/** The table of feature level 8. */
typedef struct NnApiSLDriverImplFL8 {
  NnApiSLDriverImplFL5 base;
  HALYARD_SL_FUNCTION(ANeuralNetworksCompilation_addExtensionAttribute);
  HALYARD_SL_FUNCTION(ANeuralNetworksExecution_addExtensionAttribute);
} NnApiSLDriverImplFL8;

#undef HALYARD_SL_FUNCTION

/**
 * Returns the table, never NULL: the same one each time, an NnApiSLDriverImplFL8 with no NULL in
 * it. It lies in memory that cannot be written.
 *
 * Since feature level 5.
 */
NnApiSLDriverImpl* ANeuralNetworks_getSLDriverImpl(void);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HALYARD_ANDROID_NEURAL_NETWORKS_SUPPORT_LIBRARY_IMPL_H_
