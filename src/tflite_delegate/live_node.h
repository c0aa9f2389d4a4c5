// A copy of an interpreter's node, and its options in the form of the file format.
// Thread safety: values. Ownership: owns all it has, but refers to constants by tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "import/tflite/tflite_generated.h"
#include "tflite_delegate/abi.h"

namespace halyard::tflite {

namespace tfl = ::halyard::import::tfl;

// Writes the options of an operator into a FlatBuffer.
using OptionsWriter = std::function<flatbuffers::Offset<void>(flatbuffers::FlatBufferBuilder& to)>;

struct LiveOptions {
  // One of the two kinds is NONE.
  tfl::BuiltinOptions type = tfl::BuiltinOptions::NONE;
  tfl::BuiltinOptions2 type2 = tfl::BuiltinOptions2::NONE;  // of newer operators
  OptionsWriter write;                                      // empty: no options
};

struct LiveNode {
  int32_t index = 0;  // in the interpreter's graph
  int32_t builtinCode = 0;
  int32_t version = 1;
  std::string customName;
  std::vector<uint8_t> customData;
  bool hasKernel = true;        // of the interpreter; custom operators may have none
  std::vector<int32_t> inputs;  // tensors; -1: omitted
  std::vector<int32_t> outputs;
  std::vector<int32_t> intermediates;
  LiveOptions options;
  std::vector<int32_t> callees;  // graphs that it calls

  // The name of the operator in the file format, or the custom operator's.
  std::string operatorName() const;
};

// Copies a node. BAD_DATA if the interpreter does not give it, or has no options for an operator
// that needs them.
Result<LiveNode> copyNode(LiteContext* context, int32_t index);

// The options of a builtin operator, from the interpreter's structure for it, which may be null.
// BAD_DATA if the operator needs a structure and has none, or if the structure has a value that the
// file format has not.
Result<LiveOptions> optionsOf(int32_t builtinCode, const void* data);

// The graphs of the interpreter that a builtin operator calls, from its structure of options.
std::vector<int32_t> calleesOf(int32_t builtinCode, const void* data);

// Whether optionsOf gives the operator options if it has a structure for them.
bool hasLiveOptions(int32_t builtinCode);

}  // namespace halyard::tflite
