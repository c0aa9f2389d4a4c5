// Reads TensorFlow Lite models (.tflite FlatBuffers) into Halyard's canonical model.
// Thread safety: pure functions. Ownership: the result owns everything; the input bytes may go.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"

namespace halyard::import {

// A main input or output as the file describes it.
struct ModelPort {
  std::string name;
  // As in Model::main.operands[...]; repeated here for convenience.
  OperandType type;
  Shape dims;
  float scale = 0;
  int32_t zeroPoint = 0;
};

struct ImportedModel {
  Model model;                     // passes validateModel
  std::vector<ModelPort> inputs;   // in the order of model.main.inputIndexes
  std::vector<ModelPort> outputs;  // in the order of model.main.outputIndexes
  std::string description;
  // By index of main.operands, for dumps; may be empty strings. Empty if they are left out.
  std::vector<std::string> operandNames;
};

// Names of all operands take longer than what they are seldom needed for is worth.
enum class OperandNames : uint8_t { LEFT_OUT, KEPT };

struct ImportOptions {
  OperandNames names = OperandNames::LEFT_OUT;
  // Whether the model may have operations of kTfliteExtension, for devices that offer it. Without,
  // operations of the API stand in their place, nineteen for one or one for each step of a
  // sequence, with the same results.
  bool usesExtension = false;
};

// `bytes` is hostile until verified: a truncated or forged file gives BAD_DATA with what is wrong,
// an operator or form that is not supported BAD_DATA "operator X of node N is not supported: why".
Result<ImportedModel> importTflite(std::span<const uint8_t> bytes,
                                   const ImportOptions& options = {});
// As above; errors begin with the file's name.
Result<ImportedModel> importTfliteFile(const std::string& path, const ImportOptions& options = {});

}  // namespace halyard::import
