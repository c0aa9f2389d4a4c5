// The layouts of TensorFlow Lite's delegate interface, as far as the delegate uses it.
//
// They hold for 64-bit processors, and for all versions from tflite-runtime 2.14 to LiteRT 2.3. No
// structure has a version, so checkLayout() examines the fields.
//
// Thread safety: plain data. Ownership: each field names an owner other than the interpreter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace halyard::tflite {

enum class LiteStatus : int32_t { OK = 0, ERROR = 1, DELEGATE_ERROR = 2 };

enum class LiteType : int32_t {
  NONE = 0,
  FLOAT32 = 1,
  INT32 = 2,
  UINT8 = 3,
  INT64 = 4,
  STRING = 5,
  BOOL = 6,
  INT16 = 7,
  COMPLEX64 = 8,
  INT8 = 9,
  FLOAT16 = 10,
  FLOAT64 = 11,
  COMPLEX128 = 12,
  UINT64 = 13,
  RESOURCE = 14,
  VARIANT = 15,
  UINT32 = 16,
  UINT16 = 17,
  INT4 = 18,
};

enum class Allocation : int32_t {
  NONE = 0,
  CONSTANT = 1,  // in the model's file, or elsewhere in memory that nothing writes
  ARENA = 2,
  PERSISTENT_ARENA = 3,  // keeps its value between executions
  DYNAMIC = 4,           // gets its size during an execution
  PERSISTENT_CONSTANT = 5,
  CUSTOM = 6,
  VARIANT_OBJECT = 7,
};

enum class QuantizationKind : int32_t { NONE = 0, AFFINE = 1 };

// The index of an omitted input.
inline constexpr int32_t kOmittedTensor = -1;
inline constexpr int32_t kNoBufferHandle = -1;
inline constexpr int32_t kCustomOperator = 32;
inline constexpr int32_t kDelegateOperator = 51;
// Flags of a delegate.
inline constexpr int64_t kAllowsDynamicTensors = 1;
inline constexpr int64_t kNeedsPropagatedShapes = 2;

// A length, followed by as many elements. malloc and free manage it.
template <typename T>
struct LiteArray {
  int32_t size;

  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(this + 1), static_cast<size_t>(size)};
  }
};
using IntArray = LiteArray<int32_t>;
using FloatArray = LiteArray<float>;

struct QuantizationParams {
  float scale;
  int32_t zeroPoint;
};

struct AffineQuantization {
  const FloatArray* scale;
  const IntArray* zeroPoint;  // one for each scale, or one for all
  int32_t dimension;
};

struct Quantization {
  QuantizationKind kind;
  const void* params;  // AffineQuantization if `kind` is AFFINE
};

struct LiteDelegate;

// The sparse form of a constant, as in import/tflite/sparsity.h.
struct LiteSparseLevel {
  int32_t format;  // 0: dense
  int32_t size;
  IntArray* segments;
  IntArray* indices;
};
struct LiteSparsity {
  IntArray* order;
  IntArray* blocks;
  LiteSparseLevel* levels;
  int32_t levelCount;
};

struct LiteTensor {
  LiteType type;
  void* data;  // null until the interpreter has allocated the tensor
  IntArray* dims;
  QuantizationParams params;
  Allocation allocation;
  size_t bytes;
  const void* source;
  const char* name;  // may be null
  LiteDelegate* delegate;
  int32_t bufferHandle;
  bool dataIsStale;
  bool isVariable;
  Quantization quantization;
  const LiteSparsity* sparsity;   // null: dense. `bytes` is then the size of the kept elements
  const IntArray* dimsSignature;  // -1: unknown; null or empty if all dimensions are known
};

// The dimensions of a tensor; none for a scalar, and for a tensor that has no list.
inline std::span<const int32_t> dimsOf(const LiteTensor& tensor) {
  return tensor.dims == nullptr ? std::span<const int32_t>() : tensor.dims->values();
}

struct LiteNode {
  const IntArray* inputs;
  const IntArray* outputs;
  const IntArray* intermediates;
  const IntArray* temporaries;
  void* userData;
  const void* builtinData;
  const void* customData;
  int32_t customDataSize;
  LiteDelegate* delegate;
  bool mayHaveSideEffect;
};

struct LiteContext;

struct LiteRegistration {
  void* (*init)(LiteContext*, const char* buffer, size_t length);
  void (*free)(LiteContext*, void* userData);
  LiteStatus (*prepare)(LiteContext*, LiteNode*);
  LiteStatus (*invoke)(LiteContext*, LiteNode*);
  const char* (*profilingText)(const LiteContext*, const LiteNode*);
  int32_t builtinCode;
  const char* customName;
  int32_t version;
  void* external;  // the interpreter follows it unless it is null
  void* (*asyncKernel)(LiteContext*, LiteNode*);
  uint64_t inPlace;
};

struct LiteDelegate {
  void* data;
  LiteStatus (*prepare)(LiteContext*, LiteDelegate*);
  LiteStatus (*copyFromBufferHandle)(LiteContext*, LiteDelegate*, int32_t, LiteTensor*);
  LiteStatus (*copyToBufferHandle)(LiteContext*, LiteDelegate*, int32_t, LiteTensor*);
  void (*freeBufferHandle)(LiteContext*, LiteDelegate*, int32_t*);
  int64_t flags;
  void* opaqueBuilder;
};

// The nodes that a kernel of the delegate replaces. The interpreter owns it as long as the kernel's
// node.
struct DelegateParams {
  LiteDelegate* delegate;
  const IntArray* nodes;    // in the order of execution
  const IntArray* inputs;   // also the constants that the nodes read
  const IntArray* outputs;  // tensors that something outside reads
};

struct LiteContext {
  size_t tensorCount;
  LiteStatus (*getExecutionPlan)(LiteContext*, const IntArray** plan);
  LiteTensor* tensors;  // moves when the interpreter adds tensors
  void* implementation;
  LiteStatus (*resizeTensor)(LiteContext*, LiteTensor*, IntArray* dims);  // takes `dims`
  void (*reportError)(LiteContext*, const char* format, ...);
  LiteStatus (*addTensors)(LiteContext*, int32_t count, int32_t* first);
  LiteStatus (*getNode)(LiteContext*, int32_t node, LiteNode**, LiteRegistration**);
  LiteStatus (*replaceNodes)(LiteContext*, LiteRegistration, const IntArray* nodes, LiteDelegate*);
  int32_t recommendedThreads;
  void* (*getExternalContext)(LiteContext*, int32_t);
  void (*setExternalContext)(LiteContext*, int32_t, void*);
  bool allowsFloat16;
  void* profiler;
  void* unused[5];  // functions of the interpreter for microcontrollers
  LiteStatus (*previewPartitions)(LiteContext*, const IntArray* nodes, DelegateParams** partitions,
                                  int32_t* count);
  void* alsoUnused[2];
  LiteStatus (*getMetadata)(const LiteContext*, const char* name, const char** data, size_t* size);
  // The context of another graph of the interpreter, until the second function.
  LiteStatus (*acquireGraph)(LiteContext*, int32_t graph, LiteContext**);
  LiteStatus (*releaseGraph)(LiteContext*, int32_t graph);
};

static_assert(sizeof(void*) == 8, "the layouts are those of 64-bit processors");
static_assert(sizeof(LiteTensor) == 112 && sizeof(LiteNode) == 80);
static_assert(sizeof(LiteRegistration) == 88 && sizeof(LiteDelegate) == 56);
static_assert(sizeof(DelegateParams) == 32 && sizeof(AffineQuantization) == 24);
static_assert(offsetof(LiteTensor, params) == 24 && offsetof(LiteTensor, allocation) == 32);
static_assert(offsetof(LiteTensor, name) == 56 && offsetof(LiteTensor, bufferHandle) == 72);
static_assert(offsetof(LiteTensor, isVariable) == 77 && offsetof(LiteTensor, quantization) == 80);
static_assert(offsetof(LiteTensor, sparsity) == 96 && offsetof(LiteTensor, dimsSignature) == 104);
static_assert(sizeof(LiteSparsity) == 32 && sizeof(LiteSparseLevel) == 24);
static_assert(offsetof(LiteNode, builtinData) == 40 && offsetof(LiteNode, customDataSize) == 56);
static_assert(offsetof(LiteNode, delegate) == 64 && offsetof(LiteNode, mayHaveSideEffect) == 72);
static_assert(offsetof(LiteRegistration, builtinCode) == 40);
static_assert(offsetof(LiteRegistration, version) == 56);
static_assert(offsetof(LiteRegistration, external) == 64);
static_assert(offsetof(LiteDelegate, flags) == 40 && offsetof(LiteDelegate, opaqueBuilder) == 48);
static_assert(offsetof(LiteContext, tensors) == 16 && offsetof(LiteContext, resizeTensor) == 32);
static_assert(offsetof(LiteContext, getNode) == 56 && offsetof(LiteContext, replaceNodes) == 64);
static_assert(offsetof(LiteContext, allowsFloat16) == 96);
static_assert(offsetof(LiteContext, previewPartitions) == 152);
static_assert(offsetof(LiteContext, acquireGraph) == 184 && sizeof(LiteContext) == 200);

}  // namespace halyard::tflite
