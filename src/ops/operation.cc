// Runs one operation: reads its scalars, infers shapes with the common rules, converts float16.
#include "ops/operation.h"

#include <cstring>

#include "base/float16.h"
#include "ops/elementwise.h"
#include "ops/simd.h"

namespace halyard::ops {
namespace {

Status checkScalar(const Tensor& tensor, size_t i, std::initializer_list<OperandType> types) {
  if (tensor.omitted) return opFailed("input {} is omitted but needed", i);
  for (OperandType type : types) {
    if (tensor.type != type) continue;
    if (tensor.data == nullptr) {
      return makeStatus(ResultCode::INCOMPLETE, "the value of input {} is not known yet", i);
    }
    return okStatus();
  }
  return badData("input {} is {}, expected {}", i, operandTypeName(tensor.type),
                 operandTypeName(*types.begin()));
}

bool isZeroSized(const Tensor& tensor) {
  return !isScalarType(tensor.type) && tensor.elementCount() == 0;
}

// Returns whether input i of the matching form may be omitted. The number of inputs is enough to
// find the form.
bool mayBeOmitted(const Signature& signature, size_t count, size_t i) {
  for (const Form& form : signature.forms) {
    if (form.repeated >= 0 || i >= form.inputs.size() || count > form.inputs.size()) continue;
    if (form.inputs[i].omittable) return true;
  }
  return false;
}

std::string_view inputName(const Signature& signature, size_t count, size_t i) {
  for (const Form& form : signature.forms) {
    if (form.repeated < 0 && i < form.inputs.size() && count <= form.inputs.size()) {
      return form.inputs[i].name;
    }
  }
  return "operand";
}

HALYARD_ALWAYS_INLINE void widen(const Float16* from, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = toFloat(from[i]);
}

HALYARD_ALWAYS_INLINE void narrow(const float* from, Float16* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = toFloat16(from[i]);
}

template <auto convert, typename From, typename To>
void convertAll(OperationContext& context, const From* from, To* to, size_t count) {
  context.services().parallelFor(count, kElementGrain, [=](size_t begin, size_t end) {
    runBest<convert>(from + begin, to + begin, end - begin);
  });
}

}  // namespace

Status OperationContext::checkValue(size_t i, std::initializer_list<OperandType> types) const {
  if (i >= inputs_.size()) return opFailed("input {} is missing", i);
  Status status = checkScalar(inputs_[i], i, types);
  if (status.code() == ResultCode::INCOMPLETE) hasMissedValue_ = true;
  return status;
}

Status OperationContext::read(size_t i, int32_t* value) const {
  HALYARD_RETURN_IF_ERROR(checkValue(i, {OperandType::INT32}));
  std::memcpy(value, inputs_[i].data, sizeof(*value));
  return okStatus();
}

Status OperationContext::read(size_t i, bool* value) const {
  HALYARD_RETURN_IF_ERROR(checkValue(i, {OperandType::BOOL}));
  *value = *inputs_[i].as<uint8_t>() != 0;
  return okStatus();
}

Status OperationContext::read(size_t i, float* value) const {
  HALYARD_RETURN_IF_ERROR(checkValue(i, {OperandType::FLOAT32, OperandType::FLOAT16}));
  if (inputs_[i].type == OperandType::FLOAT16) {
    Float16 half;
    std::memcpy(&half, inputs_[i].data, sizeof(half));
    *value = toFloat(half);
  } else {
    std::memcpy(value, inputs_[i].data, sizeof(*value));
  }
  return okStatus();
}

Status OperationContext::readInts(size_t i, std::span<const int32_t>* values) const {
  HALYARD_RETURN_IF_ERROR(checkValue(i, {OperandType::TENSOR_INT32}));
  *values = {inputs_[i].as<int32_t>(), inputs_[i].elementCount()};
  return okStatus();
}

Status inferShapes(const OperationDefinition& definition, OperationContext& context) {
  for (size_t i = 0; i < context.inputCount(); ++i) {
    const Tensor& tensor = context.input(i);
    const size_t count = context.inputCount();
    if (tensor.omitted && !mayBeOmitted(definition.signature, count, i)) {
      return opFailed("input {} ({}) has no value, but the operation needs it", i,
                      inputName(definition.signature, count, i));
    }
    if (!tensor.omitted && !definition.acceptsZeroSized && isZeroSized(tensor)) {
      // Integer lists (axes, paddings) may be empty. The operation itself checks them.
      if (tensor.type == OperandType::TENSOR_INT32 && i > 0) continue;
      return opFailed("input {} ({}) is zero-sized {}, which the operation does not take", i,
                      inputName(definition.signature, count, i), shapeText(tensor.dims));
    }
  }
  HALYARD_RETURN_IF_ERROR(definition.infer(context));
  for (size_t i = 0; i < context.outputCount(); ++i) {
    uint64_t bytes = elementSize(context.output(i).type);
    for (uint32_t d : context.output(i).dims) {
      bytes *= d;
      if (bytes > UINT32_MAX) {
        return opFailed("output {} {} would need more than 4294967295 bytes", i,
                        shapeText(context.output(i).dims));
      }
    }
  }
  return okStatus();
}

namespace {

// Returns whether a tensor must become float32 for the kernel.
bool needsWidening(const OperationDefinition& definition, OperationContext& context) {
  if (!definition.float16AsFloat32) return false;
  for (size_t i = 0; i < context.inputCount(); ++i) {
    if (context.input(i).type == OperandType::TENSOR_FLOAT16) return true;
  }
  for (size_t i = 0; i < context.outputCount(); ++i) {
    if (context.output(i).type == OperandType::TENSOR_FLOAT16) return true;
  }
  return false;
}

}  // namespace

Status runReference(const OperationDefinition& definition, OperationContext& context) {
  if (!needsWidening(definition, context)) return definition.reference(context);
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < context.inputCount(); ++i) {
    Tensor tensor = context.input(i);
    if (tensor.type == OperandType::TENSOR_FLOAT16) {
      tensor.type = OperandType::TENSOR_FLOAT32;
      if (tensor.data != nullptr) {
        auto* wide = context.scratch<float>(tensor.elementCount());
        convertAll<widen>(context, tensor.as<Float16>(), wide, tensor.elementCount());
        tensor.data = wide;
      }
    }
    inputs.push_back(std::move(tensor));
  }
  for (size_t i = 0; i < context.outputCount(); ++i) {
    Tensor tensor = context.output(i);
    if (tensor.type == OperandType::TENSOR_FLOAT16) {
      tensor.type = OperandType::TENSOR_FLOAT32;
      tensor.data = context.scratch<float>(tensor.elementCount());
    }
    outputs.push_back(std::move(tensor));
  }
  OperationContext wide(inputs, outputs, &context.services());
  wide.findings() = std::move(context.findings());
  HALYARD_RETURN_IF_ERROR(definition.reference(wide));
  for (size_t i = 0; i < context.outputCount(); ++i) {
    Tensor& target = context.output(i);
    if (target.type != OperandType::TENSOR_FLOAT16) continue;
    convertAll<narrow>(context, outputs[i].as<float>(), target.as<Float16>(),
                       target.elementCount());
  }
  return okStatus();
}

Precision precisionOf(const OperationDefinition& definition) {
  if (definition.precision) return *definition.precision;
  if (definition.work != nullptr) return Precision::SUMS;
  return definition.float16AsFloat32 ? Precision::APPROXIMATE : Precision::EXACT;
}

}  // namespace halyard::ops
