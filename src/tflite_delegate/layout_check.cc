#include "tflite_delegate/layout_check.h"

#include <vector>

namespace halyard::tflite {
namespace {

// Far above those of any model, and far below those of a pointer or of text read as a number.
constexpr size_t kMostTensors = size_t{1} << 24;
constexpr int32_t kMostRank = 64;
constexpr int32_t kMostOperators = 4096;
constexpr int32_t kMostVersion = 1024;
constexpr int32_t kMostTypes = 64;

Status checkSparsity(const LiteSparsity& sparsity) {
  constexpr int32_t kMostLevels = 2 * kMostRank;  // the dimensions, and a block of each
  if (sparsity.levelCount < 0 || sparsity.levelCount > kMostLevels ||
      (sparsity.levelCount > 0 && sparsity.levels == nullptr)) {
    return badData("its sparsity has {} levels{}", sparsity.levelCount,
                   sparsity.levels == nullptr ? " and no list of them" : "");
  }
  return okStatus();
}

Status checkTensor(const LiteTensor& tensor) {
  const auto type = static_cast<int32_t>(tensor.type);
  if (type < 0 || type >= kMostTypes) return badData("its type is {}", type);
  const auto allocation = static_cast<int32_t>(tensor.allocation);
  if (allocation < 0 || allocation >= kMostTypes) {
    return badData("its kind of allocation is {}", allocation);
  }
  if (tensor.bufferHandle < kNoBufferHandle) {
    return badData("its buffer handle is {}", tensor.bufferHandle);
  }
  if (tensor.sparsity != nullptr) HALYARD_RETURN_IF_ERROR(checkSparsity(*tensor.sparsity));
  if (tensor.dims == nullptr) return okStatus();
  if (tensor.dims->size < 0 || tensor.dims->size > kMostRank) {
    return badData("its rank is {}", tensor.dims->size);
  }
  // The size of a constant is what its dimensions need.
  const size_t element = elementBytes(tensor.type);
  if (tensor.allocation != Allocation::CONSTANT || tensor.sparsity != nullptr || element == 0) {
    return okStatus();
  }
  uint64_t bytes = element;
  for (const int32_t dimension : tensor.dims->values()) {
    bytes *= static_cast<uint32_t>(dimension);
  }
  if (bytes != tensor.bytes) {
    return badData("it has {} bytes, its dimensions need {}", tensor.bytes, bytes);
  }
  return okStatus();
}

Status checkList(const IntArray* list, const char* name, size_t tensors) {
  if (list == nullptr) return badData("it has no list of {}", name);
  if (list->size < 0 || static_cast<size_t>(list->size) > kMostTensors) {
    return badData("it has {} {}", list->size, name);
  }
  for (const int32_t tensor : list->values()) {
    if (tensor < kOmittedTensor || tensor >= static_cast<int64_t>(tensors)) {
      return badData("tensor {} of {} is among its {}", tensor, tensors, name);
    }
  }
  return okStatus();
}

Status checkNode(LiteContext* context, int32_t index) {
  LiteNode* node = nullptr;
  LiteRegistration* registration = nullptr;
  const LiteStatus status = context->getNode(context, index, &node, &registration);
  if (status != LiteStatus::OK || node == nullptr || registration == nullptr) {
    return badData("the interpreter does not give it");
  }
  HALYARD_RETURN_IF_ERROR(checkList(node->inputs, "inputs", context->tensorCount));
  HALYARD_RETURN_IF_ERROR(checkList(node->outputs, "outputs", context->tensorCount));
  if (registration->builtinCode < 0 || registration->builtinCode > kMostOperators) {
    return badData("its operator is {}", registration->builtinCode);
  }
  if (registration->version < 0 || registration->version > kMostVersion) {
    return badData("its operator has version {}", registration->version);
  }
  return okStatus();
}

Status checkGraph(LiteContext* context) {
  if (context->tensorCount > kMostTensors) {
    return badData("it has {} tensors", context->tensorCount);
  }
  if (context->tensors == nullptr && context->tensorCount != 0) return badData("it has no tensors");
  for (size_t i = 0; i < context->tensorCount; ++i) {
    HALYARD_RETURN_IF_ERROR(checkTensor(context->tensors[i]), "tensor {}", i);
  }
  const IntArray* plan = nullptr;
  if (context->getExecutionPlan(context, &plan) != LiteStatus::OK || plan == nullptr ||
      plan->size < 0) {
    return badData("the interpreter does not give its plan");
  }
  // A further call may move the plan.
  const std::vector<int32_t> nodes(plan->values().begin(), plan->values().end());
  for (const int32_t node : nodes) {
    HALYARD_RETURN_IF_ERROR(checkNode(context, node), "node {}", node);
  }
  return okStatus();
}

}  // namespace

size_t elementBytes(LiteType type) {
  switch (type) {
    case LiteType::BOOL:
    case LiteType::INT8:
    case LiteType::UINT8:
      return 1;
    case LiteType::FLOAT16:
    case LiteType::INT16:
    case LiteType::UINT16:
      return 2;
    case LiteType::FLOAT32:
    case LiteType::INT32:
    case LiteType::UINT32:
      return 4;
    case LiteType::COMPLEX64:
    case LiteType::FLOAT64:
    case LiteType::INT64:
    case LiteType::UINT64:
      return 8;
    case LiteType::COMPLEX128:
      return 16;
    default:
      return 0;
  }
}

Status checkLayout(LiteContext* context) {
  Status status = checkGraph(context);
  if (!status.ok()) {
    status.annotate(
        "this version of the interpreter has other data layouts than those from tflite-runtime "
        "2.14 to LiteRT 2.3, which this delegate knows: in the graph");
  }
  return status;
}

}  // namespace halyard::tflite
