// SPDX-License-Identifier: Apache-2.0
//
// Checks the binary interface of the public headers, compiled as C99. It checks the value of each
// enumerator, the layout of each structure and the prototype of each function. The literals below
// come from the specification, not from the headers. Never change one of them to make this test
// pass. The test needs no library.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "android/NeuralNetworks.h"
#include "android/NeuralNetworksExperimentalFeatures.h"
#include "android/NeuralNetworksExtensions.h"
#include "android/NeuralNetworksOEM.h"
#include "android/NeuralNetworksTypes.h"

// ---- Prototypes: a second declaration with other types is a compile error. ----
// NOLINTBEGIN(readability-redundant-declaration)
int64_t ANeuralNetworks_getRuntimeFeatureLevel(void);
int ANeuralNetworks_getDeviceCount(uint32_t* numDevices);
int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice** device);
int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice* device, const char** name);
int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice* device, const char** version);
int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice* device, int32_t* type);
int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice* device,
                                          int64_t* featureLevel);
int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice* device);
uint64_t ANeuralNetworks_getDefaultLoopTimeout(void);
uint64_t ANeuralNetworks_getMaximumLoopTimeout(void);
int ANeuralNetworksModel_getSupportedOperationsForDevices(
    const ANeuralNetworksModel* model, const ANeuralNetworksDevice* const* devices,
    uint32_t numDevices, bool* supportedOps);
int ANeuralNetworksModel_create(ANeuralNetworksModel** model);
void ANeuralNetworksModel_free(ANeuralNetworksModel* model);
int ANeuralNetworksModel_finish(ANeuralNetworksModel* model);
int ANeuralNetworksModel_addOperand(ANeuralNetworksModel* model,
                                    const ANeuralNetworksOperandType* type);
int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel* model, int32_t index,
                                         const void* buffer, size_t length);
int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
    ANeuralNetworksModel* model, int32_t index,
    const ANeuralNetworksSymmPerChannelQuantParams* channelQuant);
int ANeuralNetworksModel_setOperandValueFromMemory(ANeuralNetworksModel* model, int32_t index,
                                                   const ANeuralNetworksMemory* memory,
                                                   size_t offset, size_t length);
int ANeuralNetworksModel_setOperandValueFromModel(ANeuralNetworksModel* model, int32_t index,
                                                  const ANeuralNetworksModel* value);
int ANeuralNetworksModel_addOperation(ANeuralNetworksModel* model,
                                      ANeuralNetworksOperationType type, uint32_t inputCount,
                                      const uint32_t* inputs, uint32_t outputCount,
                                      const uint32_t* outputs);
int ANeuralNetworksModel_identifyInputsAndOutputs(ANeuralNetworksModel* model, uint32_t inputCount,
                                                  const uint32_t* inputs, uint32_t outputCount,
                                                  const uint32_t* outputs);
int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel* model, bool allow);
int ANeuralNetworksCompilation_create(ANeuralNetworksModel* model,
                                      ANeuralNetworksCompilation** compilation);
int ANeuralNetworksCompilation_createForDevices(ANeuralNetworksModel* model,
                                                const ANeuralNetworksDevice* const* devices,
                                                uint32_t numDevices,
                                                ANeuralNetworksCompilation** compilation);
void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation* compilation);
int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation* compilation,
                                             int32_t preference);
int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation* compilation,
                                          const char* cacheDir, const uint8_t* token);
int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation* compilation, int priority);
int ANeuralNetworksCompilation_setTimeout(ANeuralNetworksCompilation* compilation,
                                          uint64_t duration);
int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation* compilation);
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment);
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding);
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment);
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding);
int ANeuralNetworksExecution_create(ANeuralNetworksCompilation* compilation,
                                    ANeuralNetworksExecution** execution);
void ANeuralNetworksExecution_free(ANeuralNetworksExecution* execution);
int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution* execution, bool reusable);
int ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution* execution,
                                                         bool enable);
int ANeuralNetworksExecution_setInput(ANeuralNetworksExecution* execution, int32_t index,
                                      const ANeuralNetworksOperandType* type, const void* buffer,
                                      size_t length);
int ANeuralNetworksExecution_setInputFromMemory(ANeuralNetworksExecution* execution, int32_t index,
                                                const ANeuralNetworksOperandType* type,
                                                const ANeuralNetworksMemory* memory, size_t offset,
                                                size_t length);
int ANeuralNetworksExecution_setOutput(ANeuralNetworksExecution* execution, int32_t index,
                                       const ANeuralNetworksOperandType* type, void* buffer,
                                       size_t length);
int ANeuralNetworksExecution_setOutputFromMemory(ANeuralNetworksExecution* execution, int32_t index,
                                                 const ANeuralNetworksOperandType* type,
                                                 const ANeuralNetworksMemory* memory, size_t offset,
                                                 size_t length);
int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution* execution, uint64_t duration);
int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution* execution, bool measure);
int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution* execution, uint64_t duration);
int ANeuralNetworksExecution_compute(ANeuralNetworksExecution* execution);
int ANeuralNetworksExecution_startCompute(ANeuralNetworksExecution* execution,
                                          ANeuralNetworksEvent** event);
int ANeuralNetworksExecution_startComputeWithDependencies(
    ANeuralNetworksExecution* execution, const ANeuralNetworksEvent* const* dependencies,
    uint32_t num_dependencies, uint64_t duration, ANeuralNetworksEvent** event);
int ANeuralNetworksExecution_burstCompute(ANeuralNetworksExecution* execution,
                                          ANeuralNetworksBurst* burst);
int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution* execution,
                                                  int32_t index, uint32_t* rank);
int ANeuralNetworksExecution_getOutputOperandDimensions(ANeuralNetworksExecution* execution,
                                                        int32_t index, uint32_t* dimensions);
int ANeuralNetworksExecution_getDuration(const ANeuralNetworksExecution* execution,
                                         int32_t durationCode, uint64_t* duration);
int ANeuralNetworksEvent_wait(ANeuralNetworksEvent* event);
void ANeuralNetworksEvent_free(ANeuralNetworksEvent* event);
int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent** event);
int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent* event, int* sync_fence_fd);
int ANeuralNetworksBurst_create(ANeuralNetworksCompilation* compilation,
                                ANeuralNetworksBurst** burst);
void ANeuralNetworksBurst_free(ANeuralNetworksBurst* burst);
int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset,
                                       ANeuralNetworksMemory** memory);
int ANeuralNetworksMemory_createFromAHardwareBuffer(const AHardwareBuffer* ahwb,
                                                    ANeuralNetworksMemory** memory);
int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc* desc,
                                         ANeuralNetworksMemory** memory);
int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory* src, const ANeuralNetworksMemory* dst);
void ANeuralNetworksMemory_free(ANeuralNetworksMemory* memory);
int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc** desc);
void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc* desc);
int ANeuralNetworksMemoryDesc_addInputRole(ANeuralNetworksMemoryDesc* desc,
                                           const ANeuralNetworksCompilation* compilation,
                                           uint32_t index, float frequency);
int ANeuralNetworksMemoryDesc_addOutputRole(ANeuralNetworksMemoryDesc* desc,
                                            const ANeuralNetworksCompilation* compilation,
                                            uint32_t index, float frequency);
int ANeuralNetworksMemoryDesc_setDimensions(ANeuralNetworksMemoryDesc* desc, uint32_t rank,
                                            const uint32_t* dimensions);
int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc* desc);
int ANeuralNetworksDevice_getExtensionSupport(const ANeuralNetworksDevice* device,
                                              const char* extensionName,
                                              bool* isExtensionSupported);
int ANeuralNetworksModel_getExtensionOperandType(ANeuralNetworksModel* model,
                                                 const char* extensionName,
                                                 uint16_t operandCodeWithinExtension,
                                                 int32_t* type);
int ANeuralNetworksModel_getExtensionOperationType(ANeuralNetworksModel* model,
                                                   const char* extensionName,
                                                   uint16_t operationCodeWithinExtension,
                                                   ANeuralNetworksOperationType* type);
int ANeuralNetworksModel_setOperandExtensionData(ANeuralNetworksModel* model, int32_t index,
                                                 const void* data, size_t length);
int ANeuralNetworksCompilation_addExtensionAttribute(ANeuralNetworksCompilation* compilation,
                                                     const char* extensionName,
                                                     uint16_t attributeCodeWithinExtension,
                                                     const void* data, size_t length);
int ANeuralNetworksExecution_addExtensionAttribute(ANeuralNetworksExecution* execution,
                                                   const char* extensionName,
                                                   uint16_t attributeCodeWithinExtension,
                                                   const void* data, size_t length);
// NOLINTEND(readability-redundant-declaration)

// ---- Values ----
typedef struct Value {
  const char* name;
  long long actual;
  long long expected;
} Value;

#define HALYARD_VALUE(name, expected) \
  { "ANEURALNETWORKS_" #name, ANEURALNETWORKS_##name, expected }

// clang-format off
static const Value kValues[] = {
    // ResultCode
    HALYARD_VALUE(NO_ERROR, 0),
    HALYARD_VALUE(OUT_OF_MEMORY, 1),
    HALYARD_VALUE(INCOMPLETE, 2),
    HALYARD_VALUE(UNEXPECTED_NULL, 3),
    HALYARD_VALUE(BAD_DATA, 4),
    HALYARD_VALUE(OP_FAILED, 5),
    HALYARD_VALUE(BAD_STATE, 6),
    HALYARD_VALUE(UNMAPPABLE, 7),
    HALYARD_VALUE(OUTPUT_INSUFFICIENT_SIZE, 8),
    HALYARD_VALUE(UNAVAILABLE_DEVICE, 9),
    HALYARD_VALUE(MISSED_DEADLINE_TRANSIENT, 10),
    HALYARD_VALUE(MISSED_DEADLINE_PERSISTENT, 11),
    HALYARD_VALUE(RESOURCE_EXHAUSTED_TRANSIENT, 12),
    HALYARD_VALUE(RESOURCE_EXHAUSTED_PERSISTENT, 13),
    HALYARD_VALUE(DEAD_OBJECT, 14),
    // FuseCode
    HALYARD_VALUE(FUSED_NONE, 0),
    HALYARD_VALUE(FUSED_RELU, 1),
    HALYARD_VALUE(FUSED_RELU1, 2),
    HALYARD_VALUE(FUSED_RELU6, 3),
    // PaddingCode
    HALYARD_VALUE(PADDING_SAME, 1),
    HALYARD_VALUE(PADDING_VALID, 2),
    // PreferenceCode
    HALYARD_VALUE(PREFER_LOW_POWER, 0),
    HALYARD_VALUE(PREFER_FAST_SINGLE_ANSWER, 1),
    HALYARD_VALUE(PREFER_SUSTAINED_SPEED, 2),
    // DeviceTypeCode
    HALYARD_VALUE(DEVICE_UNKNOWN, 0),
    HALYARD_VALUE(DEVICE_OTHER, 1),
    HALYARD_VALUE(DEVICE_CPU, 2),
    HALYARD_VALUE(DEVICE_GPU, 3),
    HALYARD_VALUE(DEVICE_ACCELERATOR, 4),
    // FeatureLevelCode
    HALYARD_VALUE(FEATURE_LEVEL_1, 27),
    HALYARD_VALUE(FEATURE_LEVEL_2, 28),
    HALYARD_VALUE(FEATURE_LEVEL_3, 29),
    HALYARD_VALUE(FEATURE_LEVEL_4, 30),
    HALYARD_VALUE(FEATURE_LEVEL_5, 31),
    HALYARD_VALUE(FEATURE_LEVEL_6, 1000006),
    HALYARD_VALUE(FEATURE_LEVEL_7, 1000007),
    HALYARD_VALUE(FEATURE_LEVEL_8, 1000008),
    // ExperimentalFeatureLevelCode
    HALYARD_VALUE(FEATURE_LEVEL_EXPERIMENTAL, 0x7FFFFFFF),
    // DurationCode
    HALYARD_VALUE(DURATION_ON_HARDWARE, 0),
    HALYARD_VALUE(DURATION_IN_DRIVER, 1),
    HALYARD_VALUE(FENCED_DURATION_ON_HARDWARE, 2),
    HALYARD_VALUE(FENCED_DURATION_IN_DRIVER, 3),
    // PriorityCode
    HALYARD_VALUE(PRIORITY_LOW, 90),
    HALYARD_VALUE(PRIORITY_MEDIUM, 100),
    HALYARD_VALUE(PRIORITY_HIGH, 110),
    HALYARD_VALUE(PRIORITY_DEFAULT, 100),
    // OperandCode
    HALYARD_VALUE(FLOAT32, 0),
    HALYARD_VALUE(INT32, 1),
    HALYARD_VALUE(UINT32, 2),
    HALYARD_VALUE(TENSOR_FLOAT32, 3),
    HALYARD_VALUE(TENSOR_INT32, 4),
    HALYARD_VALUE(TENSOR_QUANT8_ASYMM, 5),
    HALYARD_VALUE(BOOL, 6),
    HALYARD_VALUE(TENSOR_QUANT16_SYMM, 7),
    HALYARD_VALUE(TENSOR_FLOAT16, 8),
    HALYARD_VALUE(TENSOR_BOOL8, 9),
    HALYARD_VALUE(FLOAT16, 10),
    HALYARD_VALUE(TENSOR_QUANT8_SYMM_PER_CHANNEL, 11),
    HALYARD_VALUE(TENSOR_QUANT16_ASYMM, 12),
    HALYARD_VALUE(TENSOR_QUANT8_SYMM, 13),
    HALYARD_VALUE(TENSOR_QUANT8_ASYMM_SIGNED, 14),
    HALYARD_VALUE(MODEL, 15),
    // OperationCode
    HALYARD_VALUE(ADD, 0),
    HALYARD_VALUE(AVERAGE_POOL_2D, 1),
    HALYARD_VALUE(CONCATENATION, 2),
    HALYARD_VALUE(CONV_2D, 3),
    HALYARD_VALUE(DEPTHWISE_CONV_2D, 4),
    HALYARD_VALUE(DEPTH_TO_SPACE, 5),
    HALYARD_VALUE(DEQUANTIZE, 6),
    HALYARD_VALUE(EMBEDDING_LOOKUP, 7),
    HALYARD_VALUE(FLOOR, 8),
    HALYARD_VALUE(FULLY_CONNECTED, 9),
    HALYARD_VALUE(HASHTABLE_LOOKUP, 10),
    HALYARD_VALUE(L2_NORMALIZATION, 11),
    HALYARD_VALUE(L2_POOL_2D, 12),
    HALYARD_VALUE(LOCAL_RESPONSE_NORMALIZATION, 13),
    HALYARD_VALUE(LOGISTIC, 14),
    HALYARD_VALUE(LSH_PROJECTION, 15),
    HALYARD_VALUE(LSTM, 16),
    HALYARD_VALUE(MAX_POOL_2D, 17),
    HALYARD_VALUE(MUL, 18),
    HALYARD_VALUE(RELU, 19),
    HALYARD_VALUE(RELU1, 20),
    HALYARD_VALUE(RELU6, 21),
    HALYARD_VALUE(RESHAPE, 22),
    HALYARD_VALUE(RESIZE_BILINEAR, 23),
    HALYARD_VALUE(RNN, 24),
    HALYARD_VALUE(SOFTMAX, 25),
    HALYARD_VALUE(SPACE_TO_DEPTH, 26),
    HALYARD_VALUE(SVDF, 27),
    HALYARD_VALUE(TANH, 28),
    HALYARD_VALUE(BATCH_TO_SPACE_ND, 29),
    HALYARD_VALUE(DIV, 30),
    HALYARD_VALUE(MEAN, 31),
    HALYARD_VALUE(PAD, 32),
    HALYARD_VALUE(SPACE_TO_BATCH_ND, 33),
    HALYARD_VALUE(SQUEEZE, 34),
    HALYARD_VALUE(STRIDED_SLICE, 35),
    HALYARD_VALUE(SUB, 36),
    HALYARD_VALUE(TRANSPOSE, 37),
    HALYARD_VALUE(ABS, 38),
    HALYARD_VALUE(ARGMAX, 39),
    HALYARD_VALUE(ARGMIN, 40),
    HALYARD_VALUE(AXIS_ALIGNED_BBOX_TRANSFORM, 41),
    HALYARD_VALUE(BIDIRECTIONAL_SEQUENCE_LSTM, 42),
    HALYARD_VALUE(BIDIRECTIONAL_SEQUENCE_RNN, 43),
    HALYARD_VALUE(BOX_WITH_NMS_LIMIT, 44),
    HALYARD_VALUE(CAST, 45),
    HALYARD_VALUE(CHANNEL_SHUFFLE, 46),
    HALYARD_VALUE(DETECTION_POSTPROCESSING, 47),
    HALYARD_VALUE(EQUAL, 48),
    HALYARD_VALUE(EXP, 49),
    HALYARD_VALUE(EXPAND_DIMS, 50),
    HALYARD_VALUE(GATHER, 51),
    HALYARD_VALUE(GENERATE_PROPOSALS, 52),
    HALYARD_VALUE(GREATER, 53),
    HALYARD_VALUE(GREATER_EQUAL, 54),
    HALYARD_VALUE(GROUPED_CONV_2D, 55),
    HALYARD_VALUE(HEATMAP_MAX_KEYPOINT, 56),
    HALYARD_VALUE(INSTANCE_NORMALIZATION, 57),
    HALYARD_VALUE(LESS, 58),
    HALYARD_VALUE(LESS_EQUAL, 59),
    HALYARD_VALUE(LOG, 60),
    HALYARD_VALUE(LOGICAL_AND, 61),
    HALYARD_VALUE(LOGICAL_NOT, 62),
    HALYARD_VALUE(LOGICAL_OR, 63),
    HALYARD_VALUE(LOG_SOFTMAX, 64),
    HALYARD_VALUE(MAXIMUM, 65),
    HALYARD_VALUE(MINIMUM, 66),
    HALYARD_VALUE(NEG, 67),
    HALYARD_VALUE(NOT_EQUAL, 68),
    HALYARD_VALUE(PAD_V2, 69),
    HALYARD_VALUE(POW, 70),
    HALYARD_VALUE(PRELU, 71),
    HALYARD_VALUE(QUANTIZE, 72),
    HALYARD_VALUE(QUANTIZED_16BIT_LSTM, 73),
    HALYARD_VALUE(RANDOM_MULTINOMIAL, 74),
    HALYARD_VALUE(REDUCE_ALL, 75),
    HALYARD_VALUE(REDUCE_ANY, 76),
    HALYARD_VALUE(REDUCE_MAX, 77),
    HALYARD_VALUE(REDUCE_MIN, 78),
    HALYARD_VALUE(REDUCE_PROD, 79),
    HALYARD_VALUE(REDUCE_SUM, 80),
    HALYARD_VALUE(ROI_ALIGN, 81),
    HALYARD_VALUE(ROI_POOLING, 82),
    HALYARD_VALUE(RSQRT, 83),
    HALYARD_VALUE(SELECT, 84),
    HALYARD_VALUE(SIN, 85),
    HALYARD_VALUE(SLICE, 86),
    HALYARD_VALUE(SPLIT, 87),
    HALYARD_VALUE(SQRT, 88),
    HALYARD_VALUE(TILE, 89),
    HALYARD_VALUE(TOPK_V2, 90),
    HALYARD_VALUE(TRANSPOSE_CONV_2D, 91),
    HALYARD_VALUE(UNIDIRECTIONAL_SEQUENCE_LSTM, 92),
    HALYARD_VALUE(UNIDIRECTIONAL_SEQUENCE_RNN, 93),
    HALYARD_VALUE(RESIZE_NEAREST_NEIGHBOR, 94),
    HALYARD_VALUE(QUANTIZED_LSTM, 95),
    HALYARD_VALUE(IF, 96),
    HALYARD_VALUE(WHILE, 97),
    HALYARD_VALUE(ELU, 98),
    HALYARD_VALUE(HARD_SWISH, 99),
    HALYARD_VALUE(FILL, 100),
    HALYARD_VALUE(RANK, 101),
    HALYARD_VALUE(BATCH_MATMUL, 102),
    HALYARD_VALUE(PACK, 103),
    HALYARD_VALUE(MIRROR_PAD, 104),
    HALYARD_VALUE(REVERSE, 105),
    // OEMOperationCode
    HALYARD_VALUE(OEM_OPERATION, 10000),
    // OEMOperandCode
    HALYARD_VALUE(OEM_SCALAR, 10000),
    HALYARD_VALUE(TENSOR_OEM_BYTE, 10001),
    // constants
    HALYARD_VALUE(MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES, 128),
    HALYARD_VALUE(BYTE_SIZE_OF_CACHE_TOKEN, 32),
};
// clang-format on

// ---- Layout: P is the size of a pointer. ----
#define HALYARD_P sizeof(void*)
#define HALYARD_ALIGNMENT(type) \
  offsetof(                     \
      struct {                  \
        char c;                 \
        type t;                 \
      },                        \
      t)
#define HALYARD_SIZE(type, expected) \
  { "sizeof(" #type ")", (long long)sizeof(type), expected }
#define HALYARD_ALIGN(type, expected) \
  { "alignment of " #type, (long long)HALYARD_ALIGNMENT(type), expected }
#define HALYARD_OFFSET(type, field, expected) \
  { "offset of " #type "." #field, (long long)offsetof(type, field), expected }
#define HALYARD_FIELD_SIZE(type, field, expected) \
  { "size of " #type "." #field, (long long)sizeof(((type*)0)->field), expected }
#define HALYARD_CHECK(condition) \
  { #condition, (condition) ? 1 : 0, 1 }

static const Value kLayout[] = {
    HALYARD_SIZE(ANeuralNetworksOperandType, 16 + HALYARD_P),
    HALYARD_ALIGN(ANeuralNetworksOperandType, HALYARD_P),
    HALYARD_OFFSET(ANeuralNetworksOperandType, type, 0),
    HALYARD_OFFSET(ANeuralNetworksOperandType, dimensionCount, 4),
    HALYARD_OFFSET(ANeuralNetworksOperandType, dimensions, 8),
    HALYARD_OFFSET(ANeuralNetworksOperandType, scale, 8 + HALYARD_P),
    HALYARD_OFFSET(ANeuralNetworksOperandType, zeroPoint, 12 + HALYARD_P),
    HALYARD_FIELD_SIZE(ANeuralNetworksOperandType, type, 4),
    HALYARD_FIELD_SIZE(ANeuralNetworksOperandType, dimensionCount, 4),
    HALYARD_FIELD_SIZE(ANeuralNetworksOperandType, dimensions, HALYARD_P),
    HALYARD_FIELD_SIZE(ANeuralNetworksOperandType, scale, 4),
    HALYARD_FIELD_SIZE(ANeuralNetworksOperandType, zeroPoint, 4),
    HALYARD_SIZE(ANeuralNetworksSymmPerChannelQuantParams, 8 + HALYARD_P),
    HALYARD_ALIGN(ANeuralNetworksSymmPerChannelQuantParams, HALYARD_P),
    HALYARD_OFFSET(ANeuralNetworksSymmPerChannelQuantParams, channelDim, 0),
    HALYARD_OFFSET(ANeuralNetworksSymmPerChannelQuantParams, scaleCount, 4),
    HALYARD_OFFSET(ANeuralNetworksSymmPerChannelQuantParams, scales, 8),
    HALYARD_FIELD_SIZE(ANeuralNetworksSymmPerChannelQuantParams, channelDim, 4),
    HALYARD_FIELD_SIZE(ANeuralNetworksSymmPerChannelQuantParams, scaleCount, 4),
    HALYARD_FIELD_SIZE(ANeuralNetworksSymmPerChannelQuantParams, scales, HALYARD_P),
    HALYARD_SIZE(ANeuralNetworksOperationType, 4),
    HALYARD_CHECK((ANeuralNetworksOperationType)-1 < 0),
    HALYARD_SIZE(bool, 1),
    HALYARD_SIZE(ResultCode, 4),
    HALYARD_SIZE(FuseCode, 4),
    HALYARD_SIZE(PaddingCode, 4),
    HALYARD_SIZE(PreferenceCode, 4),
    HALYARD_SIZE(DeviceTypeCode, 4),
    HALYARD_SIZE(FeatureLevelCode, 4),
    HALYARD_SIZE(ExperimentalFeatureLevelCode, 4),
    HALYARD_SIZE(DurationCode, 4),
    HALYARD_SIZE(PriorityCode, 4),
    HALYARD_SIZE(OperandCode, 4),
    HALYARD_SIZE(OperationCode, 4),
    HALYARD_SIZE(OEMOperationCode, 4),
    HALYARD_SIZE(OEMOperandCode, 4),
};

// The compiler reports a field of another type than specified, even if it has the same size.
static const uint32_t kDimensions[] = {2, 3};
static const float kScales[] = {0.5f, 0.25f};

static int checkFields(void) {
  ANeuralNetworksOperandType operand = {-7, 2u, kDimensions, 0.5f, -128};
  ANeuralNetworksSymmPerChannelQuantParams params = {0u, 2u, kScales};
  int32_t* type = &operand.type;
  uint32_t* dimensionCount = &operand.dimensionCount;
  const uint32_t** dimensions = &operand.dimensions;
  float* scale = &operand.scale;
  int32_t* zeroPoint = &operand.zeroPoint;
  uint32_t* channelDim = &params.channelDim;
  uint32_t* scaleCount = &params.scaleCount;
  const float** scales = &params.scales;
  if (*type == -7 && *dimensionCount == 2 && (*dimensions)[1] == 3 && *scale == 0.5f &&
      *zeroPoint == -128 && *channelDim == 0 && *scaleCount == 2 && (*scales)[1] == 0.25f) {
    return 0;
  }
  printf("FAILED: a positional initialiser does not reach the fields in the specified order\n");
  return 1;
}

static int checkTable(const Value* values, size_t count) {
  int failures = 0;
  for (size_t i = 0; i < count; ++i) {
    if (values[i].actual != values[i].expected) {
      printf("FAILED: %s is %lld, must be %lld\n", values[i].name, values[i].actual,
             values[i].expected);
      ++failures;
    }
  }
  return failures;
}

int main(void) {
  const size_t valueCount = sizeof(kValues) / sizeof(kValues[0]);
  const size_t layoutCount = sizeof(kLayout) / sizeof(kLayout[0]);
  const int failures =
      checkTable(kValues, valueCount) + checkTable(kLayout, layoutCount) + checkFields();
  const int checks = (int)(valueCount + layoutCount) + 1;
  printf("abi_layout_test: %d passed, %d failed\n", checks - failures, failures);
  return failures == 0 ? 0 : 1;
}
