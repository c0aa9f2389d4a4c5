// SPDX-License-Identifier: Apache-2.0
//
// Checks the binary interface of NeuralNetworksSupportLibraryImpl.h, compiled as C11: prototypes,
// values, and the layout of each structure. All checks are done by the compiler. The literals come
// from the specification, not from the header. Never change one of them to make this test pass.

#include "android/NeuralNetworksSupportLibraryImpl.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- Prototypes: a second declaration with other types is a compile error. ----
// NOLINTBEGIN(readability-redundant-declaration)
NnApiSLDriverImpl* ANeuralNetworks_getSLDriverImpl(void);
int SL_ANeuralNetworksCompilation_setCachingFromFds(
    ANeuralNetworksCompilation* compilation, const int* modelCacheFds, uint32_t numModelCacheFiles,
    const int* dataCacheFds, uint32_t numDataCacheFiles, const uint8_t* token);
int SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(const ANeuralNetworksDevice* device,
                                                         uint32_t* numModelCacheFiles,
                                                         uint32_t* numDataCacheFiles);
int SL_ANeuralNetworksDevice_getPerformanceInfo(const ANeuralNetworksDevice* device, int32_t kind,
                                                SL_ANeuralNetworksPerformanceInfo* info);
int SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(
    const ANeuralNetworksDevice* device, void* context,
    void (*callback)(SL_ANeuralNetworksOperandPerformanceInfo, void*));
int SL_ANeuralNetworksDevice_getVendorExtensionCount(const ANeuralNetworksDevice* device,
                                                     uint32_t* count);
int SL_ANeuralNetworksDevice_getVendorExtensionName(const ANeuralNetworksDevice* device,
                                                    uint32_t index, const char** name);
int SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(
    const ANeuralNetworksDevice* device, uint32_t index, void* context,
    void (*callback)(SL_ANeuralNetworksExtensionOperandTypeInformation, void*));
int32_t SL_ANeuralNetworksDiagnosticCompilationInfo_getSessionId(
    const ANeuralNetworksDiagnosticCompilationInfo* info);
int64_t SL_ANeuralNetworksDiagnosticCompilationInfo_getNnApiVersion(
    const ANeuralNetworksDiagnosticCompilationInfo* info);
const uint8_t* SL_ANeuralNetworksDiagnosticCompilationInfo_getModelArchHash(
    const ANeuralNetworksDiagnosticCompilationInfo* info);
const char* SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds(
    const ANeuralNetworksDiagnosticCompilationInfo* info);
int32_t SL_ANeuralNetworksDiagnosticCompilationInfo_getErrorCode(
    const ANeuralNetworksDiagnosticCompilationInfo* info);
ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticCompilationInfo_getInputDataClass(
    const ANeuralNetworksDiagnosticCompilationInfo* info);
ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticCompilationInfo_getOutputDataClass(
    const ANeuralNetworksDiagnosticCompilationInfo* info);
uint64_t SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos(
    const ANeuralNetworksDiagnosticCompilationInfo* info);
bool SL_ANeuralNetworksDiagnosticCompilationInfo_isCachingEnabled(
    const ANeuralNetworksDiagnosticCompilationInfo* info);
bool SL_ANeuralNetworksDiagnosticCompilationInfo_isControlFlowUsed(
    const ANeuralNetworksDiagnosticCompilationInfo* info);
bool SL_ANeuralNetworksDiagnosticCompilationInfo_areDynamicTensorsUsed(
    const ANeuralNetworksDiagnosticCompilationInfo* info);
int32_t SL_ANeuralNetworksDiagnosticExecutionInfo_getSessionId(
    const ANeuralNetworksDiagnosticExecutionInfo* info);
int64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getNnApiVersion(
    const ANeuralNetworksDiagnosticExecutionInfo* info);
const uint8_t* SL_ANeuralNetworksDiagnosticExecutionInfo_getModelArchHash(
    const ANeuralNetworksDiagnosticExecutionInfo* info);
const char* SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds(
    const ANeuralNetworksDiagnosticExecutionInfo* info);
ANeuralNetworksDiagnosticExecutionMode SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode(
    const ANeuralNetworksDiagnosticExecutionInfo* info);
ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticExecutionInfo_getInputDataClass(
    const ANeuralNetworksDiagnosticExecutionInfo* info);
ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticExecutionInfo_getOutputDataClass(
    const ANeuralNetworksDiagnosticExecutionInfo* info);
uint32_t SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode(
    const ANeuralNetworksDiagnosticExecutionInfo* info);
uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo* info);
uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getDriverExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo* info);
uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getHardwareExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo* info);
bool SL_ANeuralNetworksDiagnosticExecutionInfo_isCachingEnabled(
    const ANeuralNetworksDiagnosticExecutionInfo* info);
bool SL_ANeuralNetworksDiagnosticExecutionInfo_isControlFlowUsed(
    const ANeuralNetworksDiagnosticExecutionInfo* info);
bool SL_ANeuralNetworksDiagnosticExecutionInfo_areDynamicTensorsUsed(
    const ANeuralNetworksDiagnosticExecutionInfo* info);
void SL_ANeuralNetworksDiagnostic_registerCallbacks(
    void (*compilation)(const void*, const ANeuralNetworksDiagnosticCompilationInfo*),
    void (*execution)(const void*, const ANeuralNetworksDiagnosticExecutionInfo*), void* context);
// NOLINTEND(readability-redundant-declaration)

// ---- Values ----
#define VALUE(name, expected) _Static_assert((name) == (expected), #name)
VALUE(ANNDIAG_DATA_CLASS_UNKNOWN, 0);
VALUE(ANNDIAG_DATA_CLASS_OTHER, 1);
VALUE(ANNDIAG_DATA_CLASS_FLOAT32, 2);
VALUE(ANNDIAG_DATA_CLASS_FLOAT16, 3);
VALUE(ANNDIAG_DATA_CLASS_QUANT, 4);
VALUE(ANNDIAG_DATA_CLASS_MIXED, 5);
VALUE(ANNDIAG_EXECUTION_MODE_UNKNOWN, 0);
VALUE(ANNDIAG_EXECUTION_MODE_ASYNC, 1);
VALUE(ANNDIAG_EXECUTION_MODE_SYNC, 2);
VALUE(ANNDIAG_EXECUTION_MODE_BURST, 3);
VALUE(ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS, 4);
VALUE(SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_SCALAR, 0);
VALUE(SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_TENSOR, 1);
VALUE(SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_IF, 2);
VALUE(SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_WHILE, 3);
VALUE(sizeof(ANeuralNetworksDiagnosticDataClass), 4);
VALUE(sizeof(ANeuralNetworksDiagnosticExecutionMode), 4);
VALUE(sizeof(SL_ANeuralNetworksPerformanceInfoCode), 4);

// ---- Structures ----
#define OFFSET(type, member, expected) _Static_assert(offsetof(type, member) == (expected), #member)
VALUE(sizeof(SL_ANeuralNetworksPerformanceInfo), 8);
OFFSET(SL_ANeuralNetworksPerformanceInfo, execTime, 0);
OFFSET(SL_ANeuralNetworksPerformanceInfo, powerUsage, 4);
VALUE(sizeof(SL_ANeuralNetworksOperandPerformanceInfo), 12);
OFFSET(SL_ANeuralNetworksOperandPerformanceInfo, operandType, 0);
OFFSET(SL_ANeuralNetworksOperandPerformanceInfo, performanceInfo, 4);
VALUE(sizeof(SL_ANeuralNetworksExtensionOperandTypeInformation), 8);
OFFSET(SL_ANeuralNetworksExtensionOperandTypeInformation, byteSize, 0);
OFFSET(SL_ANeuralNetworksExtensionOperandTypeInformation, type, 4);
OFFSET(SL_ANeuralNetworksExtensionOperandTypeInformation, isTensor, 6);

// ---- The tables ----
#define LEVEL_SIZE 8
#define FL5_SIZE (LEVEL_SIZE + 104 * sizeof(void*))
VALUE(sizeof(NnApiSLDriverImpl), LEVEL_SIZE);
VALUE(sizeof(NnApiSLDriverImplFL5), FL5_SIZE);
VALUE(sizeof(NnApiSLDriverImplFL6), FL5_SIZE);
VALUE(sizeof(NnApiSLDriverImplFL7), FL5_SIZE);
VALUE(sizeof(NnApiSLDriverImplFL8), FL5_SIZE + 2 * sizeof(void*));
OFFSET(NnApiSLDriverImpl, implFeatureLevel, 0);
OFFSET(NnApiSLDriverImplFL5, base, 0);
OFFSET(NnApiSLDriverImplFL8, base, 0);
#define HALYARD_SL_FL5(number, name) \
  OFFSET(NnApiSLDriverImplFL5, name, LEVEL_SIZE + (number) * sizeof(void*));
#define HALYARD_SL_FL8(number, name) \
  OFFSET(NnApiSLDriverImplFL8, name, FL5_SIZE + (number) * sizeof(void*));
#include "support_library_fields.inc"

int main(void) { return 0; }
