// Helpers for tests of the importer.
// Thread safety: pure functions.
// Ownership: results are values.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "halyard/driver/model.h"
#include "import/tflite/importer.h"
#include "import/tflite/model_writer.h"

namespace halyard::import {

inline Result<ImportedModel> importModel(const ModelWriter& writer) {
  return importTflite(writer.bytes(),
                      {.names = OperandNames::KEPT, .extension = ExtensionUse::WHERE_NEEDED});
}

inline int32_t typed(ModelWriter& writer, const char* name, tfl::TensorType type,
                     std::vector<int32_t> shape) {
  TensorSpec spec;
  spec.name = name;
  spec.type = type;
  spec.shape = std::move(shape);
  return writer.tensor(std::move(spec));
}

// Returns the whole text of the error, "" when the import succeeds.
inline std::string refusalOf(const ModelWriter& writer) {
  const Result<ImportedModel> result = importModel(writer);
  return result.ok() ? "" : result.status().toString();
}

// Returns the types of the operations in order.
inline std::vector<std::string> operationsOf(const ImportedModel& imported) {
  std::vector<std::string> names;
  for (const Operation& operation : imported.model.main.operations) {
    names.push_back(operationTypeName(operation.type));
  }
  return names;
}

inline const Operand& inputOf(const ImportedModel& imported, size_t operation, size_t input) {
  const Subgraph& main = imported.model.main;
  return main.operands[main.operations[operation].inputs[input]];
}

inline const Operand& outputOf(const ImportedModel& imported, size_t operation, size_t output = 0) {
  const Subgraph& main = imported.model.main;
  return main.operands[main.operations[operation].outputs[output]];
}

// Returns the elements of a constant.
template <typename T>
std::vector<T> constantOf(const ImportedModel& imported, const Operand& operand) {
  std::vector<T> values(operand.location.length / sizeof(T));
  if (operand.lifetime == Lifetime::CONSTANT_COPY) {
    std::memcpy(values.data(), imported.model.operandValues.data() + operand.location.offset,
                operand.location.length);
  } else if (operand.lifetime == Lifetime::CONSTANT_REFERENCE) {
    const Result<Mapping> mapping = imported.model.pools[operand.location.poolIndex]->map();
    EXPECT_TRUE(mapping.ok()) << mapping.status().toString();
    std::memcpy(values.data(), mapping.value().data() + operand.location.offset,
                operand.location.length);
  } else {
    ADD_FAILURE() << "no constant: " << operandText(operand);
  }
  return values;
}

// Returns the INT32 scalars among the inputs of an operation from `first` on.
inline std::vector<int32_t> scalarsOf(const ImportedModel& imported, size_t operation,
                                      size_t first) {
  std::vector<int32_t> values;
  const size_t count = imported.model.main.operations[operation].inputs.size();
  for (size_t i = first; i < count; ++i) {
    const Operand& operand = inputOf(imported, operation, i);
    if (operand.type == OperandType::INT32) {
      values.push_back(constantOf<int32_t>(imported, operand)[0]);
    } else if (operand.type == OperandType::BOOL) {
      values.push_back(constantOf<uint8_t>(imported, operand)[0]);
    }
  }
  return values;
}

}  // namespace halyard::import
