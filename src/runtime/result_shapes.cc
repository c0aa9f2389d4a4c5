#include "runtime/result_shapes.h"

#include <algorithm>

namespace halyard::runtime {

Shape knownShape(const Shape& model, const Shape& given) {
  if (given.empty()) return model;
  Shape result = given;
  for (size_t i = 0; i < result.size() && i < model.size(); ++i) {
    if (result[i] == 0) result[i] = model[i];
  }
  return result;
}

Status checkReportedShape(size_t index, const Operand& operand, const Shape& known,
                          const Shape& reported) {
  bool refines = known.empty() || isScalarType(operand.type) || known.size() == reported.size();
  for (size_t d = 0; refines && d < known.size() && d < reported.size(); ++d) {
    refines = known[d] == 0 || known[d] == reported[d];
  }
  if (!refines || !checkSizeFits(operand.type, reported).ok()) {
    return opFailed("the device reported shape {} for output {}, which is known to be {}",
                    shapeText(reported), index, shapeText(known));
  }
  return okStatus();
}

Status checkReportedShapes(const Model& model, const hal::Request& request,
                           const hal::ExecutionResult& result) {
  const std::vector<hal::OutputShape>& shapes = result.outputShapes;
  const size_t outputs = model.main.outputIndexes.size();
  if (shapes.empty()) {
    if (result.status.ok()) return okStatus();
    return opFailed("the device found an output too small without saying which");
  }
  if (shapes.size() != outputs) {
    return opFailed("the device reported {} output shapes for {} outputs", shapes.size(), outputs);
  }
  bool allSufficient = true;
  for (size_t i = 0; i < outputs; ++i) {
    const Operand& operand = model.main.operands[model.main.outputIndexes[i]];
    const Shape known = knownShape(operand.dimensions, request.outputs[i].dimensions);
    HALYARD_RETURN_IF_ERROR(checkReportedShape(i, operand, known, shapes[i].dimensions));
    allSufficient = allSufficient && shapes[i].isSufficient;
  }
  if (result.status.ok() != allSufficient) {
    return opFailed("the device's status and the output shapes it reported contradict each other");
  }
  return okStatus();
}

}  // namespace halyard::runtime
