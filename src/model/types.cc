#include "halyard/driver/nnapi_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace halyard {
namespace {

constexpr OperandTypeTraits kOperandTypes[] = {
#define HALYARD_OPERAND_TYPE(code, name, bytes, scalar, level, scale, zpMin, zpMax) \
  {OperandType::name, #name, bytes, scalar, FeatureLevel::FL##level,                \
   ScaleRule::scale,  zpMin, zpMax},
#include "halyard/driver/operand_types.inc"
#undef HALYARD_OPERAND_TYPE
};

constexpr std::string_view kOperationNames[] = {
#define HALYARD_OPERATION(code, name, definition) #name,
#include "halyard/driver/ops.inc"
#undef HALYARD_OPERATION
};

constexpr std::string_view kTfliteOperationNames[] = {
#define HALYARD_OPERATION(code, name, definition) #name,
#include "halyard/driver/tflite_ops.inc"
#undef HALYARD_OPERATION
};
constexpr int32_t kFirstTfliteOperation = int32_t{kTfliteExtensionPrefix} << 16;

constexpr std::string_view kHalVersionNames[] = {"1.0", "1.1", "1.2", "1.3"};

}  // namespace

int64_t apiFeatureLevel(FeatureLevel level) {
  const auto number = static_cast<int64_t>(level);
  return number <= 5 ? 26 + number : 1000000 + number;
}

std::string featureLevelName(FeatureLevel level) {
  const auto number = static_cast<size_t>(level);
  if (number >= 1 && number <= std::size(kHalVersionNames)) {
    return fmt::format("feature level {} (HAL {})", number, kHalVersionNames[number - 1]);
  }
  return fmt::format("feature level {}", number);
}

std::string_view halVersionName(HalVersion version) {
  return kHalVersionNames[static_cast<size_t>(version) - 1];
}

std::optional<HalVersion> halVersionFromName(std::string_view name) {
  const auto* it = std::find(std::begin(kHalVersionNames), std::end(kHalVersionNames), name);
  if (it == std::end(kHalVersionNames)) return std::nullopt;
  return static_cast<HalVersion>(it - std::begin(kHalVersionNames) + 1);
}

const OperandTypeTraits* operandTypeTraits(OperandType type) {
  // The first codes are equal to their indices in the table.
  const auto code = static_cast<uint32_t>(type);
  if (code < std::size(kOperandTypes) && kOperandTypes[code].type == type) {
    return &kOperandTypes[code];
  }
  const auto* it = std::lower_bound(
      std::begin(kOperandTypes), std::end(kOperandTypes), type,
      [](const OperandTypeTraits& traits, OperandType value) { return traits.type < value; });
  return it != std::end(kOperandTypes) && it->type == type ? it : nullptr;
}

std::span<const OperandTypeTraits> allOperandTypes() { return kOperandTypes; }

std::string operandTypeName(OperandType type) {
  if (const OperandTypeTraits* traits = operandTypeTraits(type)) return std::string(traits->name);
  const auto code = static_cast<int32_t>(type);
  if (isExtension(code)) return fmt::format("extension type {:#010x}", static_cast<uint32_t>(code));
  return fmt::format("unknown type {}", code);
}

std::string operationTypeName(OperationType type) {
  const auto code = static_cast<int32_t>(type);
  if (isBaseOperation(type)) return std::string(kOperationNames[code]);
  if (type == OperationType::OEM_OPERATION) return "OEM_OPERATION";
  if (isTfliteOperation(type)) {
    return std::string(kTfliteOperationNames[code - kFirstTfliteOperation]);
  }
  if (isExtension(code)) {
    return fmt::format("extension operation {:#010x}", static_cast<uint32_t>(code));
  }
  return fmt::format("unknown operation {}", code);
}

std::optional<OperandType> operandTypeFromName(std::string_view name) {
  for (const OperandTypeTraits& traits : kOperandTypes) {
    if (traits.name == name) return traits.type;
  }
  return std::nullopt;
}

std::optional<OperationType> operationTypeFromName(std::string_view name) {
  const auto* it = std::find(std::begin(kOperationNames), std::end(kOperationNames), name);
  if (it != std::end(kOperationNames)) {
    return static_cast<OperationType>(it - std::begin(kOperationNames));
  }
  it = std::find(std::begin(kTfliteOperationNames), std::end(kTfliteOperationNames), name);
  if (it == std::end(kTfliteOperationNames)) return std::nullopt;
  return static_cast<OperationType>(kFirstTfliteOperation +
                                    (it - std::begin(kTfliteOperationNames)));
}

bool isBaseOperation(OperationType type) {
  const auto code = static_cast<int32_t>(type);
  return code >= 0 && code < static_cast<int32_t>(std::size(kOperationNames));
}

bool isTfliteOperation(OperationType type) {
  const auto code = static_cast<int32_t>(type);
  return code >= kFirstTfliteOperation &&
         code - kFirstTfliteOperation < static_cast<int32_t>(std::size(kTfliteOperationNames));
}

uint32_t elementSize(OperandType type) {
  const OperandTypeTraits* traits = operandTypeTraits(type);
  return traits ? traits->elementSize : 0;
}

bool isScalarType(OperandType type) {
  const OperandTypeTraits* traits = operandTypeTraits(type);
  return traits != nullptr && traits->scalar;
}

}  // namespace halyard
