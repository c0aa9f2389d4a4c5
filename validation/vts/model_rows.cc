#include "validation/vts/model_rows.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <limits>

#include "validation/vts/models.h"

namespace halyard::validation {
namespace {

using enum OperandType;

constexpr uint32_t kA = 0;  // operands of the model
constexpr uint32_t kB = 1;
constexpr uint32_t kActivation = 2;  // a constant
constexpr uint32_t kOut = 3;

// Adds an operand that no operation uses.
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

Operand& unusedConstant(Model& m, OperandType type, Shape shape, size_t bytes) {
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

// A memory file of 64 bytes, sent as `kind`.
SharedMemoryPtr poolOf(MemoryKind kind) {
  const auto memory = SharedMemory::create(64, "constants");
  if (!memory.ok()) return nullptr;
  return std::make_shared<const SharedMemory>(
      kind, UniqueFd(::fcntl((*memory)->fd(), F_DUPFD_CLOEXEC, 0)), 64, PROT_READ | PROT_WRITE, 0);
}

// Makes b a constant in a pool of 64 bytes.
Operand& inPool(Model& m, DataLocation location = {0, 0, 16},
                MemoryKind kind = MemoryKind::ASHMEM) {
  m.pools = {poolOf(kind)};
  m.main.inputIndexes = {kA};
  Operand& operand = m.main.operands[kB];
  operand.lifetime = Lifetime::CONSTANT_REFERENCE;
  operand.location = location;
  return operand;
}

// Adds a second operation: temporary (operand 4) = a + b, out = relu(temporary).
void chain(Model& m) {
  Operand temporary = m.main.operands[kOut];
  temporary.lifetime = Lifetime::TEMPORARY_VARIABLE;
  m.main.operands.push_back(temporary);
  m.main.operations[0].outputs = {4};
  m.main.operations.push_back({OperationType::RELU, {4}, {kOut}});
}

Operand& subgraph(Model& m, uint32_t index) {
  Subgraph relu = m.main;
  relu.operations = {{OperationType::RELU, {kA}, {kOut}}};
  relu.operands[kActivation].lifetime = Lifetime::NO_VALUE;
  relu.operands[kActivation].location = {};
  m.referenced = {relu};
  Operand& operand = unused(m, MODEL);
  operand.lifetime = Lifetime::SUBGRAPH;
  operand.location.offset = index;
  return operand;
}

// A loop whose value may have other sizes at four places: operation input and output, the condition
// model, and the output of the body.
void loop(Model& m, Shape in, Shape out, Shape conditionIn, Shape bodyOut) {
  m = endlessModel();
  m.main.operands[2].dimensions = std::move(in);
  m.main.operands[3].dimensions = std::move(out);
  m.referenced[0].operands[0].dimensions = std::move(conditionIn);
  m.referenced[1].operands[1].dimensions = std::move(bodyOut);
}

// IF (flag) relu(a) else relu(a), with the sizes of the value before the IF, in its models, and
// after it.
void branch(Model& m, Shape in, Shape thenOut, Shape out) {
  const Operand reference = subgraph(m, 0);
  m.referenced[0].inputIndexes = {kA};
  m.referenced[0].operands[kB] = m.referenced[0].operands[kActivation];
  m.referenced[0].operands[kOut].dimensions = std::move(thenOut);
  Operand value = m.main.operands[kA];
  value.dimensions = std::move(in);
  Operand flag = value;
  flag.type = TENSOR_BOOL8;
  flag.dimensions = {1};
  Operand result = m.main.operands[kOut];
  result.dimensions = std::move(out);
  m.main.operands = {flag, reference, reference, value, result};
  m.main.operations = {{OperationType::IF, {0, 1, 2, 3}, {4}}};
  m.main.inputIndexes = {0, 3};
  m.main.outputIndexes = {4};
}

constexpr auto kExtension = static_cast<OperandType>(0x00050001);
OperandType number(int32_t value) { return static_cast<OperandType>(value); }

// clang-format off: one line for each row where possible.
const ModelRow kRows[] = {
    {"V1", "no_operation", [](Model& m) { m.main.operations.clear(); }},
    {"V1", "no_operand", [](Model& m) { m.main = {}; }},
    {"V1", "unchanged", [](Model&) {}, nullptr, HalVersion::V1_0},
    {"V1", "no_operation_in_a_subgraph",
     [](Model& m) { subgraph(m, 0); m.referenced[0].operations.clear(); }},

    {"V2", "float32", [](Model& m) { unused(m, FLOAT32); }, nullptr, HalVersion::V1_0},
    {"V2", "uint32", [](Model& m) { unused(m, UINT32); }, nullptr, HalVersion::V1_0},
    {"V2", "int32_tensor",
     [](Model& m) { unused(m, TENSOR_INT32, {1}); }, nullptr, HalVersion::V1_0},
    {"V2", "quant8_asymm",
     [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM, {1}, 1); }, nullptr, HalVersion::V1_0},
    {"V2", "oem", [](Model& m) { unused(m, OEM_SCALAR); }, nullptr, HalVersion::V1_0},
    {"V2", "oem_byte_tensor",
     [](Model& m) { unused(m, TENSOR_OEM_BYTE, {1}); }, nullptr, HalVersion::V1_0},
    {"V2", "bool", [](Model& m) { unused(m, BOOL); }, nullptr, HalVersion::V1_2},
    {"V2", "quant16_symm",
     [](Model& m) { unused(m, TENSOR_QUANT16_SYMM, {1}, 1); }, nullptr, HalVersion::V1_2},
    {"V2", "float16_tensor",
     [](Model& m) { unused(m, TENSOR_FLOAT16, {1}); }, nullptr, HalVersion::V1_2},
    {"V2", "bool8_tensor",
     [](Model& m) { unused(m, TENSOR_BOOL8, {1}); }, nullptr, HalVersion::V1_2},
    {"V2", "float16", [](Model& m) { unused(m, FLOAT16); }, nullptr, HalVersion::V1_2},
    {"V2", "quant16_asymm",
     [](Model& m) { unused(m, TENSOR_QUANT16_ASYMM, {1}, 1); }, nullptr, HalVersion::V1_2},
    {"V2", "quant8_symm",
     [](Model& m) { unused(m, TENSOR_QUANT8_SYMM, {1}, 1); }, nullptr, HalVersion::V1_2},
    {"V2", "per_channel",
     [](Model& m) { perChannel(m, {2}, 0, {1, 1}); }, nullptr, HalVersion::V1_2},
    {"V2", "extension",
     [](Model& m) {
       unused(m, kExtension, {1});
       m.extensionNameToPrefix = {{"com.acme.x", 5}};
     }, nullptr, HalVersion::V1_2},
    {"V2", "quant8_asymm_signed",
     [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM_SIGNED, {1}, 1); }, nullptr, HalVersion::V1_3},
    {"V2", "subgraph", [](Model& m) { subgraph(m, 0); }, nullptr, HalVersion::V1_3},
    {"V2", "type_16", [](Model& m) { unused(m, number(16)); }},
    {"V2", "type_9999", [](Model& m) { unused(m, number(9999)); }},
    {"V2", "type_10002", [](Model& m) { unused(m, number(10002)); }},
    {"V2", "type_minus_1_of_an_input", [](Model& m) { m.main.operands[kA].type = number(-1); }},

    {"V3", "scalar_with_a_dimension",
     [](Model& m) { m.main.operands[kActivation].dimensions = {1}; }},
    {"V3", "scalar_with_dimension_0",
     [](Model& m) { m.main.operands[kActivation].dimensions = {0}; }},
    {"V3", "float32_with_a_dimension", [](Model& m) { unused(m, FLOAT32, {1}); }},
    {"V3", "uint32_with_a_dimension", [](Model& m) { unused(m, UINT32, {1}); }},
    {"V3", "bool_with_a_dimension", [](Model& m) { unused(m, BOOL, {1}); }},
    {"V3", "float16_with_a_dimension", [](Model& m) { unused(m, FLOAT16, {1}); }},
    {"V3", "oem_with_a_dimension", [](Model& m) { unused(m, OEM_SCALAR, {1}); }},
    {"V3", "subgraph_with_a_dimension", [](Model& m) { subgraph(m, 0).dimensions = {1}; }},

    {"V4", "unknown_dimension_of_an_output",
     [](Model& m) { m.main.operands[kOut].dimensions = {0}; }, nullptr, HalVersion::V1_0},
    {"V4", "unknown_rank_of_an_output",
     [](Model& m) { m.main.operands[kOut].dimensions = {}; }, nullptr, HalVersion::V1_2},
    {"V4", "unknown_rank_without_a_value",
     [](Model& m) { unused(m, TENSOR_FLOAT32); }, nullptr, HalVersion::V1_2},
    {"V4", "unknown_rank_of_a_constant",
     [](Model& m) { unusedConstant(m, TENSOR_FLOAT32, {}, 4); }},
    {"V4", "unknown_rank_of_a_constant_in_a_pool", [](Model& m) { inPool(m).dimensions = {}; }},

    {"V5", "scale_of_float32", [](Model& m) { m.main.operands[kA].scale = 1; }},
    {"V5", "scale_of_int32", [](Model& m) { m.main.operands[kActivation].scale = 1; }},
    {"V5", "scale_of_float32_scalar", [](Model& m) { unused(m, FLOAT32, {}, 1); }},
    {"V5", "scale_of_uint32", [](Model& m) { unused(m, UINT32, {}, 1); }},
    {"V5", "scale_of_bool", [](Model& m) { unused(m, BOOL, {}, 1); }},
    {"V5", "scale_of_float16", [](Model& m) { unused(m, FLOAT16, {}, 1); }},
    {"V5", "scale_of_float16_tensor", [](Model& m) { unused(m, TENSOR_FLOAT16, {1}, 1); }},
    {"V5", "scale_of_bool8_tensor", [](Model& m) { unused(m, TENSOR_BOOL8, {1}, 1); }},
    {"V5", "scale_of_extension", [](Model& m) { unused(m, kExtension, {1}, 1); }},
    {"V5", "scale_of_per_channel", [](Model& m) { perChannel(m, {2}, 0, {1, 1}).scale = 1; }},
    {"V5", "scale_of_subgraph", [](Model& m) { subgraph(m, 0).scale = 1; }},
    {"V5", "scale_of_int32_tensor",
     [](Model& m) { unused(m, TENSOR_INT32, {1}, 0.5f); }, nullptr, HalVersion::V1_0},
    {"V5", "negative_scale_of_int32_tensor", [](Model& m) { unused(m, TENSOR_INT32, {1}, -1); }},
    {"V5", "no_scale_of_quant8", [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM, {1}, 0); }},
    {"V5", "negative_scale_of_quant8", [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM, {1}, -1); }},
    {"V5", "nan_scale_of_quant8",
     [](Model& m) {
       unused(m, TENSOR_QUANT8_ASYMM, {1}, std::numeric_limits<float>::quiet_NaN());
     }},
    {"V5", "no_scale_of_quant8_signed",
     [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM_SIGNED, {1}, 0); }},
    {"V5", "no_scale_of_quant8_symm", [](Model& m) { unused(m, TENSOR_QUANT8_SYMM, {1}, 0); }},
    {"V5", "no_scale_of_quant16", [](Model& m) { unused(m, TENSOR_QUANT16_ASYMM, {1}, 0); }},
    {"V5", "no_scale_of_quant16_symm", [](Model& m) { unused(m, TENSOR_QUANT16_SYMM, {1}, 0); }},
    {"V5", "any_scale_of_oem",
     [](Model& m) { unused(m, TENSOR_OEM_BYTE, {1}, -7); }, nullptr, HalVersion::V1_0},

    {"V6", "zero_point_255_of_quant8",
     [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM, {1}, 1, 255); }, nullptr, HalVersion::V1_0},
    {"V6", "zero_point_256_of_quant8",
     [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM, {1}, 1, 256); }},
    {"V6", "zero_point_minus_1_of_quant8",
     [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM, {1}, 1, -1); }},
    {"V6", "zero_point_minus_128_of_quant8_signed",
     [](Model& m) {
       unused(m, TENSOR_QUANT8_ASYMM_SIGNED, {1}, 1, -128);
     }, nullptr, HalVersion::V1_3},
    {"V6", "zero_point_minus_129_of_quant8_signed",
     [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM_SIGNED, {1}, 1, -129); }},
    {"V6", "zero_point_128_of_quant8_signed",
     [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM_SIGNED, {1}, 1, 128); }},
    {"V6", "zero_point_65535_of_quant16",
     [](Model& m) { unused(m, TENSOR_QUANT16_ASYMM, {1}, 1, 65535); }, nullptr, HalVersion::V1_2},
    {"V6", "zero_point_65536_of_quant16",
     [](Model& m) { unused(m, TENSOR_QUANT16_ASYMM, {1}, 1, 65536); }},
    {"V6", "zero_point_1_of_quant16_symm",
     [](Model& m) { unused(m, TENSOR_QUANT16_SYMM, {1}, 1, 1); }},
    {"V6", "zero_point_1_of_quant8_symm",
     [](Model& m) { unused(m, TENSOR_QUANT8_SYMM, {1}, 1, 1); }},
    {"V6", "zero_point_minus_1_of_quant8_symm",
     [](Model& m) { unused(m, TENSOR_QUANT8_SYMM, {1}, 1, -1); }},
    {"V6", "zero_point_1_of_float32", [](Model& m) { m.main.operands[kA].zeroPoint = 1; }},
    {"V6", "zero_point_1_of_int32", [](Model& m) { m.main.operands[kActivation].zeroPoint = 1; }},
    {"V6", "any_zero_point_of_oem",
     [](Model& m) { unused(m, TENSOR_OEM_BYTE, {1}, 0, 300); }, nullptr, HalVersion::V1_0},

    {"V7", "per_channel_without_scales",
     [](Model& m) { unused(m, TENSOR_QUANT8_SYMM_PER_CHANNEL, {2}); }},
    {"V7", "channel_outside", [](Model& m) { perChannel(m, {2}, 1, {1, 1}); }},
    {"V7", "too_few_scales", [](Model& m) { perChannel(m, {2}, 0, {1}); }},
    {"V7", "too_many_scales", [](Model& m) { perChannel(m, {2}, 0, {1, 1, 1}); }},
    {"V7", "channels_of_unknown_number", [](Model& m) { perChannel(m, {0}, 0, {}); }},
    {"V7", "scale_0_of_a_channel", [](Model& m) { perChannel(m, {2}, 0, {1, 0}); }},
    {"V7", "negative_scale_of_a_channel", [](Model& m) { perChannel(m, {2}, 0, {-1, 1}); }},
    {"V7", "parameters_of_an_extension",
     [](Model& m) {
       unused(m, kExtension, {1}).extraParams = std::vector<uint8_t>{1};
     }, nullptr, HalVersion::V1_2},

    {"V8", "constant_in_pool_1",
     [](Model& m) { m.main.operands[kActivation].location.poolIndex = 1; }},
    {"V8", "constant_beyond_the_values",
     [](Model& m) { m.main.operands[kActivation].location.offset = 4; }},
    {"V8", "constant_at_an_offset_that_wraps",
     [](Model& m) { m.main.operands[kActivation].location.offset = 0xfffffffc; }},
    {"V8", "reference_to_a_pool", [](Model& m) { inPool(m); }, nullptr, HalVersion::V1_0},
    {"V8", "reference_to_no_pool", [](Model& m) { inPool(m, {1, 0, 16}); }},
    {"V8", "reference_beyond_the_pool", [](Model& m) { inPool(m, {0, 49, 16}); }},
    {"V8", "reference_at_an_offset_that_wraps", [](Model& m) { inPool(m, {0, 0xfffffff8, 16}); }},
    {"V8", "input_with_an_offset", [](Model& m) { m.main.operands[kA].location.offset = 4; }},
    {"V8", "output_with_a_length", [](Model& m) { m.main.operands[kOut].location.length = 16; }},
    {"V8", "temporary_with_a_pool",
     [](Model& m) { chain(m); m.main.operands[4].location.poolIndex = 1; }},
    {"V8", "no_value_with_a_length", [](Model& m) { unused(m, INT32).location.length = 4; }},
    {"V8", "subgraph_outside", [](Model& m) { subgraph(m, 1); }},
    {"V8", "subgraph_with_a_length", [](Model& m) { subgraph(m, 0).location.length = 1; }},
    {"V8", "subgraph_in_pool_1", [](Model& m) { subgraph(m, 0).location.poolIndex = 1; }},
    {"V8", "lifetime_7", [](Model& m) { m.main.operands[kA].lifetime = static_cast<Lifetime>(7); }},

    {"V9", "subgraph_type_without_a_value", [](Model& m) { unused(m, MODEL); }},
    {"V9", "subgraph_lifetime_of_int32", [](Model& m) { subgraph(m, 0).type = INT32; }},

    {"V10", "constant_too_short",
     [](Model& m) { m.main.operands[kActivation].location.length = 3; }},
    {"V10", "constant_too_long", [](Model& m) { unusedConstant(m, INT32, {}, 8); }},
    {"V10", "constant_tensor_too_short",
     [](Model& m) { unusedConstant(m, TENSOR_FLOAT32, {3}, 8); }},
    {"V10", "constant_of_unknown_dimension",
     [](Model& m) { unusedConstant(m, TENSOR_FLOAT32, {0}, 4); }},
    {"V10", "any_length_of_an_oem_constant",
     [](Model& m) { unusedConstant(m, TENSOR_OEM_BYTE, {3}, 7); }, nullptr, HalVersion::V1_0},

    {"V11", "input_missing", [](Model& m) { m.main.operations[0].inputs.pop_back(); }},
    {"V11", "input_added", [](Model& m) { m.main.operations[0].inputs.push_back(kActivation); }},
    {"V11", "output_missing", [](Model& m) { m.main.operations[0].outputs.clear(); }},
    {"V11", "output_added", [](Model& m) { chain(m); m.main.operations[0].outputs = {4, 4}; }},
    {"V11", "input_of_another_type", [](Model& m) { m.main.operands[kA].type = TENSOR_INT32; }},
    {"V11", "input_index_outside", [](Model& m) { m.main.operations[0].inputs[0] = 4; }},
    {"V11", "input_index_outside_by_far",
     [](Model& m) { m.main.operations[0].inputs[0] = 0xffffffff; }},
    {"V11", "output_index_outside", [](Model& m) { m.main.operations[0].outputs[0] = 4; }},
    {"V11", "operation_106",
     [](Model& m) { m.main.operations[0].type = static_cast<OperationType>(106); }},
    {"V11", "operation_9999",
     [](Model& m) { m.main.operations[0].type = static_cast<OperationType>(9999); }},
    {"V11", "operation_10001",
     [](Model& m) { m.main.operations[0].type = static_cast<OperationType>(10001); }},
    {"V11", "operation_of_HAL_1_1",
     [](Model& m) { m.main.operations[0].type = OperationType::SUB; }, nullptr, HalVersion::V1_1},
    {"V11", "operation_of_HAL_1_2",
     [](Model& m) {
       m.main.operations[0].type = OperationType::MAXIMUM;
       m.main.operations[0].inputs.pop_back();
     }, nullptr, HalVersion::V1_2},
    {"V11", "operation_of_HAL_1_3",
     [](Model& m) {
       m.main.operations[0] = {OperationType::HARD_SWISH, {kA}, {kOut}};
     }, nullptr, HalVersion::V1_3},
    {"V11", "output_is_an_input", [](Model& m) { m.main.operations[0].outputs[0] = kA; }},
    {"V11", "output_is_a_constant",
     [](Model& m) { inPool(m); m.main.operations[0].outputs[0] = kB; }},

    {"V12", "input_list_outside", [](Model& m) { m.main.inputIndexes[0] = 4; }},
    {"V12", "input_twice", [](Model& m) { m.main.inputIndexes.push_back(kA); }},
    {"V12", "input_not_listed", [](Model& m) { m.main.inputIndexes.pop_back(); }},
    {"V12", "constant_listed_as_input",
     [](Model& m) { m.main.inputIndexes.push_back(kActivation); }},
    {"V12", "output_list_outside", [](Model& m) { m.main.outputIndexes[0] = 0x80000000; }},
    {"V12", "output_twice", [](Model& m) { m.main.outputIndexes.push_back(kOut); }},
    {"V12", "output_not_listed", [](Model& m) { m.main.outputIndexes.clear(); }},
    {"V12", "input_listed_as_output", [](Model& m) { m.main.outputIndexes.push_back(kA); }},
    {"V12", "temporary_listed_as_output",
     [](Model& m) { chain(m); m.main.outputIndexes.push_back(4); }},

    {"V13", "chain", [](Model& m) { chain(m); }, nullptr, HalVersion::V1_0},
    {"V13", "read_before_written",
     [](Model& m) { chain(m); std::swap(m.main.operations[0], m.main.operations[1]); }},
    {"V13", "two_writers", [](Model& m) { m.main.operations.push_back(m.main.operations[0]); }},
    {"V13", "temporary_never_written",
     [](Model& m) { unused(m, TENSOR_FLOAT32, {4}).lifetime = Lifetime::TEMPORARY_VARIABLE; }},
    {"V13", "temporary_never_read",
     [](Model& m) { chain(m); m.main.operations[1].inputs = {kA}; }, nullptr, HalVersion::V1_0},
    {"V13", "output_never_written",
     [](Model& m) {
       unused(m, TENSOR_FLOAT32, {4}).lifetime = Lifetime::SUBGRAPH_OUTPUT;
       m.main.outputIndexes.push_back(4);
     }},
    {"V13", "too_few_consumers", nullptr,
     [](auto m) { m.getMain().getOperands()[kA].setNumberOfConsumers(0); }, std::nullopt},
    {"V13", "too_many_consumers", nullptr,
     [](auto m) { m.getMain().getOperands()[kA].setNumberOfConsumers(2); }, std::nullopt},
    {"V13", "consumers_of_an_output", nullptr,
     [](auto m) { m.getMain().getOperands()[kOut].setNumberOfConsumers(1); }, std::nullopt},

    {"V14", "ashmem",
     [](Model& m) { inPool(m, {0, 0, 16}, MemoryKind::ASHMEM); }, nullptr, HalVersion::V1_0},
    {"V14", "mmap_fd",
     [](Model& m) { inPool(m, {0, 0, 16}, MemoryKind::MMAP_FD); }, nullptr, HalVersion::V1_0},
    {"V14", "pool_of_an_unknown_kind", [](Model& m) { inPool(m); },
     [](auto m) { m.getPools()[0].setKind(static_cast<wire::MemoryKind>(9)); }, std::nullopt},
    {"V14", "pool_without_a_handle", [](Model& m) { inPool(m); },
     [](auto m) { m.getPools()[0].getFile().disownFd(); }, std::nullopt},
    {"V14", "unused_pool_without_a_handle",
     [](Model& m) { m.pools = {poolOf(MemoryKind::ASHMEM)}; },
     [](auto m) { m.getPools()[0].getFile().disownFd(); }, std::nullopt},
    {"V14", "pool_larger_than_its_file", [](Model& m) { inPool(m); },
     [](auto m) { m.getPools()[0].setSize(1 << 20); }, std::nullopt},

    {"V15", "rule_broken_in_a_subgraph",
     [](Model& m) { subgraph(m, 0); m.referenced[0].operands[kA].scale = 1; }},
    {"V15", "subgraph_of_itself",
     [](Model& m) {
       const Operand self = subgraph(m, 0);
       m.referenced[0].operands.push_back(self);
     }},

    // No driver supports control flow of unknown sizes.
    {"V15", "while_of_known_sizes",
     [](Model& m) { loop(m, {1}, {1}, {1}, {1}); }, nullptr, HalVersion::V1_3},
    {"V15", "while_input_of_unknown_size", [](Model& m) { loop(m, {0}, {1}, {1}, {1}); }},
    {"V15", "while_output_of_unknown_rank", [](Model& m) { loop(m, {1}, {}, {1}, {1}); }},
    {"V15", "while_condition_of_unknown_rank", [](Model& m) { loop(m, {1}, {1}, {}, {1}); }},
    {"V15", "while_body_of_unknown_size", [](Model& m) { loop(m, {1}, {1}, {1}, {0}); }},
    {"V15", "if_of_known_sizes",
     [](Model& m) { branch(m, {4}, {4}, {4}); }, nullptr, HalVersion::V1_3},
    {"V15", "if_input_of_unknown_size", [](Model& m) { branch(m, {0}, {4}, {4}); }},
    {"V15", "if_branch_of_unknown_rank", [](Model& m) { branch(m, {4}, {}, {4}); }},
    {"V15", "if_output_of_unknown_size", [](Model& m) { branch(m, {4}, {4}, {0}); }},

    {"V17", "largest_size",
     [](Model& m) { unused(m, TENSOR_FLOAT32, {0x3fffffff}); }, nullptr, HalVersion::V1_0},
    {"V17", "size_beyond_32_bits", [](Model& m) { unused(m, TENSOR_FLOAT32, {0x40000000}); }},
    {"V17", "product_beyond_32_bits",
     [](Model& m) { unused(m, TENSOR_QUANT8_ASYMM, {0x10000, 0x10000}, 1); }},
    {"V17", "product_beyond_64_bits",
     [](Model& m) { unused(m, TENSOR_FLOAT32, {0xffffffff, 0xffffffff, 0xffffffff}); }},
};
// clang-format on

}  // namespace

std::span<const ModelRow> modelRows() { return kRows; }

Model ModelRow::model() const {
  Model made = addModel(4);
  if (change != nullptr) change(made);
  return made;
}

Model cyclicModel() {
  Model model = addModel(4);
  chain(model);
  const Operand temporary = model.main.operands[4];
  model.main.operands.push_back(temporary);
  model.main.operations.push_back({OperationType::ADD, {4, kB, kActivation}, {5}});
  model.main.operations[0].inputs = {5, kB, kActivation};
  return model;
}

}  // namespace halyard::validation
