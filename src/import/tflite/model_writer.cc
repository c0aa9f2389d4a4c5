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

namespace {

// Writes the parts that all subgraphs of a file share.
class FileWriter {
 public:
  std::vector<uint8_t> write(const ModelWriter& w) {
    buffers_ = {tfl::CreateBuffer(b_)};
    std::vector<flatbuffers::Offset<tfl::SubGraph>> subgraphs;
    if (w.withSubgraph) subgraphs.push_back(writeGraph(w));
    for (const ModelWriter& other : w.subgraphs) subgraphs.push_back(writeGraph(other));
    const auto model = tfl::CreateModelDirect(b_, w.version, &codes_, &subgraphs,
                                              w.description.c_str(), &buffers_);
    b_.Finish(model, w.identifier);
    return {b_.GetBufferPointer(), b_.GetBufferPointer() + b_.GetSize()};
  }

 private:
  flatbuffers::Offset<tfl::SubGraph> writeGraph(const ModelWriter& w) {
    std::vector<flatbuffers::Offset<tfl::Tensor>> tensors;
    for (const TensorSpec& spec : w.tensors) tensors.push_back(writeTensor(spec));
    std::vector<flatbuffers::Offset<tfl::Operator>> operators;
    for (const NodeSpec& spec : w.nodes) operators.push_back(writeNode(spec));
    return tfl::CreateSubGraphDirect(b_, &tensors, &w.inputs, &w.outputs, &operators,
                                     w.subgraphName.empty() ? nullptr : w.subgraphName.c_str());
  }

  flatbuffers::Offset<tfl::Tensor> writeTensor(const TensorSpec& spec) {
    uint32_t buffer = spec.buffer.value_or(0);
    if (!spec.buffer && !spec.data.empty()) {
      buffer = static_cast<uint32_t>(buffers_.size());
      buffers_.push_back(tfl::CreateBufferDirect(b_, &spec.data));
    }
    flatbuffers::Offset<tfl::QuantizationParameters> quantization;
    if (!spec.scales.empty() || !spec.zeroPoints.empty() || spec.quantizationDetails != 0) {
      quantization = tfl::CreateQuantizationParametersDirect(
          b_, &spec.scales, &spec.zeroPoints, spec.quantizationDetails, spec.quantizedDimension);
    }
    flatbuffers::Offset<tfl::SparsityParameters> sparsity;
    if (spec.sparsity) sparsity = spec.sparsity->write(b_);
    return tfl::CreateTensorDirect(b_, &spec.shape, spec.type, buffer, spec.name.c_str(),
                                   quantization, spec.isVariable, sparsity,
                                   spec.shapeSignature.empty() ? nullptr : &spec.shapeSignature,
                                   spec.externalBuffer);
  }

  flatbuffers::Offset<tfl::Operator> writeNode(const NodeSpec& spec) {
    const auto code = static_cast<int32_t>(spec.op);
    codes_.push_back(tfl::CreateOperatorCodeDirect(
        b_, static_cast<int8_t>(spec.deprecatedCode.value_or(std::min(code, 127))),
        spec.customName.empty() ? nullptr : spec.customName.c_str(), 1,
        spec.builtinCode.value_or(code)));
    flatbuffers::Offset<void> options;
    if (spec.options) options = spec.options(b_);
    flatbuffers::Offset<void> options2;
    if (spec.options2) options2 = spec.options2(b_);
    return tfl::CreateOperatorDirect(
        b_, static_cast<uint32_t>(codes_.size() - 1), &spec.inputs, &spec.outputs, spec.optionsType,
        options, spec.customOptions.empty() ? nullptr : &spec.customOptions, 0,
        spec.intermediates.empty() ? nullptr : &spec.intermediates, spec.options2Type, options2);
  }

  flatbuffers::FlatBufferBuilder b_;
  std::vector<flatbuffers::Offset<tfl::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<tfl::OperatorCode>> codes_;
};

}  // namespace

std::vector<uint8_t> ModelWriter::bytes() const { return FileWriter().write(*this); }

}  // namespace halyard::import
