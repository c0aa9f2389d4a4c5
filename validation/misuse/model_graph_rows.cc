// Misuses of the functions that make a model's graph: operations, inputs and outputs, finish. Also
// of the function that asks devices about it.
#include "validation/misuse/table.h"

namespace halyard::misuse {
namespace {

constexpr auto addOp = ANeuralNetworksModel_addOperation;
constexpr auto identifyIo = ANeuralNetworksModel_identifyInputsAndOutputs;
constexpr auto finish = ANeuralNetworksModel_finish;
constexpr uint32_t kZero[] = {0};

// Operands 0, 1, 3: float32 [2]; 2: an activation; 4: int32 [2]. No operation, no inputs and
// outputs.
ANeuralNetworksModel* parts(World& w) {
  ANeuralNetworksModel* const m = w.usedModel = w.model();
  ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
  ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
  ROW_OK(addOperand(m, ANEURALNETWORKS_INT32));
  ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
  ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_INT32, {2}));
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  ROW_OK(ANeuralNetworksModel_setOperandValue(m, 2, &none, sizeof none));
  return m;
}
std::function<int(World&)> addingOperation(int32_t type, Dims inputs, Dims outputs) {
  return [=](World& w) { return addOperation(parts(w), type, inputs, outputs); };
}
// Expects an unchanged model: it accepts a valid operation as its first one, and finishes.
void expectNoOperationWasAdded(World& w) {
  ROW_ERROR(addOperation(w.usedModel, 9999, {0}, {3}), kBadData, "operation #0");
  ROW_OK(addOperation(w.usedModel, ANEURALNETWORKS_ADD, {0, 1, 2}, {3}));
  ROW_OK(identifyInputsAndOutputs(w.usedModel, {0, 1}, {3}));
  ROW_OK(ANeuralNetworksModel_setOperandValue(w.usedModel, 4, nullptr, 0));
  ROW_OK(finish(w.usedModel));
}

std::vector<Misuse> operationRows() {
  const auto wrong = [](const std::string& what, int32_t type, Dims inputs, Dims outputs,
                        const std::string& text) {
    return Misuse{"Model_addOperation_" + what, kBadData, text,
                  addingOperation(type, std::move(inputs), std::move(outputs)),
                  expectNoOperationWasAdded};
  };

  return {
      {"Model_addOperation_NullModel", kUnexpectedNull, "model is null",
       [](World&) { return addOp(nullptr, 0, 1, kZero, 1, kZero); }},
      {"Model_addOperation_NullInputs", kUnexpectedNull, "inputs is null",
       [](World& w) { return addOp(parts(w), ANEURALNETWORKS_ADD, 0, nullptr, 1, kZero); }},
      {"Model_addOperation_NullOutputs", kUnexpectedNull, "outputs is null",
       [](World& w) { return addOp(parts(w), ANEURALNETWORKS_ADD, 1, kZero, 0, nullptr); }},
      {"Model_addOperation_NullInputsOfAFinishedModel", kUnexpectedNull, "inputs is null",
       [](World& w) { return addOp(w.finishedSum(), 0, 1, nullptr, 1, kZero); }},
      {"Model_addOperation_FinishedModel", kBadState, "finished",
       [](World& w) { return addOperation(w.finishedSum(), 9999, {0}, {3}); }},
      {"Model_addOperation_InvalidModel", kBadState, "failed to finish",
       [](World& w) { return addOperation(w.invalid(), ANEURALNETWORKS_ADD, {0}, {3}); }},
      wrong("UnknownType106", 106, {0, 1, 2}, {3}, "unknown operation 106"),
      wrong("UnknownType9999", 9999, {0, 1, 2}, {3}, "unknown operation 9999"),
      wrong("UnknownType10001", 10001, {0, 1, 2}, {3}, "unknown operation 10001"),
      wrong("TypeMinusOne", -1, {0, 1, 2}, {3}, "operation 0xffffffff"),
      wrong("OperationOfNoExtension", 0x7ffe0001, {0, 1, 2}, {3}, "belongs to no extension"),
      {"Model_addOperation_NoInputs", kBadData, "the list of inputs is empty",
       [](World& w) { return addOp(parts(w), ANEURALNETWORKS_ADD, 0, kZero, 1, kZero); },
       expectNoOperationWasAdded},
      {"Model_addOperation_NoOutputs", kBadData, "the list of outputs is empty",
       [](World& w) { return addOp(parts(w), ANEURALNETWORKS_ADD, 1, kZero, 0, kZero); },
       expectNoOperationWasAdded},
      wrong("InputIndexTooLarge", ANEURALNETWORKS_ADD, {0, 5, 2}, {3}, "input operand #5 of 5"),
      wrong("OutputIndexTooLarge", ANEURALNETWORKS_ADD, {0, 1, 2}, {5}, "output operand #5 of 5"),
      wrong("TooFewInputs", ANEURALNETWORKS_ADD, {0, 1}, {3}, "takes 3 inputs, has 2"),
      wrong("TooManyOutputs", ANEURALNETWORKS_ADD, {0, 1, 2}, {3, 4}, "output"),
      wrong("InputOfAWrongType", ANEURALNETWORKS_ADD, {0, 4, 2}, {3},
            "is TENSOR_INT32, expected TENSOR_FLOAT32"),
      wrong("OutputOfAWrongType", ANEURALNETWORKS_ADD, {0, 1, 2}, {4},
            "is TENSOR_INT32, expected TENSOR_FLOAT32"),
      wrong("InputOfAWrongRank", ANEURALNETWORKS_CONV_2D, {0, 1, 3, 2, 2, 2, 2}, {3}, "rank"),
      {"Model_addOperation_IfWithoutItsModels", kBadData,
       "operation #0 IF: input operand #1 is of type MODEL, and no model has been set",
       [](World& w) {
         ANeuralNetworksModel* const m = w.model();
         ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_BOOL8, {1}));
         ROW_OK(addOperand(m, ANEURALNETWORKS_MODEL));
         ROW_OK(addOperand(m, ANEURALNETWORKS_MODEL));
         ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
         ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
         return addOperation(m, ANEURALNETWORKS_IF, {0, 1, 2, 3}, {4});
       }},
  };
}

std::function<int(World&)> identifying(Dims inputs, Dims outputs) {
  return [=](World& w) { return identifyInputsAndOutputs(parts(w), inputs, outputs); };
}

std::vector<Misuse> interfaceRows() {
  const auto wrong = [](const std::string& what, Dims inputs, Dims outputs,
                        const std::string& text) {
    return Misuse{"Model_identifyInputsAndOutputs_" + what, kBadData, text,
                  identifying(std::move(inputs), std::move(outputs))};
  };
  std::vector<Misuse> rows = {
      {"Model_identifyInputsAndOutputs_NullModel", kUnexpectedNull, "model is null",
       [](World&) { return identifyIo(nullptr, 1, kZero, 1, kZero); }},
      {"Model_identifyInputsAndOutputs_NullInputs", kUnexpectedNull, "inputs is null",
       [](World& w) { return identifyIo(parts(w), 0, nullptr, 1, kZero); }},
      {"Model_identifyInputsAndOutputs_NullOutputs", kUnexpectedNull, "outputs is null",
       [](World& w) { return identifyIo(parts(w), 1, kZero, 0, nullptr); }},
      {"Model_identifyInputsAndOutputs_FinishedModel", kBadState, "finished",
       [](World& w) {
         return identifyInputsAndOutputs(w.finishedSum(), {0, 1}, {3});
       }},
      {"Model_identifyInputsAndOutputs_InvalidModel", kBadState, "failed to finish",
       [](World& w) { return identifyInputsAndOutputs(w.invalid(), {0}, {3}); }},
      {"Model_identifyInputsAndOutputs_NoInputs", kBadData, "the list of inputs is empty",
       [](World& w) { return identifyIo(parts(w), 0, kZero, 1, kZero); }},
      {"Model_identifyInputsAndOutputs_NoOutputs", kBadData, "the list of outputs is empty",
       [](World& w) { return identifyIo(parts(w), 1, kZero, 0, kZero); }},
      wrong("InputIndexTooLarge", {5}, {3}, "model input: operand #5 of 5"),
      wrong("OutputIndexTooLarge", {0}, {5}, "model output: operand #5 of 5"),
      wrong("InputTwice", {0, 0}, {3}, "model input: operand #0 is already a SUBGRAPH_INPUT"),
      wrong("OutputTwice", {0}, {3, 3}, "model output: operand #3 is already a SUBGRAPH_OUTPUT"),
      wrong("InputAndOutput", {0}, {0}, "model output: operand #0 is already a SUBGRAPH_INPUT"),
      wrong("ConstantInput", {2}, {3}, "model input: operand #2 is already a CONSTANT_COPY"),
      wrong("ConstantOutput", {0}, {2}, "model output: operand #2 is already a CONSTANT_COPY"),
      {"Model_identifyInputsAndOutputs_OmittedInput", kBadData, "is already a NO_VALUE",
       [](World& w) {
         ANeuralNetworksModel* const m = parts(w);
         ROW_OK(ANeuralNetworksModel_setOperandValue(m, 0, nullptr, 0));
         return identifyInputsAndOutputs(m, {0}, {3});
       }},
      {"Model_identifyInputsAndOutputs_SubgraphInput", kBadData, "is already a SUBGRAPH",
       [](World& w) {
         ANeuralNetworksModel* const m = parts(w);
         ROW_OK(addOperand(m, ANEURALNETWORKS_MODEL));
         ROW_OK(ANeuralNetworksModel_setOperandValueFromModel(m, 5, w.finishedSum()));
         return identifyInputsAndOutputs(m, {5}, {3});
       }},
  };
  // A failed call keeps the effect of the operands before the invalid one.
  Misuse halfWay = wrong("FailureHalfWay", {0, 1}, {5}, "model output: operand #5 of 5");
  halfWay.after = [](World& w) {
    ROW_ERROR(identifyInputsAndOutputs(w.usedModel, {0, 1}, {3}), kBadData,
              "operand #0 is already a SUBGRAPH_INPUT");
    ROW_ERROR(finish(w.usedModel), kBadData, "have not been identified");
  };
  rows.push_back(halfWay);
  rows.push_back({"Model_relaxComputationFloat32toFloat16_NullModel", kUnexpectedNull,
                  "model is null", [](World&) {
                    return ANeuralNetworksModel_relaxComputationFloat32toFloat16(nullptr, true);
                  }});
  rows.push_back(
      {"Model_relaxComputationFloat32toFloat16_FinishedModel", kBadState, "finished", [](World& w) {
         return ANeuralNetworksModel_relaxComputationFloat32toFloat16(w.finishedSum(), true);
       }});
  rows.push_back({"Model_relaxComputationFloat32toFloat16_InvalidModel", kBadState,
                  "failed to finish", [](World& w) {
                    return ANeuralNetworksModel_relaxComputationFloat32toFloat16(w.invalid(), true);
                  }});
  return rows;
}

// Expects that a failed finish has made the model invalid permanently.
void expectInvalid(World& w) {
  ROW_ERROR(finish(w.usedModel), kBadState, "failed to finish");
  ROW_ERROR(addOperand(w.usedModel, ANEURALNETWORKS_INT32), kBadState, "failed to finish");
  ROW_ERROR(ANeuralNetworksCompilation_create(w.usedModel, w.out<ANeuralNetworksCompilation>()),
            kBadState, "failed to finish");
  w.expectOutIsNull();
}
Misuse unfit(const std::string& what, const std::string& text,
             std::function<void(World&, ANeuralNetworksModel*)> build) {
  return {"Model_finish_" + what, kBadData, text,
          [build = std::move(build)](World& w) {
            build(w, parts(w));
            return finish(w.usedModel);
          },
          expectInvalid};
}
int add(ANeuralNetworksModel* m, uint32_t a, uint32_t b, uint32_t out) {
  return addOperation(m, ANEURALNETWORKS_ADD, {a, b, 2}, {out});
}

std::vector<Misuse> modelFinishRows() {
  return {
      {"Model_finish_NullModel", kUnexpectedNull, "model is null",
       [](World&) { return finish(nullptr); }},
      {"Model_finish_FinishedModel", kBadState, "finished",
       [](World& w) { return finish(w.usedModel = w.finishedSum()); },
       // The finished model stays valid.
       [](World& w) {
         ANeuralNetworksCompilation* const c = w.compilation(w.usedModel);
         ROW_OK(ANeuralNetworksCompilation_finish(c));
       }},
      {"Model_finish_InvalidModel", kBadState, "failed to finish",
       [](World& w) { return finish(w.invalid()); }},
      {"Model_finish_EmptyModel", kBadData, "inputs and outputs have not been identified",
       [](World& w) { return finish(w.usedModel = w.model()); }, expectInvalid},
      unfit("NothingIdentified", "have not been identified",
            [](World&, ANeuralNetworksModel* m) { ROW_OK(add(m, 0, 1, 3)); }),
      unfit("NoOperations", "operation",
            [](World&, ANeuralNetworksModel* m) { ROW_OK(identifyInputsAndOutputs(m, {0}, {3})); }),
      unfit("Cycle", "cycle",
            [](World&, ANeuralNetworksModel* m) {
              ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
              ROW_OK(add(m, 0, 5, 1));
              ROW_OK(add(m, 0, 1, 5));
              ROW_OK(add(m, 0, 1, 3));
              ROW_OK(identifyInputsAndOutputs(m, {0}, {3}));
            }),
      unfit("OperationThatReadsItsOutput", "cycle",
            [](World&, ANeuralNetworksModel* m) {
              ROW_OK(add(m, 0, 3, 3));
              ROW_OK(identifyInputsAndOutputs(m, {0}, {3}));
            }),
      unfit("OperandWrittenTwice", "which has a value already",
            [](World&, ANeuralNetworksModel* m) {
              ROW_OK(add(m, 0, 1, 3));
              ROW_OK(add(m, 1, 0, 3));
              ROW_OK(identifyInputsAndOutputs(m, {0, 1}, {3}));
            }),
      unfit("InputWritten", "which has a value already",
            [](World&, ANeuralNetworksModel* m) {
              ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
              ROW_OK(add(m, 0, 0, 1));
              ROW_OK(add(m, 0, 1, 3));
              ROW_OK(identifyInputsAndOutputs(m, {0, 1}, {3}));
            }),
      unfit("ConstantWritten", "which has a value already",
            [](World& w, ANeuralNetworksModel* m) {
              ROW_OK(ANeuralNetworksModel_setOperandValue(m, 1, w.values, 8));
              ROW_OK(add(m, 0, 0, 1));
              ROW_OK(add(m, 0, 1, 3));
              ROW_OK(identifyInputsAndOutputs(m, {0}, {3}));
            }),
      unfit("OutputNeverWritten", "operand #4",
            [](World&, ANeuralNetworksModel* m) {
              ROW_OK(add(m, 0, 1, 3));
              ROW_OK(identifyInputsAndOutputs(m, {0, 1}, {3, 4}));
            }),
      unfit("OperandNeverWrittenNorRead", "operand #4 (TEMPORARY_VARIABLE) is never written",
            [](World&, ANeuralNetworksModel* m) {
              ROW_OK(add(m, 0, 1, 3));
              ROW_OK(identifyInputsAndOutputs(m, {0, 1}, {3}));
            }),
      unfit("OperandReadButNeverWritten", "never written",
            [](World&, ANeuralNetworksModel* m) {
              ROW_OK(add(m, 0, 1, 3));
              ROW_OK(identifyInputsAndOutputs(m, {0}, {3}));
            }),
      unfit("ValueOfAnInput", "operand #0",
            [](World& w, ANeuralNetworksModel* m) {
              ROW_OK(ANeuralNetworksModel_setOperandValue(m, 4, w.values, 8));
              ROW_OK(add(m, 0, 1, 3));
              ROW_OK(identifyInputsAndOutputs(m, {0, 1}, {3}));
              ROW_OK(ANeuralNetworksModel_setOperandValue(m, 0, w.values, 8));
            }),
      unfit("ChannelScalesMissing", "operand #5: per-channel quantisation parameters are missing",
            [](World&, ANeuralNetworksModel* m) {
              ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, {2, 2}));
              ROW_OK(ANeuralNetworksModel_setOperandValue(m, 5, nullptr, 0));
              ROW_OK(ANeuralNetworksModel_setOperandValue(m, 4, nullptr, 0));
              ROW_OK(add(m, 0, 1, 3));
              ROW_OK(identifyInputsAndOutputs(m, {0, 1}, {3}));
            }),
      unfit("Int32TensorWithANegativeScale", "scale -1",
            [](World&, ANeuralNetworksModel* m) {
              ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_INT32, {2}, -1));
              ROW_OK(ANeuralNetworksModel_setOperandValue(m, 5, nullptr, 0));
              ROW_OK(ANeuralNetworksModel_setOperandValue(m, 4, nullptr, 0));
              ROW_OK(add(m, 0, 1, 3));
              ROW_OK(identifyInputsAndOutputs(m, {0, 1}, {3}));
            }),
      unfit("Int32TensorWithAZeroPoint", "zero point 1",
            [](World&, ANeuralNetworksModel* m) {
              ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_INT32, {2}, 0, 1));
              ROW_OK(ANeuralNetworksModel_setOperandValue(m, 5, nullptr, 0));
              ROW_OK(ANeuralNetworksModel_setOperandValue(m, 4, nullptr, 0));
              ROW_OK(add(m, 0, 1, 3));
              ROW_OK(identifyInputsAndOutputs(m, {0, 1}, {3}));
            }),
      // The type is checked only here, not when the value is set.
      unfit("ModelAsTheValueOfATensor", "operand #4",
            [](World& w, ANeuralNetworksModel* m) {
              ROW_OK(ANeuralNetworksModel_setOperandValueFromModel(m, 4, w.finishedSum()));
              ROW_OK(add(m, 0, 1, 3));
              ROW_OK(identifyInputsAndOutputs(m, {0, 1}, {3}));
            }),
  };
}

std::vector<Misuse> supportRows() {
  const auto ask = [](ANeuralNetworksModel* model,
                      const std::vector<const ANeuralNetworksDevice*>& devices, uint32_t count) {
    bool supported[4] = {};
    return ANeuralNetworksModel_getSupportedOperationsForDevices(model, devices.data(), count,
                                                                 supported);
  };
  const std::string function = "Model_getSupportedOperationsForDevices_";
  return {
      {function + "NullModel", kUnexpectedNull, "model is null",
       [=](World& w) { return ask(nullptr, {w.device()}, 1); }},
      {function + "NullDevices", kUnexpectedNull, "devices is null",
       [](World& w) {
         bool supported = false;
         return ANeuralNetworksModel_getSupportedOperationsForDevices(w.finishedSum(), nullptr, 1,
                                                                      &supported);
       }},
      {function + "NullResult", kUnexpectedNull, "supportedOps is null",
       [](World& w) {
         const ANeuralNetworksDevice* const device = w.device();
         return ANeuralNetworksModel_getSupportedOperationsForDevices(w.finishedSum(), &device, 1,
                                                                      nullptr);
       }},
      // The list is checked before the state, which is invalid too.
      {function + "NoDevices", kBadData, "the list of devices is empty",
       [=](World& w) { return ask(w.sum(), {w.device()}, 0); }},
      // The state is checked before the entries, which are invalid too.
      {function + "UnfinishedModel", kBadState, "the model is not finished",
       [=](World& w) { return ask(w.sum(), {nullptr}, 1); }},
      {function + "InvalidModel", kBadState, "the model failed to finish",
       [=](World& w) { return ask(w.invalid(), {w.device()}, 1); }},
      {function + "NullDevice", kUnexpectedNull, "devices[0] is null",
       [=](World& w) { return ask(w.finishedSum(), {nullptr}, 1); }},
      {function + "SecondDeviceNull", kUnexpectedNull, "devices[1] is null",
       [=](World& w) {
         return ask(w.finishedSum(), {w.device(), nullptr}, 2);
       }},
      {function + "DeviceTwice", kBadData, "devices[0] and devices[1] are the same",
       [=](World& w) {
         return ask(w.finishedSum(), {w.device(), w.device()}, 2);
       }},
      {function + "UnknownDevice", kBadData, "devices[0] is no device of this process",
       [=](World& w) {
         return ask(w.finishedSum(), {reinterpret_cast<ANeuralNetworksDevice*>(&w)}, 1);
       }},
  };
}

}  // namespace

std::vector<Misuse> graphMisuses() {
  return joined({operationRows(), interfaceRows(), modelFinishRows(), supportRows()});
}

}  // namespace halyard::misuse
