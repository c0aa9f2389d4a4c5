// The table of variants, and their changes to a case.
#include "conformance/variants.h"

#include <algorithm>
#include <cstring>

namespace halyard::conformance {
namespace {

constexpr VariantTraits kVariants[] = {
    {.name = "plain", .description = "as the case is", .variant = Variant::PLAIN},
    {.name = "unknown-dimensions",
     .description = "the model leaves the dimensions of its outputs open",
     .variant = Variant::UNKNOWN_DIMENSIONS,
     .outputShapes = OutputShapes::UNKNOWN_DIMENSIONS},
    {.name = "unknown-rank",
     .description = "the model leaves even the rank of its outputs open",
     .variant = Variant::UNKNOWN_RANK,
     .outputShapes = OutputShapes::UNKNOWN_RANK},
    {.name = "internal-inputs",
     .description = "an operation that keeps values stands before each input",
     .variant = Variant::INTERNAL_INPUTS,
     .internalInputs = true},
    {.name = "pools",
     .description = "constants, inputs and outputs are in shared memory",
     .variant = Variant::POOLS,
     .pools = true},
    {.name = "relaxed",
     .description = "float32 may be computed as float16",
     .variant = Variant::RELAXED,
     .relaxed = true},
    {.name = "twice",
     .description = "two compilations of one model, each run twice",
     .variant = Variant::TWICE,
     .compilations = 2,
     .executions = 2},
    {.name = "threads",
     .description = "8 threads run one compilation at once",
     .variant = Variant::THREADS,
     .threads = 8},
    {.name = "async",
     .description = "startCompute and an event (API only)",
     .variant = Variant::ASYNC,
     .launch = Launch::ASYNC},
    {.name = "burst",
     .description = "twice in one burst",
     .variant = Variant::BURST,
     .launch = Launch::BURST,
     .executions = 2},
    {.name = "fenced",
     .description = "one execution depends on another's fence, arguments in shared memory",
     .variant = Variant::FENCED,
     .pools = true,
     .launch = Launch::FENCED,
     .executions = 2},
};

// Moves the constants of operandValues into a pool. Their offsets are multiples of 4, but of no
// larger number.
Status moveConstantsToPool(Model& model) {
  constexpr uint32_t kAlignment = 4;
  constexpr uint32_t kFirst = 20;
  std::vector<uint8_t> bytes(kFirst, 0xee);
  const auto poolIndex = static_cast<uint32_t>(model.pools.size());
  const auto move = [&](Subgraph& subgraph) {
    for (Operand& operand : subgraph.operands) {
      if (operand.lifetime != Lifetime::CONSTANT_COPY || operand.location.length == 0) continue;
      bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment, 0xee);
      const uint8_t* from = model.operandValues.data() + operand.location.offset;
      operand.lifetime = Lifetime::CONSTANT_REFERENCE;
      operand.location.poolIndex = poolIndex;
      operand.location.offset = static_cast<uint32_t>(bytes.size());
      bytes.insert(bytes.end(), from, from + operand.location.length);
    }
  };
  move(model.main);
  for (Subgraph& subgraph : model.referenced) move(subgraph);
  if (bytes.size() == kFirst) return okStatus();
  HALYARD_ASSIGN_OR_RETURN(SharedMemoryPtr pool,
                           SharedMemory::create(bytes.size(), "conformance-constants"));
  HALYARD_ASSIGN_OR_RETURN(const Mapping mapping, pool->map());
  std::memcpy(mapping.data(), bytes.data(), bytes.size());
  model.pools.push_back(std::move(pool));
  return okStatus();
}

// Returns one element that adds nothing: the zero point, or the negative zero of a float. Empty for
// types that do not use ADD.
std::vector<uint8_t> zeroElement(const Operand& operand) {
  switch (operand.type) {
    case OperandType::TENSOR_FLOAT32:
      return {0, 0, 0, 0x80};
    case OperandType::TENSOR_FLOAT16:
      return {0, 0x80};
    case OperandType::TENSOR_QUANT8_ASYMM:
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return {static_cast<uint8_t>(operand.zeroPoint)};
    default:
      return {};
  }
}

bool canBeCastToItself(OperandType type) {
  switch (type) {
    case OperandType::TENSOR_FLOAT32:
    case OperandType::TENSOR_FLOAT16:
    case OperandType::TENSOR_INT32:
    case OperandType::TENSOR_BOOL8:
    case OperandType::TENSOR_QUANT8_ASYMM:
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
    case OperandType::TENSOR_QUANT8_SYMM:
    case OperandType::TENSOR_QUANT16_ASYMM:
    case OperandType::TENSOR_QUANT16_SYMM:
      return true;
    default:
      return false;
  }
}

uint32_t addConstant(Model& model, Operand operand, std::span<const uint8_t> bytes) {
  operand.lifetime = Lifetime::CONSTANT_COPY;
  operand.location = appendConstant(model, bytes.data(), bytes.size());
  model.main.operands.push_back(std::move(operand));
  return static_cast<uint32_t>(model.main.operands.size() - 1);
}

// Returns an operation that copies all values to operand `index`. The caller must set its first
// input. Returns nullopt if there is no such operation.
std::optional<Operation> copyingOperation(Model& model, uint32_t index) {
  const Operand operand = model.main.operands[index];
  const size_t rank = operand.dimensions.size();
  if (operand.lifetime != Lifetime::SUBGRAPH_INPUT || rank == 0 ||
      !knownByteSize(operand.type, operand.dimensions)) {
    return std::nullopt;
  }
  const std::vector<uint8_t> zero = zeroElement(operand);
  if (!zero.empty() && rank <= 4) {
    Operand constant = operand;
    constant.dimensions = {1};
    const uint32_t addend = addConstant(model, constant, zero);
    Operand scalar;
    scalar.type = OperandType::INT32;
    const uint32_t noActivation = addConstant(model, scalar, std::vector<uint8_t>(4));
    return Operation{OperationType::ADD, {0, addend, noActivation}, {index}};
  }
  if (!canBeCastToItself(operand.type)) return std::nullopt;
  return Operation{OperationType::CAST, {0}, {index}};
}

void makeInputsInternal(VectorCase& vectorCase) {
  Model& model = vectorCase.model;
  Subgraph& main = model.main;
  std::vector<Operation> operations;
  for (size_t i = 0; i < main.inputIndexes.size(); ++i) {
    const uint32_t index = main.inputIndexes[i];
    if (vectorCase.inputs[i].omitted) continue;
    std::optional<Operation> operation = copyingOperation(model, index);
    if (!operation) continue;
    const auto added = static_cast<uint32_t>(main.operands.size());
    main.operands.push_back(Operand(main.operands[index]));
    main.operands[index].lifetime = Lifetime::TEMPORARY_VARIABLE;
    main.inputIndexes[i] = added;
    operation->inputs[0] = added;
    operations.push_back(*std::move(operation));
  }
  main.operations.insert(main.operations.begin(), std::make_move_iterator(operations.begin()),
                         std::make_move_iterator(operations.end()));
}

}  // namespace

std::span<const VariantTraits> allVariants() { return kVariants; }

const VariantTraits& traitsOf(Variant variant) { return kVariants[static_cast<size_t>(variant)]; }

std::optional<Variant> variantFromName(std::string_view name) {
  for (const VariantTraits& traits : kVariants) {
    if (traits.name == name) return traits.variant;
  }
  return std::nullopt;
}

Result<VectorCase> applyVariant(VectorCase vectorCase, Variant variant) {
  const VariantTraits& traits = traitsOf(variant);
  if (traits.outputShapes != OutputShapes::KNOWN && !vectorCase.expectFailure) {
    vectorCase.model = withOutputShapes(vectorCase, traits.outputShapes);
  }
  if (traits.internalInputs) makeInputsInternal(vectorCase);
  if (traits.pools) HALYARD_RETURN_IF_ERROR(moveConstantsToPool(vectorCase.model));
  if (traits.relaxed) {
    vectorCase.relaxed = true;
    vectorCase.model.relaxComputationFloat32toFloat16 = true;
  }
  return vectorCase;
}

}  // namespace halyard::conformance
