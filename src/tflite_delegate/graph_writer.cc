#include "tflite_delegate/graph_writer.h"

#include <algorithm>
#include <map>

#include "import/tflite/model_file.h"
#include "import/tflite/sparsity.h"

namespace halyard::tflite {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using import::ModelFile;
using import::Sparsity;

// The written file has the FlatBuffer first. The model's own file begins at the second place, other
// constants at the third. No file reaches the next place.
constexpr uint64_t kModelBegin = uint64_t{1} << 34;
constexpr uint64_t kOtherBegin = uint64_t{1} << 40;
constexpr uint64_t kAlignment = 64;

Result<tfl::TensorType> fileType(LiteType type) {
  // By the number of the interpreter, from 1 on.
  using enum tfl::TensorType;
  static constexpr tfl::TensorType kTypes[] = {
      FLOAT32, INT32,   UINT8,    INT64,      STRING, BOOL,          INT16,      COMPLEX64,
      INT8,    FLOAT16, FLOAT64,  COMPLEX128, UINT64, RESOURCE,      VARIANT,    UINT32,
      UINT16,  INT4,    BFLOAT16, INT2,       UINT4,  FLOAT8_E4M3FN, FLOAT8_E5M2};
  const auto number = static_cast<int32_t>(type);
  if (number < 1 || number > static_cast<int32_t>(std::size(kTypes))) {
    return badData("type {} of the interpreter is unknown", number);
  }
  return kTypes[number - 1];
}

std::vector<int32_t> copied(const IntArray* list) {
  if (list == nullptr) return {};
  return {list->values().begin(), list->values().end()};
}

// Nothing computes or reads the value of a list without elements.
bool isEmptyList(const LiteTensor& tensor) {
  const auto dims = dimsOf(tensor);
  return dims.size() == 1 && dims[0] == 0;
}

Sparsity copied(const LiteSparsity& sparsity) {
  Sparsity copy = {copied(sparsity.order), copied(sparsity.blocks), {}};
  for (int32_t i = 0; i < sparsity.levelCount; ++i) {
    const LiteSparseLevel& level = sparsity.levels[i];
    copy.levels.push_back(
        {level.format == 0, level.size, copied(level.segments), copied(level.indices)});
  }
  return copy;
}

class GraphWriter {
 public:
  GraphWriter(const LiteContext& context, const LiveGraph& graph, const MappedModel& model)
      : context_(context), graph_(graph), model_(model) {}

  Status write() {
    buffers_ = {tfl::CreateBuffer(builder_)};
    const std::vector<int32_t> inputs = mapped(graph_.inputs);
    const std::vector<int32_t> outputs = mapped(graph_.outputs);
    for (const LiveNode& node : graph_.nodes) addNode(node);
    // In the order of their numbers, which are complete now.
    std::vector<Offset<tfl::Tensor>> tensors(numbers_.size());
    for (const auto& [tensor, number] : numbers_) {
      HALYARD_ASSIGN_OR_RETURN(tensors[static_cast<size_t>(number)], writeTensor(tensor),
                               "tensor {}", tensor);
    }
    const std::vector<Offset<tfl::SubGraph>> subgraphs = {
        tfl::CreateSubGraphDirect(builder_, &tensors, &inputs, &outputs, &operators_)};
    constexpr uint32_t kVersion = 3;
    builder_.Finish(
        tfl::CreateModelDirect(builder_, kVersion, &codes_, &subgraphs, nullptr, &buffers_),
        tfl::ModelIdentifier());
    return okStatus();
  }

  // The interpreter's tensor, from the number in the written file.
  int32_t tensorOf(int32_t number) const {
    return std::ranges::find(numbers_, number, [](const auto& pair) { return pair.second; })->first;
  }

  ModelFile file() const {
    std::vector<ModelFile::Part> parts = {{0, {builder_.GetBufferPointer(), builder_.GetSize()}}};
    uint64_t begin = 0;
    if (usesModel_) {
      begin = kModelBegin;
      parts.push_back({begin + model_.offset(), model_.bytes()});
    }
    parts.insert(parts.end(), others_.begin(), others_.end());
    return ModelFile::ofParts(parts, usesModel_ ? model_.pool() : nullptr, begin);
  }

 private:
  int32_t mapped(int32_t tensor) {
    if (tensor == kOmittedTensor) return tensor;
    return numbers_.try_emplace(tensor, static_cast<int32_t>(numbers_.size())).first->second;
  }
  std::vector<int32_t> mapped(const std::vector<int32_t>& tensors) {
    std::vector<int32_t> result;
    for (const int32_t tensor : tensors) result.push_back(mapped(tensor));
    return result;
  }

  void addNode(const LiveNode& node) {
    // The first code stops at 127.
    codes_.push_back(tfl::CreateOperatorCodeDirect(
        builder_, static_cast<int8_t>(std::min(node.builtinCode, 127)),
        node.customName.empty() ? nullptr : node.customName.c_str(), node.version,
        node.builtinCode));
    const std::vector<int32_t> inputs = mapped(node.inputs);
    const std::vector<int32_t> outputs = mapped(node.outputs);
    const std::vector<int32_t> intermediates = mapped(node.intermediates);
    Offset<void> options;
    if (node.options.write) options = node.options.write(builder_);
    operators_.push_back(tfl::CreateOperatorDirect(
        builder_, static_cast<uint32_t>(codes_.size() - 1), &inputs, &outputs, node.options.type,
        node.options.type2 == tfl::BuiltinOptions2::NONE ? options : Offset<void>(),
        node.customData.empty() ? nullptr : &node.customData, 0,
        intermediates.empty() ? nullptr : &intermediates, node.options.type2,
        node.options.type2 != tfl::BuiltinOptions2::NONE ? options : Offset<void>()));
    usesModel_ = usesModel_ || !node.callees.empty();
  }

  Offset<tfl::QuantizationParameters> writeQuantization(const LiteTensor& tensor) {
    if (tensor.quantization.kind == QuantizationKind::NONE) return {};
    if (tensor.quantization.kind != QuantizationKind::AFFINE) {
      constexpr uint8_t kAnotherRule = 1;
      return tfl::CreateQuantizationParametersDirect(builder_, nullptr, nullptr, kAnotherRule, 0);
    }
    const auto* const affine = static_cast<const AffineQuantization*>(tensor.quantization.params);
    if (affine == nullptr || affine->scale == nullptr || affine->scale->size <= 0) return {};
    const auto scaleValues = affine->scale->values();
    const std::vector<float> scales(scaleValues.begin(), scaleValues.end());
    std::vector<int64_t> zeroPoints;
    if (affine->zeroPoint != nullptr && affine->zeroPoint->size > 0) {
      const auto values = affine->zeroPoint->values();
      for (size_t i = 0; i < scales.size(); ++i) zeroPoints.push_back(values[i % values.size()]);
    }
    return tfl::CreateQuantizationParametersDirect(builder_, &scales, &zeroPoints, 0,
                                                   affine->dimension);
  }

  // The number of a constant's buffer, which lies outside of the FlatBuffer.
  uint32_t writeConstant(const LiteTensor& tensor) {
    uint64_t offset = 0;
    if (model_.contains(tensor.data, tensor.bytes)) {
      usesModel_ = true;
      const auto* const data = static_cast<const uint8_t*>(tensor.data);
      offset = kModelBegin + model_.offset() + static_cast<uint64_t>(data - model_.bytes().data());
    } else {
      const uint64_t from =
          others_.empty() ? kOtherBegin : others_.back().offset + others_.back().bytes.size();
      // ModelFile::Part: aligned as its address is.
      offset = (from + kAlignment - 1) / kAlignment * kAlignment +
               reinterpret_cast<uintptr_t>(tensor.data) % kAlignment;
      others_.push_back({offset, {static_cast<const uint8_t*>(tensor.data), tensor.bytes}});
    }
    buffers_.push_back(tfl::CreateBuffer(builder_, 0, offset, tensor.bytes));
    return static_cast<uint32_t>(buffers_.size() - 1);
  }

  Result<Offset<tfl::Tensor>> writeTensor(int32_t index) {
    const LiteTensor& tensor = context_.tensors[index];
    HALYARD_ASSIGN_OR_RETURN(const tfl::TensorType type, fileType(tensor.type));
    const auto now = dimsOf(tensor);
    const std::vector<int32_t> dims(now.begin(), now.end());
    const auto quantization = writeQuantization(tensor);
    uint32_t buffer = 0;
    // The inputs have the sizes that they have now. The sizes of others may follow from values.
    std::vector<int32_t> signature;
    if (std::ranges::find(graph_.inputs, index) == graph_.inputs.end()) {
      if (isConstant(tensor)) buffer = writeConstant(tensor);
      if (tensor.dimsSignature != nullptr && tensor.dimsSignature->size > 0) {
        const auto values = tensor.dimsSignature->values();
        if (values.size() == dims.size()) signature.assign(values.begin(), values.end());
      }
    }
    Offset<tfl::SparsityParameters> sparsity;
    if (tensor.sparsity != nullptr) sparsity = copied(*tensor.sparsity).write(builder_);
    return tfl::CreateTensorDirect(
        builder_, &dims, type, buffer, tensor.name != nullptr ? tensor.name : "", quantization,
        tensor.isVariable, sparsity, signature.empty() ? nullptr : &signature);
  }

  const LiteContext& context_;
  const LiveGraph& graph_;
  const MappedModel& model_;
  FlatBufferBuilder builder_;
  std::map<int32_t, int32_t> numbers_;  // in the file, by tensor
  std::vector<Offset<tfl::Buffer>> buffers_;
  std::vector<Offset<tfl::OperatorCode>> codes_;
  std::vector<Offset<tfl::Operator>> operators_;
  bool usesModel_ = false;
  std::vector<ModelFile::Part> others_;
};

}  // namespace

bool isConstant(const LiteTensor& tensor) {
  return tensor.allocation == Allocation::CONSTANT && tensor.data != nullptr && tensor.bytes != 0;
}

std::vector<int32_t> realInputs(const LiteContext& context, std::span<const int32_t> tensors) {
  std::vector<int32_t> rest;
  for (const int32_t tensor : tensors) {
    const LiteTensor& input = context.tensors[tensor];
    const bool hasValue = isConstant(input) || input.isVariable || isEmptyList(input);
    if (!hasValue) rest.push_back(tensor);
  }
  return rest;
}

std::vector<int32_t> realOutputs(const LiteContext& context, std::span<const int32_t> tensors) {
  std::vector<int32_t> rest;
  std::ranges::copy_if(tensors, std::back_inserter(rest),
                       [&](int32_t tensor) { return !isEmptyList(context.tensors[tensor]); });
  return rest;
}

Result<ImportedGraph> importGraph(const LiteContext& context, const LiveGraph& graph,
                                  const MappedModel& model, const import::ImportOptions& options) {
  GraphWriter writer(context, graph, model);
  HALYARD_RETURN_IF_ERROR(writer.write());
  ModelFile file = writer.file();
  ImportedGraph imported;
  std::vector<int32_t> numbers;
  import::ImportOptions numbered = options;
  numbered.allowFloat16 = options.allowFloat16 || context.allowsFloat16;
  for (const LiveNode& node : graph.nodes) {
    numbers.push_back(node.index);
    // The graphs that the node calls are in the model's own file.
    if (!node.callees.empty()) numbered.calleesBegin = kModelBegin;
  }
  numbered.nodeNumbers = numbers;
  HALYARD_ASSIGN_OR_RETURN(imported.model, import::importTflite(file, numbered));
  for (const import::ModelState& state : imported.model.states) {
    imported.states.push_back(writer.tensorOf(state.tensor));
  }
  return imported;
}

}  // namespace halyard::tflite
