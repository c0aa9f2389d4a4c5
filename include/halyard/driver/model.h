// The canonical model, which every interface of Halyard converts to and from. Thread safety: plain
// data; a Model that is shared is not changed any more. Ownership: owns its tables; pools are
// shared.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "halyard/driver/export.h"
#include "halyard/driver/nnapi_types.h"
#include "halyard/driver/shared_memory.h"
#include "halyard/driver/small_vector.h"
#include "halyard/driver/status.h"

namespace halyard {

// Dimensions of a tensor, outermost first. In a model, an entry 0 is an unknown dimension, and an
// empty list an unknown rank (or a scalar). At execution, 0 is a real, zero-sized dimension.
using Shape = SmallVector<uint32_t, 4>;
// Operands of an operation, by their indices.
using OperandIndexes = SmallVector<uint32_t, 4>;

// Values as on the HAL 1.3 wire.
enum class Lifetime : uint8_t {
  TEMPORARY_VARIABLE = 0,
  SUBGRAPH_INPUT = 1,
  SUBGRAPH_OUTPUT = 2,
  CONSTANT_COPY = 3,       // bytes in Model::operandValues
  CONSTANT_REFERENCE = 4,  // bytes in one of Model::pools
  NO_VALUE = 5,            // omitted
  SUBGRAPH = 6,            // location.offset is the index into Model::referenced
};
HALYARD_EXPORT std::string_view lifetimeName(Lifetime lifetime);

struct DataLocation {
  uint32_t poolIndex = 0;
  uint32_t offset = 0;  // bytes
  uint32_t length = 0;  // bytes
};

// Scales of a TENSOR_QUANT8_SYMM_PER_CHANNEL operand: real value = scales[i] * q, where i is the
// element's coordinate in dimension `channelDim`.
struct SymmPerChannelQuantParams {
  std::vector<float> scales;
  uint32_t channelDim = 0;
  bool operator==(const SymmPerChannelQuantParams&) const = default;
};
using ExtraParams = std::variant<std::monostate, SymmPerChannelQuantParams, std::vector<uint8_t>>;

struct Operand {
  OperandType type = OperandType::FLOAT32;
  Shape dimensions;
  float scale = 0;
  int32_t zeroPoint = 0;
  Lifetime lifetime = Lifetime::TEMPORARY_VARIABLE;
  DataLocation location;
  ExtraParams extraParams;
};

struct Operation {
  OperationType type = {};
  OperandIndexes inputs;
  OperandIndexes outputs;
};

struct Subgraph {
  std::vector<Operand> operands;
  std::vector<Operation> operations;  // in an order in which they can run
  std::vector<uint32_t> inputIndexes;
  std::vector<uint32_t> outputIndexes;
};

struct ExtensionNameAndPrefix {
  std::string name;
  uint16_t prefix = 0;
};

struct Model {
  Subgraph main;
  std::vector<Subgraph> referenced;
  std::vector<uint8_t> operandValues;
  std::vector<SharedMemoryPtr> pools;
  bool relaxComputationFloat32toFloat16 = false;
  std::vector<ExtensionNameAndPrefix> extensionNameToPrefix;
};

// Number of elements; nullopt when a dimension is unknown (0), the rank is unknown (empty), or the
// product exceeds 2^32 - 1.
HALYARD_EXPORT std::optional<uint32_t> knownElementCount(const Shape& shape);
// Bytes of an operand by its type and dimensions: scalars have their element size, tensors that of
// all elements. nullopt when unknown, not representable in 32 bits, or of an extension type.
HALYARD_EXPORT std::optional<uint32_t> knownByteSize(OperandType type, const Shape& shape);
// Bytes by the real dimensions of an execution, where 0 is zero-sized and none is a scalar. nullopt
// when not representable in 32 bits.
HALYARD_EXPORT std::optional<uint32_t> realByteSize(OperandType type, const Shape& dims);
// BAD_DATA when the product of the non-zero dimensions times the element size exceeds 2^32 - 1.
HALYARD_EXPORT Status checkSizeFits(OperandType type, const Shape& shape);

// "[1,224,224,3]"; unknown dimensions print as "?", an unknown rank as "[...]".
HALYARD_EXPORT std::string shapeText(const Shape& shape);
// "TENSOR_QUANT8_ASYMM[1,224,224,3] scale 0.5 zero point 128".
HALYARD_EXPORT std::string operandText(const Operand& operand);
// "operation #12 CONV_2D".
HALYARD_EXPORT std::string operationText(size_t index, OperationType type);

// How often each operand is an input of an operation, each use counted (HAL numberOfConsumers).
HALYARD_EXPORT std::vector<uint32_t> countConsumers(const Subgraph& subgraph);

// Appends `bytes` to model.operandValues at NNAPI's alignment (1, 2 or 4 by length) and returns
// where they are.
HALYARD_EXPORT DataLocation appendConstant(Model& model, const void* bytes, size_t length);

}  // namespace halyard
