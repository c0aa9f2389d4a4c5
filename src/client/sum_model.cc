#include "client/sum_model.h"

namespace halyard::client {

CallResult addSum(ANeuralNetworksModel* model, const Dims& a, const Dims& b, const Dims& out,
                  int32_t type, float scale) {
  CallResult result = addOperand(model, type, a, scale);
  if (result.ok()) result = addOperand(model, type, b, scale);
  if (result.ok()) result = addOperand(model, ANEURALNETWORKS_INT32);
  if (result.ok()) result = addOperand(model, type, out, scale);
  if (!result.ok()) return result;
  const int32_t activation = ANEURALNETWORKS_FUSED_NONE;
  result =
      CallResult(ANeuralNetworksModel_setOperandValue(model, 2, &activation, sizeof activation),
                 "ANeuralNetworksModel_setOperandValue");
  if (result.ok()) result = addOperation(model, ANEURALNETWORKS_ADD, {0, 1, 2}, {3});
  if (result.ok()) result = identifyInputsAndOutputs(model, {0, 1}, {3});
  return result;
}

}  // namespace halyard::client
