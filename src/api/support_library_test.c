// SPDX-License-Identifier: Apache-2.0
//
// A client that loads libneuralnetworks.so by its path as a support library. It uses NNAPI only
// through the table: devices, models, executions, diagnostic callbacks, and a cache in its files.
//
//   support_library_test LIBRARY REFERENCE_DRIVER
//
// The program defines functions with names of NNAPI itself, as a program does that is linked with
// another implementation. The table must not contain them.

#include "android/NeuralNetworksSupportLibraryImpl.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failures = 0;
static const char* (*lastErrorText)(void);
static int (*reportOf)(const ANeuralNetworksCompilation* compilation, char** json);
static const NnApiSLDriverImplFL8* level8;
static const NnApiSLDriverImplFL5* nn;
static const ANeuralNetworksDevice* device;

#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) {                                                              \
      printf("FAILED: line %d: %s (%s)\n", __LINE__, #condition,                     \
             lastErrorText == NULL ? "the library is not loaded" : lastErrorText()); \
      ++failures;                                                                    \
    }                                                                                \
  } while (0)
#define MUST(call) CHECK((call) == ANEURALNETWORKS_NO_ERROR)
// The call returns `code`, and the text of its error contains `text`.
#define REFUSED(call, code, text)                   \
  do {                                              \
    CHECK((call) == (code));                        \
    CHECK(strstr(lastErrorText(), (text)) != NULL); \
  } while (0)

// Of another implementation, which this program is linked with.
int ANeuralNetworks_getDeviceCount(uint32_t* numDevices) {
  *numDevices = 77;
  return ANEURALNETWORKS_NO_ERROR;
}
int SL_ANeuralNetworksDevice_getVendorExtensionCount(const ANeuralNetworksDevice* ignored,
                                                     uint32_t* vendorExtensionCount) {
  (void)ignored;
  *vendorExtensionCount = 77;
  return ANEURALNETWORKS_NO_ERROR;
}

// ---- Set up ----

static char folder[] = "/tmp/halyard-support-library-XXXXXX";

static void writeFile(const char* name, const char* text) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* file = fopen(path, "w");
  CHECK(file != NULL && fputs(text, file) >= 0);
  if (file != NULL) fclose(file);
}

// A driver with a cache, an extension, and two faults.
static void describeDriver(const char* driver) {
  CHECK(mkdtemp(folder) != NULL);
  char text[2048];
  snprintf(
      text, sizeof text,
      "{\"version\": \"7\", \"cache\": {\"model_files\": 2, \"data_files\": 1, \"folder\": \"%s\"},"
      "\"supports\": {\"not_operations\": [\"TANH\"]},"
      "\"extensions\": [{\"name\": \"com.acme.sl\", \"operand_types\": ["
      "{\"type\": 3, \"is_tensor\": true, \"byte_size\": 4},"
      "{\"type\": 9, \"is_tensor\": false, \"byte_size\": 16}]}],"
      "\"capabilities\": {\"default\": {\"exec_time\": 0.5, \"power_usage\": 0.25},"
      "\"relaxed_scalar\": {\"exec_time\": 1, \"power_usage\": 2},"
      "\"relaxed_tensor\": {\"exec_time\": 3, \"power_usage\": 4},"
      "\"if\": {\"exec_time\": 5, \"power_usage\": 6},"
      "\"while\": {\"exec_time\": 7, \"power_usage\": 8},"
      "\"operand_types\": {\"TENSOR_INT32\": {\"exec_time\": 9, \"power_usage\": 10}}},"
      "\"faults\": [{\"at\": \"prepare\", \"operation\": \"NEG\", \"do\": \"fail\","
      "\"status\": \"RESOURCE_EXHAUSTED_PERSISTENT\", \"text\": \"no room\"},"
      "{\"at\": \"execute\", \"operation\": \"FLOOR\", \"do\": \"fail\","
      "\"status\": \"RESOURCE_EXHAUSTED_TRANSIENT\", \"text\": \"busy\"}]}",
      folder);
  writeFile("personality.json", text);
  snprintf(text, sizeof text,
           "{\"name\": \"sl-device\", \"version\": \"7\", \"hal_version\": \"1.3\","
           "\"executable\": \"%s\","
           "\"arguments\": [\"--personality\", \"${manifest_dir}/personality.json\"]}",
           driver);
  writeFile("manifest.json", text);
  snprintf(text, sizeof text, "%s/manifest.json", folder);
  setenv("HALYARD_DRIVER_FILES", text, 1);
  setenv("HALYARD_PARTITION_OVERHEAD", "off", 1);
}

static void removeFolder(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  CHECK(system(command) == 0);  // NOLINT(cert-env33-c): the name comes from mkdtemp
}

// ---- The table ----

static void checkMember(void* library, const char* name, const void* member, size_t size) {
  void* function = NULL;
  memcpy(&function, member, size);
  void* const exported = dlsym(library, name);
  if (exported == NULL || function != exported) {
    printf("FAILED: the table has %p for %s, the library exports %p\n", function, name, exported);
    ++failures;
  }
}

static void* openTable(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    printf("FAILED: %s\n", dlerror());
    return NULL;
  }
  // Objects and functions have pointers of the same kind in POSIX.
  *(void**)&lastErrorText = dlsym(library, "halyard_lastErrorText");
  *(void**)&reportOf = dlsym(library, "halyard_compilationReport");
  NnApiSLDriverImpl* (*get)(void) = NULL;
  *(void**)&get = dlsym(library, "ANeuralNetworks_getSLDriverImpl");
  CHECK(lastErrorText != NULL && reportOf != NULL && get != NULL);
  if (get == NULL) return NULL;
  const NnApiSLDriverImpl* const base = get();
  CHECK(base != NULL && base == get());
  CHECK(base->implFeatureLevel == ANEURALNETWORKS_FEATURE_LEVEL_8);
  level8 = (const NnApiSLDriverImplFL8*)base;
  nn = &level8->base;
#define HALYARD_SL_FL5(number, name) checkMember(library, #name, &nn->name, sizeof nn->name);
#define HALYARD_SL_FL8(number, name) checkMember(library, #name, &level8->name, sizeof nn->base);
#include "support_library_fields.inc"
  CHECK(nn->ANeuralNetworks_getRuntimeFeatureLevel() == base->implFeatureLevel);
  return library;
}

// ---- Devices ----

static void findDevice(void) {
  uint32_t count = 0;
  MUST(nn->ANeuralNetworks_getDeviceCount(&count));
  CHECK(count == 2);
  ANeuralNetworksDevice* found = NULL;
  const char* name = "";
  MUST(nn->ANeuralNetworks_getDevice(0, &found));
  MUST(nn->ANeuralNetworksDevice_getName(found, &name));
  CHECK(strcmp(name, "sl-device") == 0);
  device = found;
}

static void checkPerformance(int32_t kind, float time, float power) {
  SL_ANeuralNetworksPerformanceInfo info = {0, 0};
  MUST(nn->SL_ANeuralNetworksDevice_getPerformanceInfo(device, kind, &info));
  CHECK(info.execTime == time && info.powerUsage == power);
}

typedef struct {
  int count;
  int32_t last;
  bool ascending;
  SL_ANeuralNetworksPerformanceInfo float32, int32;
} Figures;

static void takeFigures(SL_ANeuralNetworksOperandPerformanceInfo info, void* context) {
  Figures* const figures = context;
  if (figures->count++ > 0 && info.operandType <= figures->last) figures->ascending = false;
  figures->last = info.operandType;
  if (info.operandType == ANEURALNETWORKS_TENSOR_FLOAT32) figures->float32 = info.performanceInfo;
  if (info.operandType == ANEURALNETWORKS_TENSOR_INT32) figures->int32 = info.performanceInfo;
}

static void checkFigures(void) {
  checkPerformance(SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_SCALAR, 1, 2);
  checkPerformance(SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_TENSOR, 3, 4);
  checkPerformance(SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_IF, 5, 6);
  checkPerformance(SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_WHILE, 7, 8);
  SL_ANeuralNetworksPerformanceInfo info = {0, 0};
  REFUSED(nn->SL_ANeuralNetworksDevice_getPerformanceInfo(device, 4, &info),
          ANEURALNETWORKS_BAD_DATA, "performance kind 4, expected 0 to 3");
  REFUSED(nn->SL_ANeuralNetworksDevice_getPerformanceInfo(device, 0, NULL),
          ANEURALNETWORKS_UNEXPECTED_NULL, "performanceInfo is null");
  REFUSED(nn->SL_ANeuralNetworksDevice_getPerformanceInfo(NULL, 0, &info),
          ANEURALNETWORKS_UNEXPECTED_NULL, "device is null");
  Figures figures = {0, 0, true, {0, 0}, {0, 0}};
  MUST(nn->SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(device, &figures, takeFigures));
  CHECK(figures.count >= 15 && figures.ascending);
  CHECK(figures.float32.execTime == 0.5F && figures.float32.powerUsage == 0.25F);
  CHECK(figures.int32.execTime == 9 && figures.int32.powerUsage == 10);
  REFUSED(nn->SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(device, NULL, NULL),
          ANEURALNETWORKS_UNEXPECTED_NULL, "callback is null");
}

typedef struct {
  int count;
  SL_ANeuralNetworksExtensionOperandTypeInformation types[2];
} Types;

static void takeType(SL_ANeuralNetworksExtensionOperandTypeInformation info, void* context) {
  Types* const types = context;
  if (types->count < 2) types->types[types->count] = info;
  ++types->count;
}

static void checkExtensions(void) {
  uint32_t count = 0;
  MUST(nn->SL_ANeuralNetworksDevice_getVendorExtensionCount(device, &count));
  uint32_t own = count;
  for (uint32_t i = 0; i < count; ++i) {
    const char* name = "";
    MUST(nn->SL_ANeuralNetworksDevice_getVendorExtensionName(device, i, &name));
    bool supported = false;
    MUST(nn->ANeuralNetworksDevice_getExtensionSupport(device, name, &supported));
    CHECK(supported);
    if (strcmp(name, "com.acme.sl") == 0) own = i;
  }
  CHECK(own < count);
  Types types = {0, {{0, 0, false}, {0, 0, false}}};
  MUST(nn->SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(device, own,
                                                                                 &types, takeType));
  CHECK(types.count == 2);
  CHECK(types.types[0].type == 3 && types.types[0].isTensor && types.types[0].byteSize == 4);
  CHECK(types.types[1].type == 9 && !types.types[1].isTensor && types.types[1].byteSize == 16);
  const char* name = NULL;
  REFUSED(nn->SL_ANeuralNetworksDevice_getVendorExtensionName(device, count, &name),
          ANEURALNETWORKS_BAD_DATA, "of a device with");
  REFUSED(nn->SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(
              device, count, &types, takeType),
          ANEURALNETWORKS_BAD_DATA, "of a device with");
  REFUSED(nn->SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(device, own,
                                                                                    NULL, NULL),
          ANEURALNETWORKS_UNEXPECTED_NULL, "callback is null");
}

// ---- Callbacks ----

// Copies of the infos, because those exist only during the call.
typedef struct {
  int32_t session, error;
  int64_t version;
  uint8_t hash[32];
  char devices[64];
  ANeuralNetworksDiagnosticDataClass inputs, outputs;
  uint64_t nanoseconds;
  bool caching, controlFlow, dynamic;
} CompilationRecord;
typedef struct {
  CompilationRecord common;  // nanoseconds: in the runtime
  ANeuralNetworksDiagnosticExecutionMode mode;
  uint64_t driver, hardware;
} ExecutionRecord;
typedef struct {
  int compilations, executions;
  CompilationRecord compilation;  // the last one
  ExecutionRecord execution;
} Records;

#define COMMON(kind, record)                                                                   \
  (record)->session = nn->SL_ANeuralNetworksDiagnostic##kind##_getSessionId(info);             \
  (record)->version = nn->SL_ANeuralNetworksDiagnostic##kind##_getNnApiVersion(info);          \
  (record)->error = (int32_t)nn->SL_ANeuralNetworksDiagnostic##kind##_getErrorCode(info);      \
  memcpy((record)->hash, nn->SL_ANeuralNetworksDiagnostic##kind##_getModelArchHash(info), 32); \
  snprintf((record)->devices, sizeof(record)->devices, "%s",                                   \
           nn->SL_ANeuralNetworksDiagnostic##kind##_getDeviceIds(info));                       \
  (record)->inputs = nn->SL_ANeuralNetworksDiagnostic##kind##_getInputDataClass(info);         \
  (record)->outputs = nn->SL_ANeuralNetworksDiagnostic##kind##_getOutputDataClass(info);       \
  (record)->caching = nn->SL_ANeuralNetworksDiagnostic##kind##_isCachingEnabled(info);         \
  (record)->controlFlow = nn->SL_ANeuralNetworksDiagnostic##kind##_isControlFlowUsed(info);    \
  (record)->dynamic = nn->SL_ANeuralNetworksDiagnostic##kind##_areDynamicTensorsUsed(info)

static void onCompilation(const void* context,
                          const ANeuralNetworksDiagnosticCompilationInfo* info) {
  Records* const records = (Records*)context;
  ++records->compilations;
  COMMON(CompilationInfo, &records->compilation);
  records->compilation.nanoseconds =
      nn->SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos(info);
}

static void onExecution(const void* context, const ANeuralNetworksDiagnosticExecutionInfo* info) {
  Records* const records = (Records*)context;
  ++records->executions;
  ExecutionRecord* const record = &records->execution;
  COMMON(ExecutionInfo, &record->common);
  record->common.nanoseconds =
      nn->SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos(info);
  record->mode = nn->SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode(info);
  record->driver = nn->SL_ANeuralNetworksDiagnosticExecutionInfo_getDriverExecutionTimeNanos(info);
  record->hardware =
      nn->SL_ANeuralNetworksDiagnosticExecutionInfo_getHardwareExecutionTimeNanos(info);
}

static void checkCommon(const CompilationRecord* record, int32_t error, bool caching) {
  CHECK(record->session != 0);
  CHECK(record->version == ANEURALNETWORKS_FEATURE_LEVEL_8);
  CHECK(record->error == error);
  CHECK(strcmp(record->devices, "sl-device=7") == 0);
  CHECK(record->inputs == ANNDIAG_DATA_CLASS_FLOAT32);
  CHECK(record->outputs == ANNDIAG_DATA_CLASS_FLOAT32);
  CHECK(record->caching == caching && !record->controlFlow && !record->dynamic);
}

// ---- Models ----

static ANeuralNetworksModel* newModel(void) {
  ANeuralNetworksModel* model = NULL;
  MUST(nn->ANeuralNetworksModel_create(&model));
  return model;
}

static void addTensor(ANeuralNetworksModel* model) {
  const uint32_t shape[] = {4};
  const ANeuralNetworksOperandType type = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, shape, 0, 0};
  MUST(nn->ANeuralNetworksModel_addOperand(model, &type));
}

// out = in + weights
static const float kWeights[] = {1, 2, 3, 4};
static ANeuralNetworksModel* sumModel(const float* weights) {
  ANeuralNetworksModel* const model = newModel();
  const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
  const int32_t activation = ANEURALNETWORKS_FUSED_NONE;
  addTensor(model);
  addTensor(model);
  MUST(nn->ANeuralNetworksModel_addOperand(model, &scalar));
  addTensor(model);
  MUST(nn->ANeuralNetworksModel_setOperandValue(model, 1, weights, 16));
  MUST(nn->ANeuralNetworksModel_setOperandValue(model, 2, &activation, sizeof activation));
  const uint32_t inputs[] = {0, 1, 2};
  const uint32_t output = 3;
  MUST(nn->ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, &output));
  MUST(nn->ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, &output));
  MUST(nn->ANeuralNetworksModel_finish(model));
  return model;
}

// out = operation(in)
static ANeuralNetworksModel* unaryModel(int32_t operation) {
  ANeuralNetworksModel* const model = newModel();
  addTensor(model);
  addTensor(model);
  const uint32_t ends[] = {0, 1};
  MUST(nn->ANeuralNetworksModel_addOperation(model, operation, 1, &ends[0], 1, &ends[1]));
  MUST(nn->ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &ends[0], 1, &ends[1]));
  MUST(nn->ANeuralNetworksModel_finish(model));
  return model;
}

static ANeuralNetworksCompilation* compilationOf(ANeuralNetworksModel* model) {
  ANeuralNetworksCompilation* compilation = NULL;
  MUST(nn->ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
  return compilation;
}

static const float kInput[] = {10, 20, 30, 40};
static ANeuralNetworksExecution* executionOf(ANeuralNetworksCompilation* compilation, float* out) {
  ANeuralNetworksExecution* execution = NULL;
  MUST(nn->ANeuralNetworksExecution_create(compilation, &execution));
  MUST(nn->ANeuralNetworksExecution_setInput(execution, 0, NULL, kInput, sizeof kInput));
  MUST(nn->ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, sizeof kInput));
  return execution;
}

static bool isSum(const float* out) {
  return out[0] == 11 && out[1] == 22 && out[2] == 33 && out[3] == 44;
}

// ---- Compilations and executions ----

static void runEveryWay(ANeuralNetworksCompilation* compilation, const Records* records,
                        const uint8_t* hash) {
  float out[4] = {0};
  const ExecutionRecord* const record = &records->execution;
  ANeuralNetworksExecution* execution = executionOf(compilation, out);
  MUST(nn->ANeuralNetworksExecution_setMeasureTiming(execution, true));
  MUST(nn->ANeuralNetworksExecution_compute(execution));
  CHECK(isSum(out) && records->executions == 1);
  checkCommon(&record->common, ANEURALNETWORKS_NO_ERROR, false);
  CHECK(memcmp(record->common.hash, hash, 32) == 0);
  CHECK(record->mode == ANNDIAG_EXECUTION_MODE_SYNC);
  CHECK(record->hardware <= record->driver && record->driver <= record->common.nanoseconds);
  CHECK(record->common.nanoseconds < UINT64_MAX);
  nn->ANeuralNetworksExecution_free(execution);

  ANeuralNetworksBurst* burst = NULL;
  MUST(nn->ANeuralNetworksBurst_create(compilation, &burst));
  memset(out, 0, sizeof out);
  execution = executionOf(compilation, out);
  MUST(nn->ANeuralNetworksExecution_burstCompute(execution, burst));
  CHECK(isSum(out) && records->executions == 2);
  CHECK(record->mode == ANNDIAG_EXECUTION_MODE_BURST && record->driver == UINT64_MAX);
  REFUSED(nn->ANeuralNetworksExecution_burstCompute(execution, burst), ANEURALNETWORKS_BAD_STATE,
          "not reusable");
  CHECK(records->executions == 2);
  nn->ANeuralNetworksExecution_free(execution);
  nn->ANeuralNetworksBurst_free(burst);

  memset(out, 0, sizeof out);
  execution = executionOf(compilation, out);
  ANeuralNetworksEvent* event = NULL;
  MUST(nn->ANeuralNetworksExecution_startComputeWithDependencies(execution, NULL, 0, 0, &event));
  MUST(nn->ANeuralNetworksEvent_wait(event));
  CHECK(isSum(out) && records->executions == 3);
  CHECK(record->mode == ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS);
  CHECK(record->common.nanoseconds == UINT64_MAX);
  nn->ANeuralNetworksEvent_free(event);
  nn->ANeuralNetworksExecution_free(execution);
  REFUSED(level8->ANeuralNetworksExecution_addExtensionAttribute(NULL, "com.acme.sl", 1, NULL, 0),
          ANEURALNETWORKS_UNEXPECTED_NULL, "execution is null");
}

static void checkSuccess(void) {
  Records records;
  memset(&records, 0, sizeof records);
  nn->SL_ANeuralNetworksDiagnostic_registerCallbacks(onCompilation, onExecution, &records);
  ANeuralNetworksModel* const model = sumModel(kWeights);
  ANeuralNetworksCompilation* const compilation = compilationOf(model);
  REFUSED(level8->ANeuralNetworksCompilation_addExtensionAttribute(compilation, NULL, 1, NULL, 0),
          ANEURALNETWORKS_UNEXPECTED_NULL, "extensionName is null");
  CHECK(records.compilations == 0);
  MUST(nn->ANeuralNetworksCompilation_finish(compilation));
  CHECK(records.compilations == 1);
  checkCommon(&records.compilation, ANEURALNETWORKS_NO_ERROR, false);
  CHECK(records.compilation.nanoseconds > 0 && records.compilation.nanoseconds < UINT64_MAX);
  runEveryWay(compilation, &records, records.compilation.hash);
  CHECK(records.execution.common.session == records.compilation.session);
  nn->ANeuralNetworksCompilation_free(compilation);
  nn->ANeuralNetworksModel_free(model);
  CHECK(records.compilations == 1 && records.executions == 3);
  nn->SL_ANeuralNetworksDiagnostic_registerCallbacks(NULL, NULL, NULL);
}

static void checkFailures(void) {
  Records records;
  memset(&records, 0, sizeof records);
  nn->SL_ANeuralNetworksDiagnostic_registerCallbacks(onCompilation, onExecution, &records);
  ANeuralNetworksModel* const refused = unaryModel(ANEURALNETWORKS_NEG);
  ANeuralNetworksModel* const failing = unaryModel(ANEURALNETWORKS_FLOOR);
  ANeuralNetworksCompilation* compilation = compilationOf(refused);
  REFUSED(nn->ANeuralNetworksCompilation_finish(compilation),
          ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT, "no room");
  CHECK(records.compilations == 1);
  checkCommon(&records.compilation, ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT, false);
  CHECK(nn->ANeuralNetworksCompilation_finish(compilation) == ANEURALNETWORKS_BAD_STATE);
  CHECK(records.compilations == 1);
  nn->ANeuralNetworksCompilation_free(compilation);

  uint8_t otherHash[32];
  memcpy(otherHash, records.compilation.hash, sizeof otherHash);
  compilation = compilationOf(failing);
  MUST(nn->ANeuralNetworksCompilation_finish(compilation));
  CHECK(memcmp(otherHash, records.compilation.hash, sizeof otherHash) != 0);
  float out[4] = {0};
  ANeuralNetworksExecution* const execution = executionOf(compilation, out);
  REFUSED(nn->ANeuralNetworksExecution_compute(execution),
          ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT, "busy");
  CHECK(records.compilations == 2 && records.executions == 1);
  checkCommon(&records.execution.common, ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT, false);
  CHECK(records.execution.mode == ANNDIAG_EXECUTION_MODE_SYNC);
  CHECK(records.execution.driver == UINT64_MAX && records.execution.hardware == UINT64_MAX);
  nn->ANeuralNetworksExecution_free(execution);
  nn->ANeuralNetworksCompilation_free(compilation);
  nn->ANeuralNetworksModel_free(refused);
  nn->ANeuralNetworksModel_free(failing);
  nn->SL_ANeuralNetworksDiagnostic_registerCallbacks(NULL, NULL, NULL);
}

// The driver takes one of two operations. A value of unknown size passes between the two.
static void checkTwoDevices(void) {
  Records records;
  memset(&records, 0, sizeof records);
  nn->SL_ANeuralNetworksDiagnostic_registerCallbacks(onCompilation, NULL, &records);
  ANeuralNetworksModel* const model = newModel();
  const uint32_t unknown[] = {0};
  const ANeuralNetworksOperandType between = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, unknown, 0, 0};
  addTensor(model);
  addTensor(model);
  MUST(nn->ANeuralNetworksModel_addOperand(model, &between));
  const uint32_t ends[] = {0, 1, 2};
  MUST(nn->ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_LOGISTIC, 1, &ends[0], 1,
                                             &ends[2]));
  MUST(
      nn->ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_TANH, 1, &ends[2], 1, &ends[1]));
  MUST(nn->ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &ends[0], 1, &ends[1]));
  MUST(nn->ANeuralNetworksModel_finish(model));
  ANeuralNetworksDevice* cpu = NULL;
  MUST(nn->ANeuralNetworks_getDevice(1, &cpu));
  const ANeuralNetworksDevice* const both[] = {device, cpu};
  ANeuralNetworksCompilation* compilation = NULL;
  MUST(nn->ANeuralNetworksCompilation_createForDevices(model, both, 2, &compilation));
  MUST(nn->ANeuralNetworksCompilation_finish(compilation));
  CHECK(records.compilations == 1 && records.compilation.dynamic);
  CHECK(strncmp(records.compilation.devices, "nnapi-reference=", 16) == 0);
  CHECK(strstr(records.compilation.devices, ",sl-device=7") != NULL);
  nn->ANeuralNetworksCompilation_free(compilation);
  nn->ANeuralNetworksModel_free(model);
  nn->SL_ANeuralNetworksDiagnostic_registerCallbacks(NULL, NULL, NULL);
}

// ---- Caching ----

static int openCacheFile(const char* name) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  CHECK(fd >= 0);
  return fd;
}

// Compiles with the cache files, and executes. `state` is the result of the cache in the report.
static void compileCached(const char* state) {
  static const uint8_t kToken[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {5, 6, 7};
  const int modelFiles[] = {openCacheFile("model0"), openCacheFile("model1")};
  const int dataFile = openCacheFile("data0");
  ANeuralNetworksModel* const model = sumModel(kWeights);
  ANeuralNetworksCompilation* const compilation = compilationOf(model);
  REFUSED(nn->SL_ANeuralNetworksCompilation_setCachingFromFds(compilation, modelFiles, 1, &dataFile,
                                                              1, kToken),
          ANEURALNETWORKS_BAD_DATA,
          "SL_ANeuralNetworksCompilation_setCachingFromFds: 1 model and 1 data cache files, "
          "device sl-device needs 2 and 1");
  MUST(nn->SL_ANeuralNetworksCompilation_setCachingFromFds(compilation, modelFiles, 2, &dataFile, 1,
                                                           kToken));
  // The compilation has duplicates.
  close(modelFiles[0]);
  close(modelFiles[1]);
  close(dataFile);
  Records records;
  memset(&records, 0, sizeof records);
  nn->SL_ANeuralNetworksDiagnostic_registerCallbacks(onCompilation, onExecution, &records);
  MUST(nn->ANeuralNetworksCompilation_finish(compilation));
  checkCommon(&records.compilation, ANEURALNETWORKS_NO_ERROR, true);
  float out[4] = {0};
  ANeuralNetworksExecution* const execution = executionOf(compilation, out);
  MUST(nn->ANeuralNetworksExecution_compute(execution));
  CHECK(isSum(out) && records.executions == 1);
  checkCommon(&records.execution.common, ANEURALNETWORKS_NO_ERROR, true);
  nn->SL_ANeuralNetworksDiagnostic_registerCallbacks(NULL, NULL, NULL);
  char* report = NULL;
  MUST(reportOf(compilation, &report));
  if (report != NULL && strstr(report, state) == NULL) {
    printf("FAILED: the report has no %s:\n%s\n", state, report);
    ++failures;
  }
  free(report);
  nn->ANeuralNetworksExecution_free(execution);
  nn->ANeuralNetworksCompilation_free(compilation);
  nn->ANeuralNetworksModel_free(model);
}

static void checkCaching(void) {
  uint32_t models = 9;
  uint32_t data = 9;
  MUST(nn->SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(device, &models, &data));
  CHECK(models == 2 && data == 1);
  REFUSED(nn->SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(NULL, &models, &data),
          ANEURALNETWORKS_UNEXPECTED_NULL, "device is null");
  CHECK(models == 0 && data == 0);
  compileCached("\"state\": \"miss\"");
  compileCached("\"state\": \"hit\"");
}

int main(int argc, char** argv) {
  if (argc != 3) {
    printf("usage: %s LIBRARY REFERENCE_DRIVER\n", argv[0]);
    return 2;
  }
  describeDriver(argv[2]);
  if (openTable(argv[1]) == NULL) return 1;
  findDevice();
  checkFigures();
  checkExtensions();
  checkSuccess();
  checkFailures();
  checkTwoDevices();
  checkCaching();
  removeFolder();
  printf("support_library_test: %d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
