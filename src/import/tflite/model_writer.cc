// Writes small .tflite files.
#include "import/tflite/model_writer.h"

#include <algorithm>

namespace halyard::import {

int32_t ModelWriter::tensor(TensorSpec spec) {
  tensors.push_back(std::move(spec));
  return static_cast<int32_t>(tensors.size() - 1);
}

int32_t ModelWriter::floats(std::string name, std::vector<int32_t> shape) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.shape = std::move(shape);
  return tensor(std::move(spec));
}

int32_t ModelWriter::floatConstant(std::string name, std::vector<int32_t> shape,
                                   const std::vector<float>& values) {
  const int32_t index = floats(std::move(name), std::move(shape));
  tensors.back().data = bytesOf(values);
  return index;
}

int32_t ModelWriter::quantised(std::string name, tfl::TensorType type, std::vector<int32_t> shape,
                               float scale, int64_t zeroPoint) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.type = type;
  spec.shape = std::move(shape);
  spec.scales = {scale};
  spec.zeroPoints = {zeroPoint};
  return tensor(std::move(spec));
}

int32_t ModelWriter::quantisedConstant(std::string name, tfl::TensorType type,
                                       std::vector<int32_t> shape, std::vector<uint8_t> data,
                                       float scale, int64_t zeroPoint) {
  const int32_t index = quantised(std::move(name), type, std::move(shape), scale, zeroPoint);
  tensors.back().data = std::move(data);
  return index;
}

int32_t ModelWriter::intConstant(std::string name, const std::vector<int32_t>& values) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.type = tfl::TensorType::INT32;
  spec.shape = {static_cast<int32_t>(values.size())};
  spec.data = bytesOf(values);
  return tensor(std::move(spec));
}

NodeSpec& ModelWriter::node(tfl::BuiltinOperator op, std::vector<int32_t> in,
                            std::vector<int32_t> out) {
  NodeSpec spec;
  spec.op = op;
  spec.inputs = std::move(in);
  spec.outputs = std::move(out);
  nodes.push_back(std::move(spec));
  return nodes.back();
}

flatbuffers::Offset<tfl::Tensor> ModelWriter::writeTensor(flatbuffers::FlatBufferBuilder& b,
                                                          const TensorSpec& spec,
                                                          uint32_t buffer) const {
  flatbuffers::Offset<tfl::QuantizationParameters> quantization;
  if (!spec.scales.empty() || !spec.zeroPoints.empty() || spec.quantizationDetails != 0) {
    quantization = tfl::CreateQuantizationParametersDirect(
        b, &spec.scales, &spec.zeroPoints, spec.quantizationDetails, spec.quantizedDimension);
  }
  flatbuffers::Offset<tfl::SparsityParameters> sparsity;
  if (spec.sparsity) sparsity = spec.sparsity->write(b);
  return tfl::CreateTensorDirect(
      b, &spec.shape, spec.type, buffer, spec.name.c_str(), quantization, spec.isVariable, sparsity,
      spec.shapeSignature.empty() ? nullptr : &spec.shapeSignature, spec.externalBuffer);
}

std::vector<uint8_t> ModelWriter::bytes() const {
  flatbuffers::FlatBufferBuilder b;
  std::vector<flatbuffers::Offset<tfl::Buffer>> buffers = {tfl::CreateBuffer(b)};
  std::vector<flatbuffers::Offset<tfl::Tensor>> tensorOffsets;
  for (const TensorSpec& spec : tensors) {
    uint32_t buffer = 0;
    if (spec.buffer) {
      buffer = *spec.buffer;
    } else if (!spec.data.empty()) {
      buffer = static_cast<uint32_t>(buffers.size());
      buffers.push_back(tfl::CreateBufferDirect(b, &spec.data));
    }
    tensorOffsets.push_back(writeTensor(b, spec, buffer));
  }

  std::vector<flatbuffers::Offset<tfl::OperatorCode>> codes;
  std::vector<flatbuffers::Offset<tfl::Operator>> operators;
  for (const NodeSpec& spec : nodes) {
    const auto code = static_cast<int32_t>(spec.op);
    codes.push_back(tfl::CreateOperatorCodeDirect(
        b, static_cast<int8_t>(spec.deprecatedCode.value_or(std::min(code, 127))),
        spec.customName.empty() ? nullptr : spec.customName.c_str(), 1,
        spec.builtinCode.value_or(code)));
    flatbuffers::Offset<void> options;
    if (spec.options) options = spec.options(b);
    operators.push_back(tfl::CreateOperatorDirect(
        b, static_cast<uint32_t>(codes.size() - 1), &spec.inputs, &spec.outputs, spec.optionsType,
        options, spec.customOptions.empty() ? nullptr : &spec.customOptions, 0,
        spec.intermediates.empty() ? nullptr : &spec.intermediates));
  }
  std::vector<flatbuffers::Offset<tfl::SubGraph>> subgraphs;
  if (withSubgraph) {
    subgraphs.push_back(
        tfl::CreateSubGraphDirect(b, &tensorOffsets, &inputs, &outputs, &operators));
  }
  const auto model =
      tfl::CreateModelDirect(b, version, &codes, &subgraphs, description.c_str(), &buffers);
  b.Finish(model, identifier);
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

}  // namespace halyard::import
