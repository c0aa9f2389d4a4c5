// The closed sets of NNAPI: operand types, operation types, feature levels, HAL versions.
// Thread safety: pure functions over constant tables.
// Ownership: none; every name points to static storage.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "halyard/driver/export.h"

namespace halyard {

// Values are the ANEURALNETWORKS_* operand codes. A value above 0xFFFF is a vendor extension's:
// prefix in the high 16 bits, code within the extension in the low 16.
enum class OperandType : int32_t {
#define HALYARD_OPERAND_TYPE(code, name, bytes, scalar, level, scale, zpMin, zpMax) name = code,
#include "halyard/driver/operand_types.inc"
#undef HALYARD_OPERAND_TYPE
};

// Halyard's own extension: operations of TensorFlow Lite that NNAPI lacks
// (halyard/tflite_extension.h describes them). Alone of all it has the same prefix everywhere, so
// that its operations have numbers.
inline constexpr std::string_view kTfliteExtension = "halyard.tflite";
inline constexpr uint16_t kTfliteExtensionPrefix = 0x7fff;

// Values are the ANEURALNETWORKS_* operation codes; extensions as for OperandType.
enum class OperationType : int32_t {
#define HALYARD_OPERATION(code, name, definition) name = code,
#include "halyard/driver/ops.inc"
#include "halyard/driver/tflite_ops.inc"
#undef HALYARD_OPERATION
  OEM_OPERATION = 10000,
};

// NNAPI feature levels 1 to 8; 1 to 4 are the HAL versions 1.0 to 1.3.
enum class FeatureLevel : uint8_t { FL1 = 1, FL2, FL3, FL4, FL5, FL6, FL7, FL8 };
enum class HalVersion : uint8_t { V1_0 = 1, V1_1, V1_2, V1_3 };

inline FeatureLevel featureLevelOf(HalVersion version) {
  return static_cast<FeatureLevel>(static_cast<uint8_t>(version));
}
// The API's number for a level: 27 to 31, then 1000006 to 1000008.
HALYARD_EXPORT int64_t apiFeatureLevel(FeatureLevel level);
// "feature level 3 (HAL 1.2)".
HALYARD_EXPORT std::string featureLevelName(FeatureLevel level);
// "1.0" to "1.3", and back (nullopt for anything else).
HALYARD_EXPORT std::string_view halVersionName(HalVersion version);
HALYARD_EXPORT std::optional<HalVersion> halVersionFromName(std::string_view name);

enum class ScaleRule : uint8_t { ZERO, NON_NEGATIVE, POSITIVE, UNCHECKED };

// NNAPI's rules for one operand type.
struct OperandTypeTraits {
  OperandType type;
  std::string_view name;
  uint32_t elementSize;  // bytes; 0 for MODEL and OEM_SCALAR
  bool scalar;
  FeatureLevel since;
  ScaleRule scale;
  int32_t zeroPointMin;
  int32_t zeroPointMax;
};

// nullptr for an extension type or a value that names no type.
HALYARD_EXPORT const OperandTypeTraits* operandTypeTraits(OperandType type);
// All types, ascending by code.
HALYARD_EXPORT std::span<const OperandTypeTraits> allOperandTypes();

inline bool isExtension(int32_t code) { return (static_cast<uint32_t>(code) >> 16) != 0; }
inline bool isExtension(OperandType type) { return isExtension(static_cast<int32_t>(type)); }
inline bool isExtension(OperationType type) { return isExtension(static_cast<int32_t>(type)); }

// Names as in the API without prefix; "extension type 0x00010002" or "unknown type 99" otherwise.
HALYARD_EXPORT std::string operandTypeName(OperandType type);
HALYARD_EXPORT std::string operationTypeName(OperationType type);
// By exact name ("TENSOR_FLOAT32", "CONV_2D"); nullopt for an unknown name.
HALYARD_EXPORT std::optional<OperandType> operandTypeFromName(std::string_view name);
HALYARD_EXPORT std::optional<OperationType> operationTypeFromName(std::string_view name);
// True for the codes of the API, 0 to 105 (extension and OEM codes excluded).
HALYARD_EXPORT bool isBaseOperation(OperationType type);
// True for the operations of kTfliteExtension.
HALYARD_EXPORT bool isTfliteOperation(OperationType type);

// Bytes per element; 0 for extension types, MODEL and OEM_SCALAR.
HALYARD_EXPORT uint32_t elementSize(OperandType type);
// False for extension types (their driver knows).
HALYARD_EXPORT bool isScalarType(OperandType type);

inline bool isQuant8Asymm(OperandType type) {
  return type == OperandType::TENSOR_QUANT8_ASYMM ||
         type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED;
}

}  // namespace halyard
