// Reads TensorFlow Lite models (.tflite FlatBuffers) into Halyard's canonical model.
// Thread safety: pure functions.
// Ownership: the result owns everything; the input bytes may be freed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"

namespace halyard::import {

class ModelFile;

// How an operand represents the elements of its tensor in the file.
enum class ElementForm : uint8_t {
  SAME,       // the same elements, of the operand's type
  INT64,      // 64-bit integers in the file, 32 bits in the operand
  COMPLEX64,  // pairs of float32: the operand's last dimension is twice the tensor's
  WHOLE,      // whole numbers as float32 in the file, TENSOR_INT32 in the operand
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

// A variable of the file as an input and an output of the model.
struct ModelState {
  int32_t tensor = -1;  // in the file; -1: the variable of a resource
  ModelPort port;
  std::vector<uint8_t> first;  // the value before the first execution
};

struct ImportedModel {
  Model model;                     // passes validateModel
  std::vector<ModelPort> inputs;   // in the order of model.main.inputIndexes
  std::vector<ModelPort> outputs;  // in the order of model.main.outputIndexes
  // The last inputs, and the last outputs, of the model. Empty for FIRST_VALUES.
  std::vector<ModelState> states;
  std::string description;
  // By index of main.operands, for dumps; single names may be empty. Empty if names are left out.
  std::vector<std::string> operandNames;
};

// Names of all operands take more time than their rare use justifies.
enum class OperandNames : uint8_t { LEFT_OUT, KEPT };

// The operations of kTfliteExtension that the model may have.
enum class ExtensionUse : uint8_t {
  // None: no device offers it. Models that the API cannot express are refused.
  NONE,
  // Only those that operations of the API cannot replace: some device offers it.
  WHERE_NEEDED,
  // Also those that replace nineteen operations of the API, or one operation per step of a
  // sequence, with the same results: every device offers it.
  PREFERRED,
};

// The use of the values that a file keeps between executions.
enum class StateUse : uint8_t {
  // Each execution begins with their first values.
  FIRST_VALUES,
  // Tensors that are variables become inputs and outputs of the model, so that the caller can keep
  // their values. Variables of resources are refused, because the interpreter keeps them.
  OF_TENSORS,
  // Variables of both kinds become inputs and outputs.
  ALL,
};

// The shape of an input, in place of the file's.
struct InputShape {
  std::string name;
  Shape dims;
};

struct ImportOptions {
  OperandNames names = OperandNames::LEFT_OUT;
  ExtensionUse extension = ExtensionUse::NONE;
  // Keeps open dimensions of inputs unknown (0) in the model, together with all dimensions that
  // follow from them. Otherwise they get the file's values, usually 1, as in TensorFlow Lite.
  bool keepsOpenDimensions = false;
  // Unless 0: the first dimension of every input, which must be open or 1 in the file. The first
  // dimensions of other tensors follow. BAD_DATA for an operator that does not take it. The caller
  // must check that the elements of a batch are independent.
  uint32_t batch = 0;
  // Shapes for inputs whose open dimensions get these sizes. A name that no input has, another
  // rank, and another size of a dimension that is not open are BAD_DATA.
  std::span<const InputShape> inputShapes = {};
  StateUse states = StateUse::FIRST_VALUES;
  // Float32 may be computed with the range and precision of float16
  // (Model::relaxComputationFloat32toFloat16).
  bool allowFloat16 = false;
  // The numbers that errors give the nodes, for a file that is a part of a graph. Empty: their
  // numbers in the file.
  std::span<const int32_t> nodeNumbers = {};
  // Where another model begins in the file, whose subgraphs the operators call.
  std::optional<uint64_t> calleesBegin = std::nullopt;
};

// `bytes` is hostile until verified. A truncated or forged file gives BAD_DATA with the reason. An
// unsupported operator or form gives BAD_DATA "operator X of node N is not supported: why".
Result<ImportedModel> importTflite(std::span<const uint8_t> bytes,
                                   const ImportOptions& options = {});
// As above, for a file of which some parts may be missing.
Result<ImportedModel> importTflite(ModelFile& file, const ImportOptions& options = {});
// As above. Errors begin with the file's name.
Result<ImportedModel> importTfliteFile(const std::string& path, const ImportOptions& options = {});

}  // namespace halyard::import
