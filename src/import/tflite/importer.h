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

// How the elements of a tensor of the file stand in its operand.
enum class ElementForm : uint8_t {
  SAME,       // one by one, of the operand's type
  INT64,      // 64-bit integers in the file, 32 bits in the operand
  COMPLEX64,  // pairs of float32 side by side: the operand's last dimension is twice the tensor's
};

// A main input or output as the file describes it.
struct ModelPort {
  std::string name;
  // As in Model::main.operands[...]; repeated here for convenience.
  OperandType type;
  Shape dims;
  float scale = 0;
  int32_t zeroPoint = 0;
  ElementForm form = ElementForm::SAME;
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

// Which operations of kTfliteExtension the model may have.
enum class ExtensionUse : uint8_t {
  // None: no device offers it. What the API cannot express is refused.
  NONE,
  // Those that operations of the API cannot replace: some device offers it.
  WHERE_NEEDED,
  // Also those in whose place nineteen operations of the API would stand, or one for each step of a
  // sequence, with the same results: every device offers it.
  PREFERRED,
};

struct ImportOptions {
  OperandNames names = OperandNames::LEFT_OUT;
  ExtensionUse extension = ExtensionUse::NONE;
  // Whether dimensions of inputs that the file leaves open are unknown (0) in the model, as others
  // that follow from them then are. Otherwise they are what the file gives in their place, as
  // TensorFlow Lite takes them: 1 as a rule.
  bool keepsOpenDimensions = false;
};

// `bytes` is hostile until verified: a truncated or forged file gives BAD_DATA with what is wrong,
// an operator or form that is not supported BAD_DATA "operator X of node N is not supported: why".
Result<ImportedModel> importTflite(std::span<const uint8_t> bytes,
                                   const ImportOptions& options = {});
// As above; errors begin with the file's name.
Result<ImportedModel> importTfliteFile(const std::string& path, const ImportOptions& options = {});

}  // namespace halyard::import
