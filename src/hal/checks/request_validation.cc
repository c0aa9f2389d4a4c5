// Validates a request against its model; see validateRequest in types.h.
#include "halyard/driver/hal_types.h"
#include "model/shape_agreement.h"

namespace halyard::hal {
namespace {

Status checkDimensions(const Operand& operand, const Shape& given, bool mayBeUnspecified) {
  if (isScalarType(operand.type)) {
    if (!given.empty()) return badData("dimensions {} for a scalar", shapeText(given));
    return okStatus();
  }
  if (isExtension(operand.type)) return okStatus();
  if (given.empty()) {
    if (mayBeUnspecified) return okStatus();
    if (!knownElementCount(operand.dimensions)) {
      return badData("no dimensions, and the model leaves them open {}",
                     shapeText(operand.dimensions));
    }
    return okStatus();
  }
  if (!shapesAgree(given, operand.dimensions)) {
    return badData("dimensions {}, the model has {}", shapeText(given),
                   shapeText(operand.dimensions));
  }
  for (size_t i = 0; i < given.size() && !mayBeUnspecified; ++i) {
    if (given[i] == 0) return badData("dimension {} of {} is not specified", i, shapeText(given));
  }
  return checkSizeFits(operand.type, given);
}

Status checkLocation(const RequestArgument& argument, const std::vector<RequestPool>& pools) {
  const DataLocation& at = argument.location;
  if (at.poolIndex >= pools.size())
    return badData("pool {} of {} pools", at.poolIndex, pools.size());
  // The driver owns a token's memory. The request addresses it as a whole, as if its size were 0.
  const auto* memory = std::get_if<SharedMemoryPtr>(&pools[at.poolIndex]);
  const uint64_t size = memory ? (*memory)->size() : 0;
  if (uint64_t{at.offset} + at.length > size) {
    return badData("bytes {} to {} of pool {} of {} bytes", at.offset,
                   uint64_t{at.offset} + at.length, at.poolIndex, size);
  }
  return okStatus();
}

Status checkArgument(const Operand& operand, const RequestArgument& argument,
                     const std::vector<RequestPool>& pools, bool mayBeUnspecified) {
  switch (argument.kind) {
    case RequestArgument::Kind::NO_VALUE:
      if (argument.location.poolIndex != 0 || argument.location.offset != 0 ||
          argument.location.length != 0 || !argument.dimensions.empty()) {
        return badData("omitted, but with a location or dimensions");
      }
      return okStatus();
    case RequestArgument::Kind::POOL:
      HALYARD_RETURN_IF_ERROR(checkLocation(argument, pools));
      break;
    case RequestArgument::Kind::POINTER:
      if (argument.pointer == nullptr) return badData("a null pointer");
      break;
  }
  return checkDimensions(operand, argument.dimensions, mayBeUnspecified);
}

Status checkList(const Subgraph& main, const std::vector<uint32_t>& indexes,
                 const std::vector<RequestArgument>& arguments,
                 const std::vector<RequestPool>& pools, bool mayBeUnspecified,
                 std::string_view what) {
  if (arguments.size() != indexes.size()) {
    return badData("the request has {} {}s, the model {}", arguments.size(), what, indexes.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(
        checkArgument(main.operands[indexes[i]], arguments[i], pools, mayBeUnspecified),
        "request {} {}", what, i);
  }
  return okStatus();
}

}  // namespace

Status validateRequest(const Model& model, const Request& request, bool allowUnspecifiedOutput) {
  for (size_t i = 0; i < request.pools.size(); ++i) {
    if (const auto* memory = std::get_if<SharedMemoryPtr>(&request.pools[i])) {
      if (*memory == nullptr || (*memory)->fd() < 0) {
        return badData("request pool {} has no file descriptor", i);
      }
    } else if (const auto* own = std::get_if<DeviceMemoryPtr>(&request.pools[i])) {
      if (*own == nullptr) return badData("request pool {} has no memory", i);
    } else if (std::get<uint32_t>(request.pools[i]) == 0) {
      return badData("request pool {} has token 0", i);
    }
  }
  HALYARD_RETURN_IF_ERROR(checkList(model.main, model.main.inputIndexes, request.inputs,
                                    request.pools, false, "input"));
  return checkList(model.main, model.main.outputIndexes, request.outputs, request.pools,
                   allowUnspecifiedOutput, "output");
}

}  // namespace halyard::hal
