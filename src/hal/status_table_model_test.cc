// The HAL's rules for models, V1 to V17 and the cycle of its basic checks: a row per case, which
// every sort of driver of every version is asked about.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "hal/testing/server_fixture.h"
#include "hal/testing/subject.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the subjects' vocabulary
using enum OperandType;

// From which version on the model is valid.
enum class Since : uint8_t { V1_0 = 1, V1_1, V1_2, V1_3, NEVER };

struct Row {
  const char* rule;
  const char* what;
  Since since;
  std::function<void(Model&)> change;  // of out[4] = a[4] + b[4]
  ModelEdit edit = nullptr;            // of the message, for what a Model cannot say
};

constexpr uint32_t kA = 0;           // operands of the model
constexpr uint32_t kActivation = 2;  // a constant, INT32
constexpr uint32_t kOut = 3;

// An operand that no operation uses, without value.
Operand& unused(Model& m, OperandType type, Shape shape = {}, float scale = 0, int32_t zero = 0) {
  Operand operand;
  operand.type = type;
  operand.dimensions = std::move(shape);
  operand.scale = scale;
  operand.zeroPoint = zero;
  operand.lifetime = Lifetime::NO_VALUE;
  m.main.operands.push_back(operand);
  return m.main.operands.back();
}
Operand& unusedConstant(Model& m, OperandType type, Shape shape, uint32_t bytes) {
  Operand& operand = unused(m, type, std::move(shape));
  operand.lifetime = Lifetime::CONSTANT_COPY;
  const std::vector<uint8_t> zeros(bytes);
  operand.location = appendConstant(m, zeros.data(), bytes);
  return operand;
}
Operand& perChannel(Model& m, Shape shape, uint32_t channel, std::vector<float> scales) {
  Operand& operand = unused(m, TENSOR_QUANT8_SYMM_PER_CHANNEL, std::move(shape));
  operand.extraParams = SymmPerChannelQuantParams{std::move(scales), channel};
  return operand;
}
constexpr auto kExtension = static_cast<OperandType>(0x00050001);
OperandType number(int32_t value) { return static_cast<OperandType>(value); }

SharedMemoryPtr poolOf(MemoryKind kind) {
  const SharedMemoryPtr memory = SharedMemory::create(64, "test").value();
  return std::make_shared<const SharedMemory>(
      kind, UniqueFd(::fcntl(memory->fd(), F_DUPFD_CLOEXEC, 0)), 64, PROT_READ | PROT_WRITE, 0);
}
// b becomes a constant in pool 0.
Operand& referenced(Model& m, MemoryKind kind, DataLocation location = {0, 0, 16}) {
  m.pools = {poolOf(kind)};
  m.main.inputIndexes = {kA};
  m.main.operands[1].lifetime = Lifetime::CONSTANT_REFERENCE;
  m.main.operands[1].location = location;
  return m.main.operands[1];
}
Operand& subgraphOperand(Model& m, uint32_t index) {
  Operand& operand = unused(m, MODEL);
  operand.lifetime = Lifetime::SUBGRAPH;
  operand.location.offset = index;
  return operand;
}
Subgraph reluSubgraph() {
  Model model = addModel(4);
  model.main.operations = {{OperationType::RELU, {0}, {3}}};
  return model.main;
}
// A second operation, behind the first: temporary = a + b, out = relu(temporary).
void chain(Model& m) {
  Operand temporary = m.main.operands[kOut];
  temporary.lifetime = Lifetime::TEMPORARY_VARIABLE;
  m.main.operands.push_back(temporary);
  m.main.operations[0].outputs = {4};
  m.main.operations.push_back({OperationType::RELU, {4}, {kOut}});
}

// clang-format off: a row is a line where it can be.
const Row kRows[] = {
    {"V1", "NoOperation", Since::NEVER, [](Model& m) { m.main.operations.clear(); }},
    {"V1", "NoOperand", Since::NEVER, [](Model& m) { m.main = {}; }},
    {"V1", "Unchanged", Since::V1_0, [](Model&) {}},
    {"V1", "NoOperationInReferenced", Since::NEVER, [](Model& m) { m.referenced = {reluSubgraph()}; m.referenced[0].operations.clear(); subgraphOperand(m, 0); }},

    {"V2", "Float32", Since::V1_0, [](Model& m) { unused(m, FLOAT32); }},
    {"V2", "Uint32", Since::V1_0, [](Model& m) { unused(m, UINT32); }},
    {"V2", "TensorInt32", Since::V1_0, [](Model& m) { unused(m, TENSOR_INT32, {1}); }},
    {"V2", "TensorQuant8Asymm", Since::V1_0, [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM, {1}, 1); }},
    {"V2", "Oem", Since::V1_0, [](Model& m) { unused(m, OEM_SCALAR); }},
    {"V2", "TensorOemByte", Since::V1_0, [](Model& m) { unused(m, TENSOR_OEM_BYTE, {1}); }},
    {"V2", "Bool", Since::V1_2, [](Model& m) { unused(m, BOOL); }},
    {"V2", "TensorQuant16Symm", Since::V1_2, [](Model& m) { unused(m, TENSOR_QUANT16_SYMM, {1}, 1); }},
    {"V2", "TensorFloat16", Since::V1_2, [](Model& m) { unused(m, TENSOR_FLOAT16, {1}); }},
    {"V2", "TensorBool8", Since::V1_2, [](Model& m) { unused(m, TENSOR_BOOL8, {1}); }},
    {"V2", "Float16", Since::V1_2, [](Model& m) { unused(m, FLOAT16); }},
    {"V2", "TensorQuant8SymmPerChannel", Since::V1_2, [](Model& m) { perChannel(m, {2}, 0, {1, 1}); }},
    {"V2", "TensorQuant16Asymm", Since::V1_2, [](Model& m) { unused(m, TENSOR_QUANT16_ASYMM, {1}, 1); }},
    {"V2", "TensorQuant8Symm", Since::V1_2, [](Model& m) { unused(m, TENSOR_QUANT8_SYMM, {1}, 1); }},
    {"V2", "Extension", Since::V1_2, [](Model& m) { unused(m, kExtension, {1}); m.extensionNameToPrefix = {{"com.acme.x", 5}}; }},
    {"V2", "TensorQuant8AsymmSigned", Since::V1_3, [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM_SIGNED, {1}, 1); }},
    {"V2", "Subgraph", Since::V1_3, [](Model& m) { m.referenced = {reluSubgraph()}; subgraphOperand(m, 0); }},
    {"V2", "Sixteen", Since::NEVER, [](Model& m) { unused(m, number(16)); }},
    {"V2", "Number9999", Since::NEVER, [](Model& m) { unused(m, number(9999)); }},
    {"V2", "Number10002", Since::NEVER, [](Model& m) { unused(m, number(10002)); }},
    {"V2", "MinusOneInAnOperation", Since::NEVER, [](Model& m) { m.main.operands[kA].type = number(-1); }},

    {"V3", "Int32WithDimensions", Since::NEVER, [](Model& m) { m.main.operands[kActivation].dimensions = {1}; }},
    {"V3", "Int32WithDimensionZero", Since::NEVER, [](Model& m) { m.main.operands[kActivation].dimensions = {0}; }},
    {"V3", "Float32WithDimensions", Since::NEVER, [](Model& m) { unused(m, FLOAT32, {1}); }},
    {"V3", "Uint32WithDimensions", Since::NEVER, [](Model& m) { unused(m, UINT32, {1}); }},
    {"V3", "BoolWithDimensions", Since::NEVER, [](Model& m) { unused(m, BOOL, {1}); }},
    {"V3", "Float16WithDimensions", Since::NEVER, [](Model& m) { unused(m, FLOAT16, {1}); }},
    {"V3", "OemWithDimensions", Since::NEVER, [](Model& m) { unused(m, OEM_SCALAR, {1}); }},
    {"V3", "SubgraphWithDimensions", Since::NEVER, [](Model& m) { m.referenced = {reluSubgraph()}; subgraphOperand(m, 0).dimensions = {1}; }},

    {"V4", "UnknownDimension", Since::V1_0, [](Model& m) { m.main.operands[kOut].dimensions = {0}; }},
    {"V4", "UnknownRank", Since::V1_2, [](Model& m) { m.main.operands[kOut].dimensions = {}; }},
    {"V4", "UnknownRankUnused", Since::V1_2, [](Model& m) { unused(m, TENSOR_FLOAT32); }},
    {"V4", "UnknownRankOfConstantCopy", Since::NEVER, [](Model& m) { unusedConstant(m, TENSOR_FLOAT32, {}, 4); }},
    {"V4", "UnknownRankOfConstantReference", Since::NEVER, [](Model& m) { referenced(m, MemoryKind::ASHMEM).dimensions = {}; }},

    {"V5", "ScaleOfTensorFloat32", Since::NEVER, [](Model& m) { m.main.operands[kA].scale = 1; }},
    {"V5", "ScaleOfInt32", Since::NEVER, [](Model& m) { m.main.operands[kActivation].scale = 1; }},
    {"V5", "ScaleOfFloat32", Since::NEVER, [](Model& m) { unused(m, FLOAT32, {}, 1); }},
    {"V5", "ScaleOfUint32", Since::NEVER, [](Model& m) { unused(m, UINT32, {}, 1); }},
    {"V5", "ScaleOfBool", Since::NEVER, [](Model& m) { unused(m, BOOL, {}, 1); }},
    {"V5", "ScaleOfFloat16", Since::NEVER, [](Model& m) { unused(m, FLOAT16, {}, 1); }},
    {"V5", "ScaleOfTensorFloat16", Since::NEVER, [](Model& m) { unused(m, TENSOR_FLOAT16, {1}, 1); }},
    {"V5", "ScaleOfTensorBool8", Since::NEVER, [](Model& m) { unused(m, TENSOR_BOOL8, {1}, 1); }},
    {"V5", "ScaleOfPerChannel", Since::NEVER, [](Model& m) { perChannel(m, {2}, 0, {1, 1}).scale = 1; }},
    {"V5", "ScaleOfExtension", Since::NEVER, [](Model& m) { unused(m, kExtension, {1}, 1); }},
    {"V5", "ScaleOfSubgraph", Since::NEVER, [](Model& m) { m.referenced = {reluSubgraph()}; subgraphOperand(m, 0).scale = 1; }},
    {"V5", "ScaleOfTensorInt32", Since::V1_0, [](Model& m) { unused(m, TENSOR_INT32, {1}, 0.5f); }},
    {"V5", "NegativeScaleOfTensorInt32", Since::NEVER, [](Model& m) { unused(m, TENSOR_INT32, {1}, -1); }},
    {"V5", "NoScaleOfQuant8Asymm", Since::NEVER, [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM, {1}, 0); }},
    {"V5", "NegativeScaleOfQuant8Asymm", Since::NEVER, [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM, {1}, -1); }},
    {"V5", "NanScaleOfQuant8Asymm", Since::NEVER, [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM, {1}, std::numeric_limits<float>::quiet_NaN()); }},
    {"V5", "NoScaleOfQuant8AsymmSigned", Since::NEVER, [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM_SIGNED, {1}, 0); }},
    {"V5", "NoScaleOfQuant8Symm", Since::NEVER, [](Model& m) { unused(m, TENSOR_QUANT8_SYMM, {1}, 0); }},
    {"V5", "NoScaleOfQuant16Asymm", Since::NEVER, [](Model& m) { unused(m, TENSOR_QUANT16_ASYMM, {1}, 0); }},
    {"V5", "NoScaleOfQuant16Symm", Since::NEVER, [](Model& m) { unused(m, TENSOR_QUANT16_SYMM, {1}, 0); }},
    {"V5", "ScaleOfOemIsFree", Since::V1_0, [](Model& m) { unused(m, TENSOR_OEM_BYTE, {1}, -7); }},

    {"V6", "Quant8AsymmAt255", Since::V1_0, [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM, {1}, 1, 255); }},
    {"V6", "Quant8AsymmAt256", Since::NEVER, [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM, {1}, 1, 256); }},
    {"V6", "Quant8AsymmAtMinus1", Since::NEVER, [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM, {1}, 1, -1); }},
    {"V6", "Quant8AsymmSignedAtMinus128", Since::V1_3, [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM_SIGNED, {1}, 1, -128); }},
    {"V6", "Quant8AsymmSignedAtMinus129", Since::NEVER, [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM_SIGNED, {1}, 1, -129); }},
    {"V6", "Quant8AsymmSignedAt128", Since::NEVER, [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM_SIGNED, {1}, 1, 128); }},
    {"V6", "Quant16AsymmAt65535", Since::V1_2, [](Model& m) { unused(m, TENSOR_QUANT16_ASYMM, {1}, 1, 65535); }},
    {"V6", "Quant16AsymmAt65536", Since::NEVER, [](Model& m) { unused(m, TENSOR_QUANT16_ASYMM, {1}, 1, 65536); }},
    {"V6", "Quant16SymmAt1", Since::NEVER, [](Model& m) { unused(m, TENSOR_QUANT16_SYMM, {1}, 1, 1); }},
    {"V6", "Quant8SymmAtMinus1", Since::NEVER, [](Model& m) { unused(m, TENSOR_QUANT8_SYMM, {1}, 1, -1); }},
    {"V6", "TensorFloat32At1", Since::NEVER, [](Model& m) { m.main.operands[kA].zeroPoint = 1; }},
    {"V6", "Int32At1", Since::NEVER, [](Model& m) { m.main.operands[kActivation].zeroPoint = 1; }},
    {"V6", "OemIsFree", Since::V1_0, [](Model& m) { unused(m, TENSOR_OEM_BYTE, {1}, 0, 300); }},

    {"V7", "PerChannelWithoutParameters", Since::NEVER, [](Model& m) { unused(m, TENSOR_QUANT8_SYMM_PER_CHANNEL, {2}); }},
    {"V7", "ChannelDimensionOutside", Since::NEVER, [](Model& m) { perChannel(m, {2}, 1, {1, 1}); }},
    {"V7", "TooFewScales", Since::NEVER, [](Model& m) { perChannel(m, {2}, 0, {1}); }},
    {"V7", "TooManyScales", Since::NEVER, [](Model& m) { perChannel(m, {2}, 0, {1, 1, 1}); }},
    {"V7", "ChannelsUnknown", Since::NEVER, [](Model& m) { perChannel(m, {0}, 0, {}); }},
    {"V7", "ScaleZero", Since::NEVER, [](Model& m) { perChannel(m, {2}, 0, {1, 0}); }},
    {"V7", "ScaleNegative", Since::NEVER, [](Model& m) { perChannel(m, {2}, 0, {-1, 1}); }},
    // HAL 1.0 and 1.1 have no such field: what stands there is not read.
    {"V7", "ExtensionBlob", Since::V1_2, [](Model& m) { unused(m, kExtension, {1}).extraParams = std::vector<uint8_t>{1}; }},

    {"V8", "CopyInPool1", Since::NEVER, [](Model& m) { m.main.operands[kActivation].location.poolIndex = 1; }},
    {"V8", "CopyBeyondTheValues", Since::NEVER, [](Model& m) { m.main.operands[kActivation].location.offset = 4; }},
    {"V8", "CopyAtAnOffsetThatWraps", Since::NEVER, [](Model& m) { m.main.operands[kActivation].location.offset = 0xfffffffc; }},
    {"V8", "ReferenceToAPool", Since::V1_0, [](Model& m) { referenced(m, MemoryKind::ASHMEM); }},
    {"V8", "ReferenceToNoPool", Since::NEVER, [](Model& m) { referenced(m, MemoryKind::ASHMEM, {1, 0, 16}); }},
    {"V8", "ReferenceBeyondThePool", Since::NEVER, [](Model& m) { referenced(m, MemoryKind::ASHMEM, {0, 49, 16}); }},
    {"V8", "ReferenceAtAnOffsetThatWraps", Since::NEVER, [](Model& m) { referenced(m, MemoryKind::ASHMEM, {0, 0xfffffff8, 16}); }},
    {"V8", "InputWithOffset", Since::NEVER, [](Model& m) { m.main.operands[kA].location.offset = 4; }},
    {"V8", "OutputWithLength", Since::NEVER, [](Model& m) { m.main.operands[kOut].location.length = 16; }},
    {"V8", "TemporaryWithPool", Since::NEVER, [](Model& m) { chain(m); m.main.operands[4].location.poolIndex = 1; }},
    {"V8", "NoValueWithLength", Since::NEVER, [](Model& m) { unused(m, INT32).location.length = 4; }},
    {"V8", "SubgraphIndexOutside", Since::NEVER, [](Model& m) { m.referenced = {reluSubgraph()}; subgraphOperand(m, 1); }},
    {"V8", "SubgraphWithLength", Since::NEVER, [](Model& m) { m.referenced = {reluSubgraph()}; subgraphOperand(m, 0).location.length = 1; }},
    {"V8", "SubgraphInPool1", Since::NEVER, [](Model& m) { m.referenced = {reluSubgraph()}; subgraphOperand(m, 0).location.poolIndex = 1; }},
    {"V8", "UnknownLifetime", Since::NEVER, [](Model& m) { m.main.operands[kA].lifetime = static_cast<Lifetime>(7); }},

    {"V9", "SubgraphTypeAsNoValue", Since::NEVER, [](Model& m) { unused(m, MODEL); }},
    {"V9", "SubgraphLifetimeOfInt32", Since::NEVER, [](Model& m) { m.referenced = {reluSubgraph()}; subgraphOperand(m, 0).type = INT32; }},

    {"V10", "ConstantTooShort", Since::NEVER, [](Model& m) { m.main.operands[kActivation].location.length = 3; }},
    {"V10", "ConstantTooLong", Since::NEVER, [](Model& m) { unusedConstant(m, INT32, {}, 8); }},
    {"V10", "ConstantTensorTooShort", Since::NEVER, [](Model& m) { unusedConstant(m, TENSOR_FLOAT32, {3}, 8); }},
    {"V10", "ConstantOfUnknownDimension", Since::NEVER, [](Model& m) { unusedConstant(m, TENSOR_FLOAT32, {0}, 4); }},
    {"V10", "ConstantOfOemHasAnyLength", Since::V1_0, [](Model& m) { unusedConstant(m, TENSOR_OEM_BYTE, {3}, 7); }},

    {"V11", "InputMissing", Since::NEVER, [](Model& m) { m.main.operations[0].inputs.pop_back(); }},
    {"V11", "InputAdded", Since::NEVER, [](Model& m) { m.main.operations[0].inputs.push_back(kActivation); }},
    {"V11", "OutputMissing", Since::NEVER, [](Model& m) { m.main.operations[0].outputs.clear(); }},
    {"V11", "OutputAdded", Since::NEVER, [](Model& m) { chain(m); m.main.operations[0].outputs = {4, 4}; }},
    {"V11", "InputOfAnotherType", Since::NEVER, [](Model& m) { m.main.operands[kA].type = TENSOR_INT32; }},
    {"V11", "InputIndexOutside", Since::NEVER, [](Model& m) { m.main.operations[0].inputs[0] = 4; }},
    {"V11", "OutputIndexOutside", Since::NEVER, [](Model& m) { m.main.operations[0].outputs[0] = 4; }},
    {"V11", "IndexOutsideByFar", Since::NEVER, [](Model& m) { m.main.operations[0].inputs[0] = 0xffffffff; }},
    {"V11", "OperationOfHal11", Since::V1_1, [](Model& m) { m.main.operations[0].type = OperationType::SUB; }},
    {"V11", "OperationOfHal12", Since::V1_2, [](Model& m) { m.main.operations[0].type = OperationType::MAXIMUM; m.main.operations[0].inputs.pop_back(); }},
    {"V11", "OperationOfHal13", Since::V1_3, [](Model& m) { m.main.operations[0] = {OperationType::HARD_SWISH, {kA}, {kOut}}; }},
    {"V11", "OperationOfLevel6", Since::NEVER, [](Model& m) { m.main.operations[0].type = static_cast<OperationType>(102); m.main.operations[0].inputs = {kA, 1, kActivation, kActivation}; }},
    {"V11", "Operation106", Since::NEVER, [](Model& m) { m.main.operations[0].type = static_cast<OperationType>(106); }},
    {"V11", "Operation9999", Since::NEVER, [](Model& m) { m.main.operations[0].type = static_cast<OperationType>(9999); }},
    {"V11", "Operation10001", Since::NEVER, [](Model& m) { m.main.operations[0].type = static_cast<OperationType>(10001); }},
    {"V11", "OutputIsAnInput", Since::NEVER, [](Model& m) { m.main.operations[0].outputs[0] = kA; }},
    {"V11", "OutputIsAConstant", Since::NEVER, [](Model& m) { referenced(m, MemoryKind::ASHMEM); m.main.operations[0].outputs[0] = 1; }},

    {"V12", "InputOutside", Since::NEVER, [](Model& m) { m.main.inputIndexes[0] = 4; }},
    {"V12", "InputTwice", Since::NEVER, [](Model& m) { m.main.inputIndexes.push_back(kA); }},
    {"V12", "InputNotListed", Since::NEVER, [](Model& m) { m.main.inputIndexes.pop_back(); }},
    {"V12", "ConstantListed", Since::NEVER, [](Model& m) { m.main.inputIndexes.push_back(kActivation); }},
    {"V12", "OutputOutside", Since::NEVER, [](Model& m) { m.main.outputIndexes[0] = 0x80000000; }},
    {"V12", "OutputTwice", Since::NEVER, [](Model& m) { m.main.outputIndexes.push_back(kOut); }},
    {"V12", "OutputNotListed", Since::NEVER, [](Model& m) { m.main.outputIndexes.clear(); }},
    {"V12", "InputListedAsOutput", Since::NEVER, [](Model& m) { m.main.outputIndexes.push_back(kA); }},
    {"V12", "TemporaryListedAsOutput", Since::NEVER, [](Model& m) { chain(m); m.main.outputIndexes.push_back(4); }},

    {"V13", "Chain", Since::V1_0, [](Model& m) { chain(m); }},
    {"V13", "ReadBeforeWritten", Since::NEVER, [](Model& m) { chain(m); std::swap(m.main.operations[0], m.main.operations[1]); }},
    {"V13", "TwoWriters", Since::NEVER, [](Model& m) { m.main.operations.push_back(m.main.operations[0]); }},
    {"V13", "TemporaryNeverWritten", Since::NEVER, [](Model& m) { unused(m, TENSOR_FLOAT32, {4}).lifetime = Lifetime::TEMPORARY_VARIABLE; }},
    {"V13", "OutputNeverWritten", Since::NEVER, [](Model& m) { unused(m, TENSOR_FLOAT32, {4}).lifetime = Lifetime::SUBGRAPH_OUTPUT; m.main.outputIndexes.push_back(4); }},
    {"V13", "TemporaryNeverRead", Since::V1_0, [](Model& m) { chain(m); m.main.operations[1].inputs = {kA}; }},
    {"V13", "ConsumersTooFew", Since::NEVER, nullptr, [](auto m) { m.getMain().getOperands()[kA].setNumberOfConsumers(0); }},
    {"V13", "ConsumersTooMany", Since::NEVER, nullptr, [](auto m) { m.getMain().getOperands()[kA].setNumberOfConsumers(2); }},
    {"V13", "ConsumersOfNothing", Since::NEVER, nullptr, [](auto m) { m.getMain().getOperands()[kOut].setNumberOfConsumers(1); }},

    {"V14", "Ashmem", Since::V1_0, [](Model& m) { referenced(m, MemoryKind::ASHMEM); }},
    {"V14", "MmapFd", Since::V1_0, [](Model& m) { referenced(m, MemoryKind::MMAP_FD); }},
    {"V14", "UnknownKind", Since::NEVER, [](Model& m) { referenced(m, MemoryKind::ASHMEM); }, [](auto m) { m.getPools()[0].setKind(static_cast<wire::MemoryKind>(9)); }},
    {"V14", "NoHandle", Since::NEVER, [](Model& m) { referenced(m, MemoryKind::ASHMEM); }, [](auto m) { m.getPools()[0].getFile().disownFd(); }},
    {"V14", "NoHandleOfAnUnusedPool", Since::NEVER, [](Model& m) { m.pools = {poolOf(MemoryKind::ASHMEM)}; }, [](auto m) { m.getPools()[0].getFile().disownFd(); }},
    {"V14", "LargerThanItsFile", Since::NEVER, [](Model& m) { referenced(m, MemoryKind::ASHMEM); }, [](auto m) { m.getPools()[0].setSize(1 << 20); }},

    {"V15", "RulesInReferenced", Since::NEVER, [](Model& m) { m.referenced = {reluSubgraph()}; m.referenced[0].operands[0].scale = 1; subgraphOperand(m, 0); }},
    {"V15", "ReferencesItself", Since::NEVER, [](Model& m) { m.referenced = {reluSubgraph()}; Operand self = subgraphOperand(m, 0); m.referenced[0].operands.push_back(self); }},

    {"V17", "LargestSize", Since::V1_0, [](Model& m) { unused(m, TENSOR_FLOAT32, {0x3fffffff}); }},
    {"V17", "SizeBeyond32Bits", Since::NEVER, [](Model& m) { unused(m, TENSOR_FLOAT32, {0x40000000}); }},
    {"V17", "ProductBeyond32Bits", Since::NEVER, [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM, {0x10000, 0x10000}, 1); }},
    {"V17", "ProductBeyond64Bits", Since::NEVER, [](Model& m) { unused(m, TENSOR_FLOAT32, {0xffffffff, 0xffffffff, 0xffffffff}); }},
};
// clang-format on

std::string nameOf(const ::testing::TestParamInfo<Row>& tested) {
  return fmt::format("{}_{}", tested.param.rule, tested.param.what);
}

// What every driver answers to a model that it must refuse.
void expectRefused(Subject& subject, const Model& model, const ModelEdit& edit) {
  const SupportedAnswer supported = subject.supported(model, edit);
  EXPECT_EQ(supported.status, Code::INVALID_ARGUMENT) << supported.message;
  EXPECT_EQ(supported.values, 0u);
  EXPECT_NE(supported.message, "");
  const Preparation prepared = subject.prepare(model, edit);
  EXPECT_EQ(prepared.launch, Code::INVALID_ARGUMENT) << prepared.message;
  EXPECT_EQ(prepared.callback, Code::INVALID_ARGUMENT);
  EXPECT_FALSE(prepared.hasModel);
  EXPECT_NE(prepared.message, "");
}

void expectTaken(Subject& subject, const Model& model, const ModelEdit& edit) {
  const SupportedAnswer supported = subject.supported(model, edit);
  EXPECT_EQ(supported.status, Code::NONE) << supported.message;
  EXPECT_EQ(supported.values, model.main.operations.size());
  // The test's device knows one operation; what it cannot do comes after the launch.
  const Preparation prepared = subject.prepare(model, edit);
  const bool able = model.main.operations[0].type == OperationType::ADD;
  EXPECT_TRUE(prepared.launch == Code::NONE || !subject.onTheWire()) << prepared.message;
  EXPECT_EQ(prepared.callback, able ? Code::NONE : Code::GENERAL_FAILURE) << prepared.message;
  EXPECT_EQ(prepared.hasModel, able);
}

class ModelTable : public ::testing::TestWithParam<Row> {};

TEST_P(ModelTable, HoldsForEveryDriver) {
  const Row& row = GetParam();
  Model model = addModel(4);
  if (row.change) row.change(model);
  unsigned asked = 0;
  for (const auto& subject : allSubjects()) {
    SCOPED_TRACE(subject->name());
    if (row.edit && !subject->onTheWire()) continue;
    const bool valid = static_cast<uint8_t>(row.since) <= static_cast<uint8_t>(subject->version());
    // What only the version forbids is taken out on the way: version_adaptation_test.
    if (!valid && row.since != Since::NEVER && subject->adapts()) continue;
    ++asked;
    if (valid) {
      expectTaken(*subject, model, row.edit);
    } else {
      expectRefused(*subject, model, row.edit);
    }
  }
  EXPECT_GE(asked, row.edit ? 7u : 12u);
}

INSTANTIATE_TEST_SUITE_P(Rows, ModelTable, ::testing::ValuesIn(kRows), nameOf);

struct OptionRow {
  const char* rule;
  const char* what;
  int preference;
  int priority;
  HalVersion since;  // the first version that has the option
};
const OptionRow kOptionRows[] = {
    {"V16", "PreferenceMinus1", -1, 1, HalVersion::V1_1},
    {"V16", "Preference3", 3, 1, HalVersion::V1_1},
    {"V16", "PriorityMinus1", 1, -1, HalVersion::V1_3},
    {"V16", "Priority3", 1, 3, HalVersion::V1_3},
};

class OptionTable : public ::testing::TestWithParam<OptionRow> {};

TEST_P(OptionTable, HoldsForEveryDriver) {
  const OptionRow& row = GetParam();
  for (const auto& subject : allSubjects()) {
    if (subject->version() < row.since) continue;
    SCOPED_TRACE(subject->name());
    const Preparation prepared =
        subject->prepare(addModel(4), row.preference, row.priority, std::nullopt, nullptr);
    EXPECT_EQ(prepared.launch, Code::INVALID_ARGUMENT);
    EXPECT_EQ(prepared.callback, Code::INVALID_ARGUMENT);
    EXPECT_FALSE(prepared.hasModel);
    for (const int legal : {0, 1, 2}) {
      EXPECT_TRUE(subject->prepare(addModel(4), legal, legal, std::nullopt, nullptr).hasModel);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, OptionTable, ::testing::ValuesIn(kOptionRows),
                         [](const auto& tested) {
                           return fmt::format("{}_{}", tested.param.rule, tested.param.what);
                         });

// Section 13: three operations of which two read each other's output.
TEST(CycleTest, IsRefusedByEveryDriver) {
  Model model = addModel(4);
  chain(model);
  model.main.operations.push_back({OperationType::ADD, {0, 1, 2}, {5}});
  Operand temporary = model.main.operands[4];
  model.main.operands.push_back(temporary);
  model.main.operations[0].inputs = {5, 1, 2};  // reads what the last writes
  model.main.operations[2].inputs = {4, 1, 2};  // reads what the first writes
  for (const auto& subject : allSubjects()) {
    SCOPED_TRACE(subject->name());
    expectRefused(*subject, model, nullptr);
  }
}

// 4: a deadline that has passed is found after the launch; HAL 1.3 alone has them.
TEST(PrepareTable, ExpiredDeadline) {
  for (const auto& subject : allSubjects()) {
    if (subject->version() < HalVersion::V1_3) continue;
    SCOPED_TRACE(subject->name());
    const Preparation prepared =
        subject->prepare(addModel(4), 1, 1, Clock::now() - std::chrono::seconds(1), nullptr);
    EXPECT_TRUE(prepared.launch == Code::NONE || !subject->onTheWire());
    EXPECT_EQ(prepared.callback, Code::MISSED_DEADLINE_PERSISTENT);
    EXPECT_FALSE(prepared.hasModel);
  }
}

}  // namespace
}  // namespace halyard::hal
