#include "runtime/run/result_shapes.h"

#include "model/shape_agreement.h"

namespace halyard::runtime {

Status checkReportedShape(size_t index, const Operand& operand, const Shape& known,
                          const Shape& reported) {
  const bool suits = isScalarType(operand.type) || isShapeOf(known, reported);
  if (!suits || !checkSizeFits(operand.type, reported).ok()) {
    return opFailed("the device reported shape {} for output {}, which is known to be {}",
                    shapeText(reported), index, shapeText(known));
  }
  return okStatus();
}

}  // namespace halyard::runtime
