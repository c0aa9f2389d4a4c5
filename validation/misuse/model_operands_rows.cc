// Misuses of the functions that add operands to a model and give them values.
#include "validation/misuse/table.h"

namespace halyard::misuse {
namespace {

// Calls addOperand on an empty model.
std::function<int(World&)> addingOperand(int32_t type, Dims dims, float scale = 0,
                                         int32_t zeroPoint = 0) {
  return [=](World& w) {
    w.usedModel = w.model();
    return addOperand(w.usedModel, type, dims, scale, zeroPoint);
  };
}
// Expects that the next valid operand gets number 0.
void expectNoOperandWasAdded(World& w) {
  const int32_t value = 0;
  ROW_ERROR(ANeuralNetworksModel_setOperandValue(w.usedModel, 0, &value, 4), kBadData,
            "operand #0 of 0");
  ROW_OK(addOperand(w.usedModel, ANEURALNETWORKS_INT32));
}

Misuse badOperand(const std::string& what, int32_t type, Dims dims, float scale, int32_t zeroPoint,
                  const std::string& text) {
  return {"Model_addOperand_" + what, kBadData, text,
          addingOperand(type, std::move(dims), scale, zeroPoint), expectNoOperandWasAdded};
}

std::vector<Misuse> operandRows() {
  std::vector<Misuse> rows = {
      {"Model_create_NullModel", kUnexpectedNull, "model is null",
       [](World&) { return ANeuralNetworksModel_create(nullptr); }},
      {"Model_addOperand_NullModel", kUnexpectedNull, "model is null",
       [](World&) { return addOperand(nullptr, ANEURALNETWORKS_INT32); }},
      {"Model_addOperand_NullType", kUnexpectedNull, "type is null",
       [](World& w) { return ANeuralNetworksModel_addOperand(w.model(), nullptr); }},
      {"Model_addOperand_FinishedModel", kBadState, "finished",
       [](World& w) { return addOperand(w.finishedSum(), ANEURALNETWORKS_INT32); }},
      {"Model_addOperand_InvalidModel", kBadState, "failed to finish",
       [](World& w) { return addOperand(w.invalid(), ANEURALNETWORKS_INT32); }},
      // The state is checked before the values.
      {"Model_addOperand_FinishedModelAndUnknownType", kBadState, "finished",
       [](World& w) { return addOperand(w.finishedSum(), 99); }},
      {"Model_addOperand_CountWithoutDimensions", kBadData, "1 dimensions with a null pointer",
       [](World& w) {
         const ANeuralNetworksOperandType type = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, nullptr, 0, 0};
         return ANeuralNetworksModel_addOperand(w.usedModel = w.model(), &type);
       },
       expectNoOperandWasAdded},
      {"Model_addOperand_DimensionsWithoutCount", kBadData, "0 dimensions with a real pointer",
       [](World& w) {
         const uint32_t two = 2;
         const ANeuralNetworksOperandType type = {ANEURALNETWORKS_TENSOR_FLOAT32, 0, &two, 0, 0};
         return ANeuralNetworksModel_addOperand(w.usedModel = w.model(), &type);
       },
       expectNoOperandWasAdded},
  };
  const auto bad = [&rows](const std::string& what, int32_t type, Dims dims, float scale,
                           int32_t zeroPoint, const std::string& text) {
    rows.push_back(badOperand(what, type, std::move(dims), scale, zeroPoint, text));
  };
  bad("UnknownType16", 16, {}, 0, 0, "unknown type 16");
  bad("UnknownType9999", 9999, {}, 0, 0, "unknown type 9999");
  bad("UnknownType10002", 10002, {}, 0, 0, "unknown type 10002");
  bad("TypeMinusOne", -1, {}, 0, 0, "0xffffffff");
  bad("ExtensionTypeOfNoExtension", 0x7ffe0001, {}, 0, 0, "belongs to no extension");
  bad("Overflow", ANEURALNETWORKS_TENSOR_FLOAT32, {5, 4, 4, 786433, 5, 3, 16777216, 4, 5}, 0, 0,
      "needs more than 4294967295 bytes");
  // An unknown dimension does not reduce the size.
  bad("OverflowBesideAnUnknownDimension", ANEURALNETWORKS_TENSOR_INT32, {0, 65536, 16384}, 0, 0,
      "needs more than 4294967295 bytes");
  struct Type {
    const char* name;
    int32_t code;
    bool scalar;
    bool quantised;
    int32_t lowest;  // of the zero points of quantised types
    int32_t highest;
  };
  const Type types[] = {
      {"FLOAT32", ANEURALNETWORKS_FLOAT32, true, false, 0, 0},
      {"INT32", ANEURALNETWORKS_INT32, true, false, 0, 0},
      {"UINT32", ANEURALNETWORKS_UINT32, true, false, 0, 0},
      {"BOOL", ANEURALNETWORKS_BOOL, true, false, 0, 0},
      {"FLOAT16", ANEURALNETWORKS_FLOAT16, true, false, 0, 0},
      {"MODEL", ANEURALNETWORKS_MODEL, true, false, 0, 0},
      {"TENSOR_FLOAT32", ANEURALNETWORKS_TENSOR_FLOAT32, false, false, 0, 0},
      {"TENSOR_FLOAT16", ANEURALNETWORKS_TENSOR_FLOAT16, false, false, 0, 0},
      {"TENSOR_BOOL8", ANEURALNETWORKS_TENSOR_BOOL8, false, false, 0, 0},
      {"TENSOR_QUANT8_SYMM_PER_CHANNEL", ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, false,
       false, 0, 0},
      {"TENSOR_QUANT8_ASYMM", ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, false, true, 0, 255},
      {"TENSOR_QUANT16_SYMM", ANEURALNETWORKS_TENSOR_QUANT16_SYMM, false, true, 0, 0},
      {"TENSOR_QUANT16_ASYMM", ANEURALNETWORKS_TENSOR_QUANT16_ASYMM, false, true, 0, 65535},
      {"TENSOR_QUANT8_SYMM", ANEURALNETWORKS_TENSOR_QUANT8_SYMM, false, true, 0, 0},
      {"TENSOR_QUANT8_ASYMM_SIGNED", ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED, false, true, -128,
       127},
  };
  for (const Type& type : types) {
    const std::string name = type.name;
    const Dims dims = type.scalar ? Dims() : Dims{2};
    if (type.scalar) bad(name + "WithDimensions", type.code, {2}, 0, 0, name + " is a scalar");
    if (type.quantised) {
      bad(name + "WithoutScale", type.code, dims, 0, 0, "scale 0, expected more than 0");
      bad(name + "WithANegativeScale", type.code, dims, -1, 0, "scale -1");
      bad(name + "ZeroPointTooLow", type.code, dims, 1, type.lowest - 1, "zero point");
      bad(name + "ZeroPointTooHigh", type.code, dims, 1, type.highest + 1, "zero point");
    } else {
      bad(name + "WithAScale", type.code, dims, 0.5f, 0, "scale 0.5");
      bad(name + "WithAZeroPoint", type.code, dims, 0, 1, "zero point 1");
    }
  }
  return rows;
}

constexpr auto setValue = ANeuralNetworksModel_setOperandValue;
constexpr auto setFromMemory = ANeuralNetworksModel_setOperandValueFromMemory;
constexpr auto setFromModel = ANeuralNetworksModel_setOperandValueFromModel;

// A new model with an operand 0, of type float32 by default.
ANeuralNetworksModel* withOperand(World& w, const Dims& dims,
                                  int32_t type = ANEURALNETWORKS_TENSOR_FLOAT32) {
  w.usedModel = w.model();
  ROW_OK(addOperand(w.usedModel, type, dims));
  return w.usedModel;
}

std::vector<Misuse> valueRows() {
  return {
      {"Model_setOperandValue_NullModel", kUnexpectedNull, "model is null",
       [](World& w) { return setValue(nullptr, 0, w.values, 8); }},
      {"Model_setOperandValue_NullBuffer", kUnexpectedNull, "buffer is null, length 8",
       [](World& w) { return setValue(withOperand(w, {2}), 0, nullptr, 8); }},
      {"Model_setOperandValue_FinishedModel", kBadState, "finished",
       [](World& w) { return setValue(w.finishedSum(), 0, w.values, 8); }},
      {"Model_setOperandValue_InvalidModel", kBadState, "failed to finish",
       [](World& w) { return setValue(w.invalid(), 0, w.values, 8); }},
      {"Model_setOperandValue_IndexTooLarge", kBadData, "operand #1 of 1",
       [](World& w) { return setValue(withOperand(w, {2}), 1, w.values, 8); }},
      {"Model_setOperandValue_IndexNegative", kBadData, "operand #4294967295 of 1",
       [](World& w) { return setValue(withOperand(w, {2}), -1, w.values, 8); }},
      {"Model_setOperandValue_BufferWithLengthZero", kBadData, "length 0",
       [](World& w) { return setValue(withOperand(w, {2}), 0, w.values, 0); }},
      {"Model_setOperandValue_UnknownRank", kBadData, "dimensions are not all known",
       [](World& w) { return setValue(withOperand(w, {}), 0, w.values, 8); }},
      {"Model_setOperandValue_UnknownDimension", kBadData, "dimensions are not all known",
       [](World& w) {
         return setValue(withOperand(w, {2, 0}), 0, w.values, 8);
       }},
      {"Model_setOperandValue_TooShort", kBadData, "4 bytes for TENSOR_FLOAT32[2], which needs 8",
       [](World& w) { return setValue(withOperand(w, {2}), 0, w.values, 4); }},
      {"Model_setOperandValue_TooLong", kBadData, "12 bytes for TENSOR_FLOAT32[2], which needs 8",
       [](World& w) { return setValue(withOperand(w, {2}), 0, w.values, 12); }},
      {"Model_setOperandValue_ScalarOfTheWrongSize", kBadData, "8 bytes for INT32, which needs 4",
       [](World& w) {
         return setValue(withOperand(w, {}, ANEURALNETWORKS_INT32), 0, w.values, 8);
       }},
      {"Model_setOperandValue_LengthAbove32Bits", kBadData, "at most 4294967295",
       [](World& w) { return setValue(withOperand(w, {2}), 0, w.values, size_t{1} << 32); }},
      // The earlier value stays.
      {"Model_setOperandValue_ReplacedByTheWrongLength", kBadData, "which needs 4",
       [](World& w) { return setValue(w.usedModel = w.sum(), 2, w.values, 8); },
       [](World& w) { ROW_OK(ANeuralNetworksModel_finish(w.usedModel)); }},
      {"Model_setOperandValue_LargeOneReplacedByTheWrongLength", kBadData, "which needs 400",
       [](World& w) {
         static const std::vector<float> large(100, 1.0f);
         ANeuralNetworksModel* const m = w.usedModel = w.model();
         ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_FLOAT32, {100}));
         ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_FLOAT32, {100}));
         ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_FLOAT32, {100}));
         ROW_OK(addOperand(m, ANEURALNETWORKS_INT32));
         const int32_t none = ANEURALNETWORKS_FUSED_NONE;
         ROW_OK(setValue(m, 3, &none, sizeof none));
         ROW_OK(setValue(m, 1, large.data(), 400));
         ROW_OK(addOperation(m, ANEURALNETWORKS_ADD, {0, 1, 3}, {2}));
         ROW_OK(identifyInputsAndOutputs(m, {0}, {2}));
         return setValue(m, 1, large.data(), 396);
       },
       [](World& w) { ROW_OK(ANeuralNetworksModel_finish(w.usedModel)); }},

      {"Model_setOperandValueFromMemory_NullModel", kUnexpectedNull, "model is null",
       [](World& w) { return setFromMemory(nullptr, 0, w.memory(), 0, 8); }},
      {"Model_setOperandValueFromMemory_NullMemory", kUnexpectedNull, "memory is null",
       [](World& w) { return setFromMemory(withOperand(w, {2}), 0, nullptr, 0, 8); }},
      {"Model_setOperandValueFromMemory_FinishedModel", kBadState, "finished",
       [](World& w) { return setFromMemory(w.finishedSum(), 0, w.memory(), 0, 8); }},
      {"Model_setOperandValueFromMemory_InvalidModel", kBadState, "failed to finish",
       [](World& w) { return setFromMemory(w.invalid(), 0, w.memory(), 0, 8); }},
      {"Model_setOperandValueFromMemory_IndexTooLarge", kBadData, "operand #1 of 1",
       [](World& w) { return setFromMemory(withOperand(w, {2}), 1, w.memory(), 0, 8); }},
      {"Model_setOperandValueFromMemory_IndexNegative", kBadData, "operand #4294967295 of 1",
       [](World& w) { return setFromMemory(withOperand(w, {2}), -1, w.memory(), 0, 8); }},
      {"Model_setOperandValueFromMemory_UnknownDimension", kBadData, "not all known",
       [](World& w) { return setFromMemory(withOperand(w, {0}), 0, w.memory(), 0, 8); }},
      {"Model_setOperandValueFromMemory_UnknownRank", kBadData, "not all known",
       [](World& w) { return setFromMemory(withOperand(w, {}), 0, w.memory(), 0, 8); }},
      {"Model_setOperandValueFromMemory_WrongLength", kBadData, "12 bytes for TENSOR_FLOAT32[2]",
       [](World& w) { return setFromMemory(withOperand(w, {2}), 0, w.memory(), 0, 12); }},
      {"Model_setOperandValueFromMemory_BehindTheEnd", kBadData,
       "lie outside the memory of 64 bytes",
       [](World& w) { return setFromMemory(withOperand(w, {2}), 0, w.memory(64), 60, 8); }},
      {"Model_setOperandValueFromMemory_OffsetThatOverflows", kBadData, "lie outside",
       [](World& w) {
         return setFromMemory(withOperand(w, {2}), 0, w.memory(64), SIZE_MAX - 3, 8);
       }},
      {"Model_setOperandValueFromMemory_BothZero", kBadData, "offset and length are both 0",
       [](World& w) {
         return setFromMemory(withOperand(w, {}, ANEURALNETWORKS_OEM_SCALAR), 0, w.memory(), 0, 0);
       }},
      {"Model_setOperandValueFromMemory_Image", kBadData, "a hardware buffer that is no BLOB",
       [](World& w) { return setFromMemory(withOperand(w, {2}), 0, w.image(), 0, 8); }},
      {"Model_setOperandValueFromMemory_MemoryFromADescriptor", kBadData, "descriptor",
       [](World& w) {
         return setFromMemory(withOperand(w, {2}), 0, w.described(w.compiled()), 0, 8);
       }},

      {"Model_setOperandValueFromModel_NullModel", kUnexpectedNull, "model is null",
       [](World& w) { return setFromModel(nullptr, 0, w.finishedSum()); }},
      {"Model_setOperandValueFromModel_NullValue", kUnexpectedNull, "value is null",
       [](World& w) {
         return setFromModel(withOperand(w, {}, ANEURALNETWORKS_MODEL), 0, nullptr);
       }},
      {"Model_setOperandValueFromModel_FinishedModel", kBadState, "the model is finished",
       [](World& w) { return setFromModel(w.finishedSum(), 0, w.finishedSum()); }},
      {"Model_setOperandValueFromModel_InvalidModel", kBadState, "the model failed to finish",
       [](World& w) { return setFromModel(w.invalid(), 0, w.finishedSum()); }},
      {"Model_setOperandValueFromModel_UnfinishedValue", kBadState,
       "the referenced model: the model is not finished",
       [](World& w) {
         return setFromModel(withOperand(w, {}, ANEURALNETWORKS_MODEL), 0, w.sum());
       }},
      {"Model_setOperandValueFromModel_InvalidValue", kBadState,
       "the referenced model: the model failed to finish",
       [](World& w) {
         return setFromModel(withOperand(w, {}, ANEURALNETWORKS_MODEL), 0, w.invalid());
       }},
      // The state of the value is checked before the index.
      {"Model_setOperandValueFromModel_UnfinishedValueAndIndex", kBadState, "not finished",
       [](World& w) {
         return setFromModel(withOperand(w, {}, ANEURALNETWORKS_MODEL), 5, w.sum());
       }},
      {"Model_setOperandValueFromModel_IndexTooLarge", kBadData, "operand #1 of 1",
       [](World& w) {
         return setFromModel(withOperand(w, {}, ANEURALNETWORKS_MODEL), 1, w.finishedSum());
       }},
      {"Model_setOperandValueFromModel_IndexNegative", kBadData, "operand #4294967295 of 1",
       [](World& w) {
         return setFromModel(withOperand(w, {}, ANEURALNETWORKS_MODEL), -1, w.finishedSum());
       }},
  };
}

// Sets scales for operand 0, which has dimensions [3,2] by default.
std::function<int(World&)> scales(uint32_t channelDim, std::vector<float> values,
                                  Dims dims = {3, 2}) {
  return [=](World& w) {
    const ANeuralNetworksSymmPerChannelQuantParams params = {
        channelDim, static_cast<uint32_t>(values.size()), values.data()};
    return ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
        withOperand(w, dims, ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL), 0, &params);
  };
}
std::function<int(World&)> scalesOf(std::function<ANeuralNetworksModel*(World&)> model,
                                    int32_t index) {
  return [=](World& w) {
    const float one = 1;
    const ANeuralNetworksSymmPerChannelQuantParams params = {0, 1, &one};
    return ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model(w), index, &params);
  };
}
std::vector<Misuse> scaleRows() {
  const auto perChannel = [](World& w) {
    return withOperand(w, {3, 2}, ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL);
  };
  const std::string function = "Model_setOperandSymmPerChannelQuantParams_";
  return {
      {function + "NullModel", kUnexpectedNull, "model is null",
       scalesOf([](World&) -> ANeuralNetworksModel* { return nullptr; }, 0)},
      {function + "NullParameters", kUnexpectedNull, "channelQuant is null",
       [perChannel](World& w) {
         return ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(perChannel(w), 0, nullptr);
       }},
      {function + "FinishedModel", kBadState, "finished",
       scalesOf([](World& w) { return w.finishedSum(); }, 0)},
      {function + "InvalidModel", kBadState, "failed to finish",
       scalesOf([](World& w) { return w.invalid(); }, 0)},
      {function + "IndexTooLarge", kBadData, "operand #1 of 1", scalesOf(perChannel, 1)},
      {function + "IndexNegative", kBadData, "operand #4294967295 of 1", scalesOf(perChannel, -1)},
      {function + "AnotherType", kBadData,
       "is TENSOR_FLOAT32, expected TENSOR_QUANT8_SYMM_PER_CHANNEL",
       scalesOf([](World& w) { return withOperand(w, {1}); }, 0)},
      {function + "CountWithoutScales", kBadData, "3 scales with a null pointer",
       [perChannel](World& w) {
         const ANeuralNetworksSymmPerChannelQuantParams params = {0, 3, nullptr};
         return ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(perChannel(w), 0, &params);
       }},
      {function + "ScalesWithoutCount", kBadData, "0 scales with a real pointer",
       [perChannel](World& w) {
         const ANeuralNetworksSymmPerChannelQuantParams params = {0, 0, w.values};
         return ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(perChannel(w), 0, &params);
       }},
      {function + "ChannelBeyondTheRank", kBadData, "channel dimension 2 of a tensor [3,2]",
       scales(2, {1, 1, 1})},
      {function + "TooFewScales", kBadData, "2 scales for channel dimension 0 of [3,2]",
       scales(0, {1, 1})},
      {function + "TooManyScales", kBadData, "4 scales for channel dimension 0 of [3,2]",
       scales(0, {1, 1, 1, 1})},
      {function + "UnknownChannels", kBadData, "channel dimension 0 of [?,2]",
       scales(0, {1}, {0, 2})},
      {function + "ScaleZero", kBadData, "scale 0 of channel 1", scales(0, {1, 0, 1})},
      {function + "ScaleNegative", kBadData, "scale -1 of channel 2", scales(0, {1, 1, -1})},
  };
}

}  // namespace

std::vector<Misuse> operandMisuses() { return joined({operandRows(), valueRows(), scaleRows()}); }

}  // namespace halyard::misuse
