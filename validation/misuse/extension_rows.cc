// Misuses of the functions of vendor extensions. Some need devices that offer com.acme.things, and
// describe com.acme.disputed differently.
#include "validation/misuse/table.h"

namespace halyard::misuse {
namespace {

constexpr const char* kThings = "com.acme.things";
constexpr uint16_t kBlocks = 1;  // a tensor with elements of 6 bytes
constexpr uint16_t kKnob = 2;    // a scalar of 12 bytes

int32_t typeOf(ANeuralNetworksModel* model, const char* extension, uint16_t code) {
  int32_t type = -1;
  ROW_OK(ANeuralNetworksModel_getExtensionOperandType(model, extension, code, &type));
  return type;
}
// A new model with an operand 0 of a type of com.acme.things.
ANeuralNetworksModel* withThing(World& w, uint16_t code, const Dims& dims) {
  ANeuralNetworksModel* const m = w.usedModel = w.model();
  ROW_OK(addOperand(m, typeOf(m, kThings, code), dims));
  return m;
}

// Calls addOperand with a type of an extension.
std::function<int(World&)> addingOfExtension(const char* name, uint16_t code, Dims dims,
                                             float scale = 0, int32_t zeroPoint = 0) {
  return [=](World& w) {
    ANeuralNetworksModel* const m = w.model();
    return addOperand(m, typeOf(m, name, code), dims, scale, zeroPoint);
  };
}

std::vector<Misuse> typeRows() {
  const auto operand = [](World& w, const char* name) {
    return ANeuralNetworksModel_getExtensionOperandType(w.model(), name, 0,
                                                        reinterpret_cast<int32_t*>(&w.number));
  };
  const auto operation = [](World& w, const char* name) {
    return ANeuralNetworksModel_getExtensionOperationType(w.model(), name, 0,
                                                          reinterpret_cast<int32_t*>(&w.number));
  };
  const auto untouched = [](World& w) { ROW_EQ(w.number, 77u); };
  std::vector<Misuse> rows = {
      {"Device_getExtensionSupport_NullDevice", kUnexpectedNull, "device is null",
       [](World&) {
         bool supported = false;
         return ANeuralNetworksDevice_getExtensionSupport(nullptr, kThings, &supported);
       }},
      {"Device_getExtensionSupport_NullName", kUnexpectedNull, "extensionName is null",
       [](World& w) {
         bool supported = false;
         return ANeuralNetworksDevice_getExtensionSupport(w.device(), nullptr, &supported);
       }},
      {"Device_getExtensionSupport_NullResult", kUnexpectedNull, "isExtensionSupported is null",
       [](World& w) {
         return ANeuralNetworksDevice_getExtensionSupport(w.device(), kThings, nullptr);
       }},
      {"Device_getExtensionSupport_UnknownDevice", kBadData, "no device of this process",
       [](World& w) {
         bool supported = false;
         return ANeuralNetworksDevice_getExtensionSupport(
             reinterpret_cast<ANeuralNetworksDevice*>(&w), kThings, &supported);
       }},
      {"Model_getExtensionOperandType_NullModel", kUnexpectedNull, "model is null",
       [](World& w) {
         return ANeuralNetworksModel_getExtensionOperandType(nullptr, kThings, 0, &w.signedNumber);
       }},
      {"Model_getExtensionOperandType_NullName", kUnexpectedNull, "extensionName is null",
       [=](World& w) { return operand(w, nullptr); }, untouched},
      {"Model_getExtensionOperandType_NullResult", kUnexpectedNull, "type is null",
       [](World& w) {
         return ANeuralNetworksModel_getExtensionOperandType(w.model(), kThings, 0, nullptr);
       }},
      {"Model_getExtensionOperationType_NullModel", kUnexpectedNull, "model is null",
       [](World& w) {
         return ANeuralNetworksModel_getExtensionOperationType(nullptr, kThings, 0,
                                                               &w.signedNumber);
       }},
      {"Model_getExtensionOperationType_NullName", kUnexpectedNull, "extensionName is null",
       [=](World& w) { return operation(w, nullptr); }, untouched},
      {"Model_getExtensionOperationType_NullResult", kUnexpectedNull, "type is null",
       [](World& w) {
         return ANeuralNetworksModel_getExtensionOperationType(w.model(), kThings, 0, nullptr);
       }},
      // A well-formed name gets a prefix, even if no device offers the extension. The use of the
      // prefix then fails.
      {"Model_addOperand_TypeOfAnExtensionThatNobodyOffers", kBadData,
       "no device offers the extension 'com.acme.missing'",
       addingOfExtension("com.acme.missing", 0, {2})},
  };
  for (const std::string name : {"things", "com.Acme.things", "com acme.things", ""}) {
    const std::string label = name.empty()       ? "EmptyName"
                              : name == "things" ? "NameWithoutADot"
                              : name[4] == 'A'   ? "NameWithACapital"
                                                 : "NameWithASpace";
    const std::string text = "'" + name + "' is no name of an extension";
    rows.push_back({"Model_getExtensionOperandType_" + label, kBadData, text,
                    [=](World& w) { return operand(w, name.c_str()); }, untouched});
    rows.push_back({"Model_getExtensionOperationType_" + label, kBadData, text,
                    [=](World& w) { return operation(w, name.c_str()); }, untouched});
  }
  return rows;
}

std::vector<Misuse> offeredTypeRows() {
  return {
      {"Model_addOperand_TypeThatTheExtensionHasNot", kBadData,
       "the extension 'com.acme.things' has no operand type 9", addingOfExtension(kThings, 9, {2})},
      {"Model_addOperand_TypeOfADisputedExtension", kBadData,
       "devices disagree about the extension 'com.acme.disputed'",
       addingOfExtension("com.acme.disputed", 1, {2})},
      {"Model_addOperand_ExtensionScalarWithDimensions", kBadData, "is a scalar",
       addingOfExtension(kThings, kKnob, {2})},
      {"Model_addOperand_ExtensionTensorWithAScale", kBadData, "scale 0.5",
       addingOfExtension(kThings, kBlocks, {2}, 0.5f)},
      {"Model_addOperand_ExtensionTensorWithAZeroPoint", kBadData, "zero point 1",
       addingOfExtension(kThings, kBlocks, {2}, 0, 1)},
      // 6 bytes for each of 2^30 elements.
      {"Model_addOperand_ExtensionTensorThatOverflows", kBadData, "more than 4294967295 bytes",
       addingOfExtension(kThings, kBlocks, {32768, 32768})},
  };
}

std::vector<Misuse> dataRows() {
  constexpr auto setData = ANeuralNetworksModel_setOperandExtensionData;
  return {
      {"Model_setOperandExtensionData_NullModel", kUnexpectedNull, "model is null",
       [](World& w) { return setData(nullptr, 0, w.values, 8); }},
      {"Model_setOperandExtensionData_NullData", kUnexpectedNull, "data is null, length 8",
       [](World& w) { return setData(withThing(w, kBlocks, {2}), 0, nullptr, 8); }},
      {"Model_setOperandExtensionData_FinishedModel", kBadState, "finished",
       [](World& w) { return setData(w.finishedSum(), 0, w.values, 8); }},
      {"Model_setOperandExtensionData_InvalidModel", kBadState, "failed to finish",
       [](World& w) { return setData(w.invalid(), 0, w.values, 8); }},
      {"Model_setOperandExtensionData_IndexTooLarge", kBadData, "operand #1 of 1",
       [](World& w) { return setData(withThing(w, kBlocks, {2}), 1, w.values, 8); }},
      {"Model_setOperandExtensionData_IndexNegative", kBadData, "operand #4294967295 of 1",
       [](World& w) { return setData(withThing(w, kBlocks, {2}), -1, w.values, 8); }},
      {"Model_setOperandExtensionData_TypeOfNoExtension", kBadData,
       "is TENSOR_FLOAT32, expected an extension type",
       [](World& w) { return setData(w.sum(), 0, w.values, 8); }},
      {"Model_setOperandExtensionData_DataWithLengthZero", kBadData, "data of length 0",
       [](World& w) { return setData(withThing(w, kBlocks, {2}), 0, w.values, 0); },
       [](World& w) {
         ROW_OK(setData(w.usedModel, 0, w.values, 8));
         ROW_OK(setData(w.usedModel, 0, nullptr, 0));
       }},
      {"Model_setOperandValue_ExtensionTensorOfAnotherLength", kBadData, "which needs 12",
       [](World& w) {
         return ANeuralNetworksModel_setOperandValue(withThing(w, kBlocks, {2}), 0, w.values, 16);
       },
       [](World& w) {
         ROW_OK(ANeuralNetworksModel_setOperandValue(w.usedModel, 0, w.values, 12));
       }},
      {"Model_setOperandValue_ExtensionScalarOfAnotherLength", kBadData, "which needs 12",
       [](World& w) {
         return ANeuralNetworksModel_setOperandValue(withThing(w, kKnob, {}), 0, w.values, 4);
       }},
      {"Model_setOperandValue_ExtensionTensorOfUnknownDimensions", kBadData, "not all known",
       [](World& w) {
         return ANeuralNetworksModel_setOperandValue(withThing(w, kBlocks, {0}), 0, w.values, 12);
       }},
  };
}

std::vector<Misuse> attributeRows() {
  constexpr auto toCompilation = ANeuralNetworksCompilation_addExtensionAttribute;
  constexpr auto toExecution = ANeuralNetworksExecution_addExtensionAttribute;
  const std::string compilation = "Compilation_addExtensionAttribute_";
  const std::string execution = "Execution_addExtensionAttribute_";
  const std::string needsOne = "created for exactly one device";
  return {
      {compilation + "NullCompilation", kUnexpectedNull, "compilation is null",
       [](World& w) { return toCompilation(nullptr, kThings, 0, w.values, 4); }},
      {compilation + "NullName", kUnexpectedNull, "extensionName is null",
       [](World& w) { return toCompilation(w.compilation(), nullptr, 0, w.values, 4); }},
      {compilation + "NullData", kUnexpectedNull, "data is null, length 4",
       [](World& w) { return toCompilation(w.compilation(), kThings, 0, nullptr, 4); }},
      // The state is checked first.
      {compilation + "FinishedCompilation", kBadState, "the compilation is finished",
       [](World& w) { return toCompilation(w.freelyCompiled(), kThings, 0, w.values, 4); }},
      {compilation + "FailedCompilation", kBadState, "the compilation is finished",
       [](World& w) { return toCompilation(w.failedCompilation(), kThings, 0, w.values, 4); }},
      {compilation + "DevicesOfTheRuntimesChoice", kBadData, needsOne,
       [](World& w) {
         return toCompilation(w.freeCompilation(w.finishedSum()), kThings, 0, w.values, 4);
       }},
      {compilation + "NameWithoutADot", kBadData, "'things' is no name of an extension",
       [](World& w) { return toCompilation(w.compilation(), "things", 0, w.values, 4); }},
      {compilation + "AddedTwice", kBadData,
       "attribute 3 of 'com.acme.things' has been added already",
       [](World& w) {
         w.usedCompilation = w.compilation();
         ROW_OK(toCompilation(w.usedCompilation, kThings, 3, w.values, 4));
         ROW_OK(toCompilation(w.usedCompilation, kThings, 4, nullptr, 0));
         ROW_OK(toCompilation(w.usedCompilation, "com.acme.others", 3, w.values, 4));
         return toCompilation(w.usedCompilation, kThings, 3, w.values, 8);
       },
       [](World& w) { ROW_OK(ANeuralNetworksCompilation_finish(w.usedCompilation)); }},
      {execution + "NullExecution", kUnexpectedNull, "execution is null",
       [](World& w) { return toExecution(nullptr, kThings, 0, w.values, 4); }},
      {execution + "NullName", kUnexpectedNull, "extensionName is null",
       [](World& w) { return toExecution(w.execution(), nullptr, 0, w.values, 4); }},
      {execution + "NullData", kUnexpectedNull, "data is null, length 4",
       [](World& w) { return toExecution(w.execution(), kThings, 0, nullptr, 4); }},
      // The devices are checked before the state, which is invalid too.
      {execution + "DevicesOfTheRuntimesChoice", kBadData, needsOne,
       [](World& w) {
         return toExecution(w.computed(w.freelyCompiled()), kThings, 0, w.values, 4);
       }},
      {execution + "ComputedExecution", kBadState, "has been started",
       [](World& w) { return toExecution(w.computed(), kThings, 0, w.values, 4); }},
      {execution + "ExecutionBeingComputed", kBadState, "has been started",
       [](World& w) { return toExecution(w.computing(), kThings, 0, w.values, 4); }},
      {execution + "NameWithACapital", kBadData, "is no name of an extension",
       [](World& w) { return toExecution(w.execution(), "com.Acme", 0, w.values, 4); }},
      {execution + "AddedTwice", kBadData,
       "attribute 3 of 'com.acme.things' has been added already",
       [](World& w) {
         w.usedExecution = w.ready();
         ROW_OK(toExecution(w.usedExecution, kThings, 3, w.values, 4));
         return toExecution(w.usedExecution, kThings, 3, w.values, 4);
       },
       [](World& w) { ROW_OK(ANeuralNetworksExecution_compute(w.usedExecution)); }},
  };
}

}  // namespace

std::vector<Misuse> extensionMisuses() { return joined({typeRows(), attributeRows()}); }
std::vector<Misuse> offeredExtensionMisuses() { return joined({offeredTypeRows(), dataRows()}); }

}  // namespace halyard::misuse
