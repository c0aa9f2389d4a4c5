// Entry points ANeuralNetworksModel_*.
#include "api/objects.h"
#include "base/verbose_log.h"

namespace halyard::api {

Result<runtime::ArgumentType> readOperandType(const ANeuralNetworksOperandType* type) {
  if ((type->dimensions == nullptr) != (type->dimensionCount == 0)) {
    return badData("{} dimensions with a {} pointer", type->dimensionCount,
                   type->dimensions == nullptr ? "null" : "real");
  }
  runtime::ArgumentType result;
  result.type = static_cast<OperandType>(type->type);
  if (type->dimensions != nullptr) {
    result.dimensions.assign(type->dimensions, type->dimensions + type->dimensionCount);
  }
  result.scale = type->scale;
  result.zeroPoint = type->zeroPoint;
  return result;
}

namespace {

// A list from a count and a pointer. BAD_DATA for an empty list.
Result<std::span<const uint32_t>> readList(const uint32_t* list, uint32_t count, const char* what) {
  if (count == 0) return badData("the list of {} is empty", what);
  return std::span<const uint32_t>(list, count);
}

Status extensionCode(ANeuralNetworksModel* model, const char* extensionName, uint16_t code,
                     int32_t* result) {
  HALYARD_ASSIGN_OR_RETURN(const uint16_t prefix, model->impl.extensions().prefixOf(extensionName));
  *result = static_cast<int32_t>((static_cast<uint32_t>(prefix) << 16) | code);
  return okStatus();
}

}  // namespace
}  // namespace halyard::api

using namespace halyard;  // NOLINT(google-build-using-namespace): entry points are global
using api::entryPoint;

int ANeuralNetworksModel_create(ANeuralNetworksModel** model) {
  return entryPoint(__func__, trace::Phase::PREPARATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(model);
    *model = nullptr;
    readVlogTags();
    *model = new ANeuralNetworksModel{runtime::ModelBuilder(api::deviceManager().extensions())};
    return okStatus();
  });
}

void ANeuralNetworksModel_free(ANeuralNetworksModel* model) {
  const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::TERMINATION, __func__);
  api::freeObject(model);
}

int ANeuralNetworksModel_finish(ANeuralNetworksModel* model) {
  return entryPoint(__func__, trace::Phase::PREPARATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(model);
    return model->impl.finish();
  });
}

int ANeuralNetworksModel_addOperand(ANeuralNetworksModel* model,
                                    const ANeuralNetworksOperandType* type) {
  return entryPoint(__func__, trace::Phase::PREPARATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(model);
    HALYARD_RETURN_IF_NULL(type);
    HALYARD_RETURN_IF_ERROR(model->impl.checkBuilding());
    HALYARD_ASSIGN_OR_RETURN(runtime::ArgumentType read, api::readOperandType(type));
    return model->impl.addOperand(read.type, std::move(read.dimensions), read.scale,
                                  read.zeroPoint);
  });
}

int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel* model, int32_t index,
                                         const void* buffer, size_t length) {
  return entryPoint(__func__, trace::Phase::PREPARATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(model);
    if (buffer == nullptr && length != 0)
      return unexpectedNull("buffer is null, length {}", length);
    return model->impl.setOperandValue(static_cast<uint32_t>(index), buffer, length);
  });
}

int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
    ANeuralNetworksModel* model, int32_t index,
    const ANeuralNetworksSymmPerChannelQuantParams* channelQuant) {
  return entryPoint(__func__, trace::Phase::PREPARATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(model);
    HALYARD_RETURN_IF_NULL(channelQuant);
    HALYARD_RETURN_IF_ERROR(model->impl.checkBuilding());
    if ((channelQuant->scales == nullptr) != (channelQuant->scaleCount == 0)) {
      return badData("{} scales with a {} pointer", channelQuant->scaleCount,
                     channelQuant->scales == nullptr ? "null" : "real");
    }
    SymmPerChannelQuantParams params;
    params.channelDim = channelQuant->channelDim;
    if (channelQuant->scales != nullptr) {
      params.scales.assign(channelQuant->scales, channelQuant->scales + channelQuant->scaleCount);
    }
    return model->impl.setOperandSymmPerChannelQuantParams(static_cast<uint32_t>(index),
                                                           std::move(params));
  });
}

int ANeuralNetworksModel_setOperandValueFromMemory(ANeuralNetworksModel* model, int32_t index,
                                                   const ANeuralNetworksMemory* memory,
                                                   size_t offset, size_t length) {
  return entryPoint(__func__, trace::Phase::PREPARATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(model);
    HALYARD_RETURN_IF_NULL(memory);
    return model->impl.setOperandValueFromMemory(static_cast<uint32_t>(index), *memory->impl,
                                                 offset, length);
  });
}

int ANeuralNetworksModel_setOperandValueFromModel(ANeuralNetworksModel* model, int32_t index,
                                                  const ANeuralNetworksModel* value) {
  return entryPoint(__func__, trace::Phase::PREPARATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(model);
    HALYARD_RETURN_IF_NULL(value);
    return model->impl.setOperandValueFromModel(static_cast<uint32_t>(index), value->impl);
  });
}

int ANeuralNetworksModel_setOperandExtensionData(ANeuralNetworksModel* model, int32_t index,
                                                 const void* data, size_t length) {
  return entryPoint(__func__, trace::Phase::PREPARATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(model);
    if (data == nullptr && length != 0) return unexpectedNull("data is null, length {}", length);
    return model->impl.setOperandExtensionData(static_cast<uint32_t>(index), data, length);
  });
}

int ANeuralNetworksModel_addOperation(ANeuralNetworksModel* model,
                                      ANeuralNetworksOperationType type, uint32_t inputCount,
                                      const uint32_t* inputs, uint32_t outputCount,
                                      const uint32_t* outputs) {
  return entryPoint(__func__, trace::Phase::PREPARATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(model);
    HALYARD_RETURN_IF_NULL(inputs);
    HALYARD_RETURN_IF_NULL(outputs);
    HALYARD_RETURN_IF_ERROR(model->impl.checkBuilding());
    HALYARD_ASSIGN_OR_RETURN(const auto in, api::readList(inputs, inputCount, "inputs"));
    HALYARD_ASSIGN_OR_RETURN(const auto out, api::readList(outputs, outputCount, "outputs"));
    return model->impl.addOperation(static_cast<OperationType>(type), in, out);
  });
}

int ANeuralNetworksModel_identifyInputsAndOutputs(ANeuralNetworksModel* model, uint32_t inputCount,
                                                  const uint32_t* inputs, uint32_t outputCount,
                                                  const uint32_t* outputs) {
  return entryPoint(__func__, trace::Phase::PREPARATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(model);
    HALYARD_RETURN_IF_NULL(inputs);
    HALYARD_RETURN_IF_NULL(outputs);
    HALYARD_RETURN_IF_ERROR(model->impl.checkBuilding());
    HALYARD_ASSIGN_OR_RETURN(const auto in, api::readList(inputs, inputCount, "inputs"));
    HALYARD_ASSIGN_OR_RETURN(const auto out, api::readList(outputs, outputCount, "outputs"));
    return model->impl.identifyInputsAndOutputs(in, out);
  });
}

int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel* model, bool allow) {
  return entryPoint(__func__, trace::Phase::PREPARATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(model);
    return model->impl.relaxComputationFloat32toFloat16(allow);
  });
}

int ANeuralNetworksModel_getExtensionOperandType(ANeuralNetworksModel* model,
                                                 const char* extensionName,
                                                 uint16_t operandCodeWithinExtension,
                                                 int32_t* type) {
  return entryPoint(__func__, trace::Phase::PREPARATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(model);
    HALYARD_RETURN_IF_NULL(extensionName);
    HALYARD_RETURN_IF_NULL(type);
    return api::extensionCode(model, extensionName, operandCodeWithinExtension, type);
  });
}

int ANeuralNetworksModel_getExtensionOperationType(ANeuralNetworksModel* model,
                                                   const char* extensionName,
                                                   uint16_t operationCodeWithinExtension,
                                                   ANeuralNetworksOperationType* type) {
  return entryPoint(__func__, trace::Phase::PREPARATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(model);
    HALYARD_RETURN_IF_NULL(extensionName);
    HALYARD_RETURN_IF_NULL(type);
    return api::extensionCode(model, extensionName, operationCodeWithinExtension, type);
  });
}
