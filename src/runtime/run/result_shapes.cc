#include "runtime/run/result_shapes.h"

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

}  // namespace halyard::runtime
