// ModelWriter: makes small .tflite files for tests.
// Thread safety: none; a value of one test.
// Ownership: owns its data.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "import/tflite/sparsity.h"
#include "import/tflite/tflite_generated.h"

namespace halyard::import {

struct TensorSpec {
  std::string name;
  tfl::TensorType type = tfl::TensorType::FLOAT32;
  std::vector<int32_t> shape = {};
  std::vector<int32_t> shapeSignature = {};  // empty: none
  std::vector<uint8_t> data = {};            // empty: not a constant
  std::vector<float> scales = {};
  std::vector<int64_t> zeroPoints = {};
  int32_t quantizedDimension = 0;
  bool isVariable = false;
  std::optional<Sparsity> sparsity = {};
  uint8_t quantizationDetails = 0;
  uint32_t externalBuffer = 0;
  std::optional<uint32_t> buffer = {};  // in place of a buffer of its own
};

using OptionsMaker = std::function<flatbuffers::Offset<void>(flatbuffers::FlatBufferBuilder&)>;

struct NodeSpec {
  tfl::BuiltinOperator op = tfl::BuiltinOperator::ADD;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  tfl::BuiltinOptions optionsType = tfl::BuiltinOptions::NONE;
  OptionsMaker options;
  tfl::BuiltinOptions2 options2Type = tfl::BuiltinOptions2::NONE;
  OptionsMaker options2;
  std::string customName;
  std::vector<uint8_t> customOptions;
  std::vector<int32_t> intermediates;
  // The operator's two codes as written. By default they follow from `op`.
  std::optional<int32_t> builtinCode;
  std::optional<int32_t> deprecatedCode;
};

// Returns the bytes of values, for TensorSpec::data.
template <typename T>
std::vector<uint8_t> bytesOf(const std::vector<T>& values) {
  const auto* const begin = reinterpret_cast<const uint8_t*>(values.data());
  return {begin, begin + values.size() * sizeof(T)};
}
template <typename T>
std::vector<uint8_t> bytesOf(std::initializer_list<T> values) {
  return bytesOf(std::vector<T>(values));
}

class ModelWriter {
 public:
  // Each function returns the new tensor's index.
  int32_t tensor(TensorSpec spec);
  int32_t floats(std::string name, std::vector<int32_t> shape);
  int32_t floatConstant(std::string name, std::vector<int32_t> shape,
                        const std::vector<float>& values);
  int32_t quantised(std::string name, tfl::TensorType type, std::vector<int32_t> shape, float scale,
                    int64_t zeroPoint);
  int32_t quantisedConstant(std::string name, tfl::TensorType type, std::vector<int32_t> shape,
                            std::vector<uint8_t> data, float scale, int64_t zeroPoint);
  int32_t intConstant(std::string name, const std::vector<int32_t>& values);

  // Adds a node with options from the generated CreateXOptions, or without options.
  NodeSpec& node(tfl::BuiltinOperator op, std::vector<int32_t> in, std::vector<int32_t> out);
  template <typename Maker>
  NodeSpec& node(tfl::BuiltinOperator op, std::vector<int32_t> in, std::vector<int32_t> out,
                 tfl::BuiltinOptions type, Maker maker) {
    NodeSpec& added = node(op, std::move(in), std::move(out));
    added.optionsType = type;
    added.options = [maker](flatbuffers::FlatBufferBuilder& b) { return maker(b).Union(); };
    return added;
  }

  // As above, with the options of newer operators.
  template <typename Maker>
  NodeSpec& node(tfl::BuiltinOperator op, std::vector<int32_t> in, std::vector<int32_t> out,
                 tfl::BuiltinOptions2 type, Maker maker) {
    NodeSpec& added = node(op, std::move(in), std::move(out));
    added.options2Type = type;
    added.options2 = [maker](flatbuffers::FlatBufferBuilder& b) { return maker(b).Union(); };
    return added;
  }

  std::vector<uint8_t> bytes() const;

  std::vector<TensorSpec> tensors;
  std::vector<NodeSpec> nodes;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  uint32_t version = 3;
  std::string description = "made by a test";
  const char* identifier = "TFL3";
  bool withSubgraph = true;
  std::string subgraphName;  // empty: none
  // The further subgraphs, from number 1 on. Only their tensors, nodes, inputs, outputs and names
  // are written.
  std::vector<ModelWriter> subgraphs;
};

}  // namespace halyard::import
