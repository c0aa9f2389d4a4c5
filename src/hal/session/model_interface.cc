#include "hal/session/model_interface.h"

#include <set>

#include "model/validation/validation.h"

namespace halyard::hal {
namespace {

Status checkList(const Subgraph& main, const std::vector<uint32_t>& list, Lifetime lifetime,
                 std::string_view what) {
  std::set<uint32_t> seen;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] >= main.operands.size()) {
      return badData("{} {} is operand #{} of {}", what, i, list[i], main.operands.size());
    }
    if (!seen.insert(list[i]).second) return badData("{} {} is listed twice", what, i);
    const Operand& operand = main.operands[list[i]];
    if (operand.lifetime != lifetime) {
      return badData("{} {} has lifetime {}, expected {}", what, i, lifetimeName(operand.lifetime),
                     lifetimeName(lifetime));
    }
    HALYARD_RETURN_IF_ERROR(
        validateOperandType(operand.type, operand.dimensions, operand.scale, operand.zeroPoint),
        "{} {}", what, i);
  }
  return okStatus();
}

Status checkSameList(const Subgraph& expected, const std::vector<uint32_t>& expectedList,
                     const Subgraph& found, const std::vector<uint32_t>& foundList,
                     std::string_view what) {
  if (expectedList.size() != foundList.size()) {
    return opFailed("what was cached has {} {}s, expected {}", foundList.size(), what,
                    expectedList.size());
  }
  for (size_t i = 0; i < expectedList.size(); ++i) {
    const Operand& a = expected.operands[expectedList[i]];
    const Operand& b = found.operands[foundList[i]];
    if (a.type != b.type || a.dimensions != b.dimensions || a.scale != b.scale ||
        a.zeroPoint != b.zeroPoint) {
      return opFailed("{} {} of what was cached is {}, expected {}", what, i, operandText(b),
                      operandText(a));
    }
  }
  return okStatus();
}

}  // namespace

Status checkInterface(const Model& interface) {
  const Subgraph& main = interface.main;
  HALYARD_RETURN_IF_ERROR(checkList(main, main.inputIndexes, Lifetime::SUBGRAPH_INPUT, "input"));
  return checkList(main, main.outputIndexes, Lifetime::SUBGRAPH_OUTPUT, "output");
}

Status checkSameInterface(const Model& expected, const Model& found) {
  HALYARD_RETURN_IF_ERROR(checkSameList(expected.main, expected.main.inputIndexes, found.main,
                                        found.main.inputIndexes, "input"));
  return checkSameList(expected.main, expected.main.outputIndexes, found.main,
                       found.main.outputIndexes, "output");
}

}  // namespace halyard::hal
