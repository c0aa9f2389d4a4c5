// Verification of a .tflite file, and decoding of its tensors.
#include "import/tflite/verified_file.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/first_index.h"

namespace halyard::import {
namespace {

constexpr size_t kMaxFileSize = (size_t{1} << 31) - 2;  // what FlatBuffers' offsets can address
constexpr uint32_t kMaxDepth = 64;
constexpr uint32_t kMaxTables = 1'000'000;
constexpr size_t kMaxRank = 8;
constexpr uint32_t kSchemaVersion = 3;
constexpr int32_t kFirstCodeBeyondByte = 127;

std::string_view view(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

template <typename T>
size_t sizeOf(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

template <typename T>
std::span<const T> spanOf(const flatbuffers::Vector<T>* vector) {
  if (vector == nullptr) return {};
  return {vector->data(), vector->size()};
}

// The length of the UTF-8 sequence at the start of `text`, or 0 when there is no valid one.
size_t utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const auto follows = [&](size_t count) {
    if (text.size() <= count) return false;
    for (size_t i = 1; i <= count; ++i) {
      if ((byte(i) & 0xc0) != 0x80) return false;
    }
    return true;
  };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef && follows(2)) {
    // Neither an overlong form nor a surrogate.
    if (first == 0xe0 && byte(1) < 0xa0) return 0;
    return first == 0xed && byte(1) > 0x9f ? 0 : 3;
  }
  if (first >= 0xf0 && first <= 0xf4 && follows(3)) {
    if (first == 0xf0 && byte(1) < 0x90) return 0;
    return first == 0xf4 && byte(1) > 0x8f ? 0 : 4;
  }
  return 0;
}

Status checkIndexes(const flatbuffers::Vector<int32_t>* indexes, size_t count, bool optional,
                    std::string_view what) {
  for (size_t i = 0; i < sizeOf(indexes); ++i) {
    const int32_t index = indexes->Get(static_cast<uint32_t>(i));
    if (optional && index == -1) continue;
    if (index < 0 || static_cast<size_t>(index) >= count) {
      return badData("{} {} is tensor {}, the subgraph has {} tensors", what, i, index, count);
    }
  }
  return okStatus();
}

tfl::BuiltinOperator codeOf(const tfl::OperatorCode& code) {
  return static_cast<tfl::BuiltinOperator>(
      std::max<int32_t>(code.builtin_code(), code.deprecated_builtin_code()));
}

// The element count, or 0 when it does not fit 32 bits. Entries are > 0.
uint64_t elementCountOf(const Shape& dims) {
  uint64_t count = 1;
  for (uint32_t dim : dims) {
    count *= dim;
    if (count > UINT32_MAX) return 0;
  }
  return count;
}

Status decodeShape(const tfl::Tensor& tensor, FileTensor& result) {
  const std::span<const int32_t> shape = spanOf(tensor.shape());
  if (shape.size() > kMaxRank) {
    return unsupported("has rank {}, at most {} is supported", shape.size(), kMaxRank);
  }
  result.dims.resize(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) {
      return unsupported("dimension {} is {}: dynamic shapes are not supported", i, shape[i]);
    }
    if (shape[i] == 0) return unsupported("dimension {} is 0: empty tensors are not supported", i);
    result.dims[i] = static_cast<uint32_t>(shape[i]);
  }
  const uint64_t count = elementCountOf(result.dims);
  const uint32_t size = std::max(tensorElementSize(result.type), 1u);
  if (count == 0 || count * size > UINT32_MAX) {
    return badData("shape {} is too large: its bytes must be countable in 32 bits",
                   shapeText(result.dims));
  }
  return okStatus();
}

Status decodeQuantization(const tfl::Tensor& tensor, FileTensor& result) {
  const tfl::QuantizationParameters* quantization = tensor.quantization();
  if (quantization == nullptr) return okStatus();
  if (quantization->details_type() != 0) {
    return unsupported("is quantised by scheme {}: only scales and zero points are supported",
                       quantization->details_type());
  }
  result.scales = spanOf(quantization->scale());
  if (quantization->zero_point() != nullptr) {
    result.zeroPoints = {quantization->zero_point()->Data(), quantization->zero_point()->size()};
  }
  result.quantizedDimension = quantization->quantized_dimension();
  if (result.scales.empty()) {
    result.zeroPoints = {};
    return okStatus();
  }
  if (!result.zeroPoints.empty() && result.zeroPoints.size() != result.scales.size()) {
    return badData("has {} scales but {} zero points", result.scales.size(),
                   result.zeroPoints.size());
  }
  if (result.scales.size() > 1) {
    const int32_t dimension = result.quantizedDimension;
    if (dimension < 0 || static_cast<size_t>(dimension) >= result.dims.size()) {
      return badData("quantized_dimension is {}, the rank is {}", dimension, result.dims.size());
    }
    if (result.dims[static_cast<size_t>(dimension)] != result.scales.size()) {
      return badData("has {} scales, dimension {} is {}", result.scales.size(), dimension,
                     result.dims[static_cast<size_t>(dimension)]);
    }
  }
  const float* const scales = result.scales.data();
  const size_t bad = firstIndex(result.scales.size(), [scales](size_t i) {
    return !(scales[i] >= 0) | (scales[i] > std::numeric_limits<float>::max());
  });
  if (bad == result.scales.size()) return okStatus();
  return badData("scale {} is {}, expected a positive number", bad, scales[bad]);
}

}  // namespace

std::string FileTensor::text() const {
  return fmt::format("tensor {} '{}'", index, displayName(name));
}

std::string tensorTypeName(tfl::TensorType type) {
  const char* name = tfl::EnumNameTensorType(type);
  return *name != '\0' ? std::string(name) : fmt::format("type {}", static_cast<int>(type));
}

uint32_t tensorElementSize(tfl::TensorType type) {
  switch (type) {
    case tfl::TensorType::FLOAT32:
    case tfl::TensorType::INT32:
      return 4;
    case tfl::TensorType::FLOAT16:
    case tfl::TensorType::INT16:
      return 2;
    case tfl::TensorType::UINT8:
    case tfl::TensorType::INT8:
    case tfl::TensorType::BOOL:
      return 1;
    case tfl::TensorType::INT64:
      return 8;
    default:
      return 0;
  }
}

std::string displayName(std::string_view raw, size_t limit) {
  // Most are plain, and at once what they are.
  const auto isPlain = [](char c) { return c >= 0x20 && c < 0x7f; };
  const auto end = raw.begin() + static_cast<ptrdiff_t>(std::min(raw.size(), limit));
  std::string text(raw.begin(), std::find_if_not(raw.begin(), end, isPlain));
  size_t i = text.size();
  while (i < raw.size()) {
    const size_t length = utf8Length(raw.substr(i));
    if (text.size() + std::max<size_t>(length, 1) > limit) {
      text += "...";
      break;
    }
    const auto byte = static_cast<uint8_t>(raw[i]);
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      text += '?';
      ++i;
    } else {
      text += raw.substr(i, length);
      i += length;
    }
  }
  return text;
}

Result<VerifiedFile> VerifiedFile::create(std::span<const uint8_t> bytes) {
  if (bytes.size() < 8) {
    return badData("{} bytes are too short for a TensorFlow Lite model", bytes.size());
  }
  if (bytes.size() > kMaxFileSize) {
    return badData("{} bytes are too long for a TensorFlow Lite model: at most {}", bytes.size(),
                   kMaxFileSize);
  }
  if (!tfl::ModelBufferHasIdentifier(bytes.data())) {
    const std::string_view found(reinterpret_cast<const char*>(bytes.data()) + 4, 4);
    return badData("is not a TensorFlow Lite model: file identifier '{}', expected '{}'",
                   displayName(found), tfl::ModelIdentifier());
  }
  VerifiedFile file;
  file.size_ = bytes.size();
  const uint8_t* data = bytes.data();
  if (reinterpret_cast<uintptr_t>(data) % alignof(uint64_t) != 0) {
    // FlatBuffers reads numbers in place, where they must be aligned.
    file.alignedCopy_.resize((bytes.size() + 7) / 8);
    std::memcpy(file.alignedCopy_.data(), data, bytes.size());
    data = reinterpret_cast<const uint8_t*>(file.alignedCopy_.data());
  }
  flatbuffers::Verifier verifier(data, bytes.size(), kMaxDepth, kMaxTables);
  if (!tfl::VerifyModelBuffer(verifier)) {
    return badData(
        "is damaged: an offset or a length in its FlatBuffer of {} bytes does not hold (depth "
        "limit {}, table limit {})",
        bytes.size(), kMaxDepth, kMaxTables);
  }
  file.model_ = tfl::GetModel(data);
  HALYARD_RETURN_IF_ERROR(file.verifyStructure());
  file.graph_ = file.model_->subgraphs()->Get(0);
  HALYARD_RETURN_IF_ERROR(file.verifyOperatorCodes());
  HALYARD_RETURN_IF_ERROR(file.verifyGraph());
  return file;
}

Status VerifiedFile::verifyStructure() const {
  if (model_->version() != kSchemaVersion) {
    return badData("has schema version {}, expected {}", model_->version(), kSchemaVersion);
  }
  if (sizeOf(model_->subgraphs()) == 0) return badData("has no subgraph");
  return okStatus();
}

Status VerifiedFile::verifyOperatorCodes() const {
  for (size_t i = 0; i < sizeOf(model_->operator_codes()); ++i) {
    const tfl::OperatorCode& code = *model_->operator_codes()->Get(static_cast<uint32_t>(i));
    const int32_t wide = code.builtin_code();
    const int32_t narrow = code.deprecated_builtin_code();
    if (wide < 0 || narrow < 0) {
      return badData("operator code {}: builtin_code {} and deprecated_builtin_code {}: negative",
                     i, wide, narrow);
    }
    // Writers fill in the old byte too, with 127 when the code needs more; old files know only it.
    const int32_t expected = std::min(wide, kFirstCodeBeyondByte);
    if (wide != 0 && narrow != 0 && narrow != expected) {
      return badData(
          "operator code {}: builtin_code {} contradicts deprecated_builtin_code {}, expected {}",
          i, wide, narrow, expected);
    }
    if (codeOf(code) == tfl::BuiltinOperator::CUSTOM && sizeOf(code.custom_code()) == 0) {
      return badData("operator code {} is of a custom operator without a name", i);
    }
  }
  return okStatus();
}

Status VerifiedFile::verifyGraph() const {
  const size_t tensors = tensorCount();
  for (size_t i = 0; i < tensors; ++i) {
    const uint32_t buffer = graph_->tensors()->Get(static_cast<uint32_t>(i))->buffer();
    // Number 0 stands for "no data", also in files without a table of buffers.
    if (buffer != 0 && buffer >= sizeOf(model_->buffers())) {
      return badData("tensor {} refers to buffer {} of {}", i, buffer, sizeOf(model_->buffers()));
    }
  }
  HALYARD_RETURN_IF_ERROR(checkIndexes(graph_->inputs(), tensors, false, "model input"));
  HALYARD_RETURN_IF_ERROR(checkIndexes(graph_->outputs(), tensors, false, "model output"));
  for (size_t i = 0; i < operatorCount(); ++i) {
    const tfl::Operator& operation = op(i);
    if (operation.opcode_index() >= sizeOf(model_->operator_codes())) {
      return badData("node {} refers to operator code {} of {}", i, operation.opcode_index(),
                     sizeOf(model_->operator_codes()));
    }
    HALYARD_RETURN_IF_ERROR(checkIndexes(operation.inputs(), tensors, true, "input"),
                            "operator {} of node {}", operatorName(i), i);
    HALYARD_RETURN_IF_ERROR(checkIndexes(operation.outputs(), tensors, false, "output"),
                            "operator {} of node {}", operatorName(i), i);
    HALYARD_RETURN_IF_ERROR(checkIndexes(operation.intermediates(), tensors, true, "intermediate"),
                            "operator {} of node {}", operatorName(i), i);
  }
  if (operatorCount() == 0) return badData("has no operators");
  if (sizeOf(graph_->outputs()) == 0) return badData("has no outputs");
  return okStatus();
}

size_t VerifiedFile::tensorCount() const { return sizeOf(graph_->tensors()); }

size_t VerifiedFile::operatorCount() const { return sizeOf(graph_->operators()); }

size_t VerifiedFile::operatorCodeCount() const { return sizeOf(model_->operator_codes()); }

tfl::BuiltinOperator VerifiedFile::operatorCode(size_t i) const {
  return codeOf(*model_->operator_codes()->Get(static_cast<uint32_t>(i)));
}

const tfl::Operator& VerifiedFile::op(size_t node) const {
  return *graph_->operators()->Get(static_cast<uint32_t>(node));
}

tfl::BuiltinOperator VerifiedFile::builtin(size_t node) const {
  return operatorCode(op(node).opcode_index());
}

std::string_view VerifiedFile::customName(size_t node) const {
  return view(model_->operator_codes()->Get(op(node).opcode_index())->custom_code());
}

std::string VerifiedFile::operatorName(size_t node) const {
  const tfl::BuiltinOperator code = builtin(node);
  if (code == tfl::BuiltinOperator::CUSTOM) return displayName(customName(node));
  const char* name = tfl::EnumNameBuiltinOperator(code);
  return *name != '\0' ? std::string(name) : fmt::format("number {}", static_cast<int>(code));
}

Result<FileTensor> VerifiedFile::tensor(int32_t index) const {
  if (index < 0 || static_cast<size_t>(index) >= tensorCount()) {
    return badData("tensor {} of {} does not exist", index, tensorCount());
  }
  const tfl::Tensor& tensor = *graph_->tensors()->Get(static_cast<uint32_t>(index));
  FileTensor result;
  result.index = index;
  result.name = view(tensor.name());
  result.type = tensor.type();
  result.isVariable = tensor.is_variable();
  HALYARD_RETURN_IF_ERROR(decodeShape(tensor, result), "{}", result.text());
  HALYARD_RETURN_IF_ERROR(decodeQuantization(tensor, result), "{}", result.text());
  if (tensor.sparsity() != nullptr) {
    return unsupported("{} is sparse: sparse tensors are not supported", result.text());
  }
  if (tensor.external_buffer() != 0) {
    return unsupported("{} has its data in another file: that is not supported", result.text());
  }
  HALYARD_ASSIGN_OR_RETURN(result.data, constantData(tensor), "{}", result.text());
  const uint64_t need = elementCountOf(result.dims) * tensorElementSize(result.type);
  if (result.isConstant() && need != 0 && result.data.size() != need) {
    return badData("{} is {}{} of {} bytes, its buffer has {}", result.text(),
                   tensorTypeName(result.type), shapeText(result.dims), need, result.data.size());
  }
  return result;
}

std::string_view VerifiedFile::tensorName(int32_t index) const {
  return view(graph_->tensors()->Get(static_cast<uint32_t>(index))->name());
}

Result<FileTensor> VerifiedFile::quantizationOf(int32_t index) const {
  if (index < 0 || static_cast<size_t>(index) >= tensorCount()) {
    return badData("tensor {} of {} does not exist", index, tensorCount());
  }
  const tfl::Tensor& tensor = *graph_->tensors()->Get(static_cast<uint32_t>(index));
  FileTensor result;
  result.index = index;
  result.name = view(tensor.name());
  result.type = tensor.type();
  HALYARD_RETURN_IF_ERROR(decodeQuantization(tensor, result), "{}", result.text());
  return result;
}

Result<std::span<const uint8_t>> VerifiedFile::constantData(const tfl::Tensor& tensor) const {
  if (tensor.buffer() == 0) return std::span<const uint8_t>();
  const tfl::Buffer& buffer = *model_->buffers()->Get(tensor.buffer());
  // 1 is a writer's placeholder for an offset that it never filled in.
  if (buffer.offset() > 1) {
    return unsupported("buffer {} lies outside of the FlatBuffer: that is not supported",
                       tensor.buffer());
  }
  return spanOf(buffer.data());
}

}  // namespace halyard::import
