// Decodes and checks the descriptions of operators and tensors in a .tflite file.
#include "import/tflite/verified_file.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/first_index.h"

namespace halyard::import {
namespace {

constexpr std::string_view kIdentifier = "TFL3";
constexpr uint32_t kSchemaVersion = 3;
constexpr int32_t kFirstCodeBeyondByte = 127;

// Returns the length of the UTF-8 sequence at the start of `text`, or 0 if it is not valid.
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

Status checkIndexes(std::span<const int32_t> indexes, size_t count, bool optional,
                    std::string_view what) {
  for (size_t i = 0; i < indexes.size(); ++i) {
    if (optional && indexes[i] == -1) continue;
    if (indexes[i] < 0 || static_cast<size_t>(indexes[i]) >= count) {
      return badData("{} {} is tensor {}, the subgraph has {} tensors", what, i, indexes[i], count);
    }
  }
  return okStatus();
}

// Returns the element count, or 0 when it does not fit 32 bits. Entries are > 0.
uint64_t elementCountOf(const Shape& dims) {
  uint64_t count = 1;
  for (uint32_t dim : dims) {
    count *= dim;
    if (count > UINT32_MAX) return 0;
  }
  return count;
}

Status decodeShape(std::span<const int32_t> shape, FileTensor& result) {
  if (shape.size() > kMostDimensions) {
    return unsupported("has rank {}, at most {} is supported", shape.size(), kMostDimensions);
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

void decodeSignature(std::span<const int32_t> signature, FileTensor& result) {
  if (signature.size() != result.dims.size()) return;
  for (size_t i = 0; i < signature.size(); ++i) {
    if (signature[i] < 0) result.openDims |= static_cast<uint8_t>(1 << i);
  }
}

// `quantization`: its table, if the tensor has one.
Status decodeQuantization(FlatReader& reader, const FlatTable& quantization, FileTensor& result) {
  using Field = tfl::QuantizationParameters;
  if (!quantization) return okStatus();
  const auto scheme = reader.scalar<uint8_t>(quantization, Field::VT_DETAILS_TYPE, 0);
  if (scheme != 0) {
    return unsupported("is quantised by scheme {}: only scales and zero points are supported",
                       scheme);
  }
  result.scales = reader.vector<float>(quantization, Field::VT_SCALE);
  const FileRange points = reader.range(quantization, Field::VT_ZERO_POINT, sizeof(int64_t));
  result.zeroPoints = {reader.read(points), points.length / sizeof(int64_t)};
  result.quantizedDimension =
      reader.scalar<int32_t>(quantization, Field::VT_QUANTIZED_DIMENSION, 0);
  if (!reader.ok()) return reader.file().whyNot();
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
  return fmt::format("tensor {} '{}'", index, displayName(file->tensorName(index)));
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
    case tfl::TensorType::COMPLEX64:
      return 8;
    default:
      return 0;
  }
}

std::string displayName(std::string_view raw, size_t limit) {
  // Most names are plain and need no change.
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

Result<VerifiedFile> VerifiedFile::create(ModelFile& file, uint64_t begin) {
  const uint64_t size = file.size() - std::min(begin, file.size());
  if (size < 8) return badData("{} bytes are too short for a TensorFlow Lite model", size);
  const uint8_t* const head = file.at(begin, 8);
  if (head == nullptr) return file.whyNot();
  const std::string_view found(reinterpret_cast<const char*>(head) + 4, kIdentifier.size());
  if (found != kIdentifier) {
    return badData("is not a TensorFlow Lite model: file identifier '{}', expected '{}'",
                   displayName(found), kIdentifier);
  }
  VerifiedFile verified(file, begin);
  HALYARD_RETURN_IF_ERROR(verified.readModel());
  return verified;
}

Status VerifiedFile::readModel() {
  using Field = tfl::Model;
  const FlatTable model = reader_.root();
  const auto version = reader_.scalar<uint32_t>(model, Field::VT_VERSION, 0);
  graphs_ = reader_.tables(model, Field::VT_SUBGRAPHS);
  const FlatTables codes = reader_.tables(model, Field::VT_OPERATOR_CODES);
  buffers_ = reader_.tables(model, Field::VT_BUFFERS);
  description_ = reader_.string(model, Field::VT_DESCRIPTION);
  if (!reader_.ok()) return whyDamaged();
  if (version != kSchemaVersion) {
    return badData("has schema version {}, expected {}", version, kSchemaVersion);
  }
  if (graphs_.count == 0) return badData("has no subgraph");
  HALYARD_RETURN_IF_ERROR(readOperatorCodes(codes));
  HALYARD_RETURN_IF_ERROR(readGraph());
  if (operators_.empty()) return badData("has no operators");
  if (outputs_.empty()) return badData("has no outputs");
  return okStatus();
}

Result<std::unique_ptr<VerifiedFile>> VerifiedFile::subgraph(int32_t index) const {
  if (callees_ != nullptr) return callees_->subgraph(index);
  if (index < 0 || static_cast<size_t>(index) >= graphs_.count) {
    return badData("subgraph {} does not exist, the file has {} subgraphs", index, graphs_.count);
  }
  std::unique_ptr<VerifiedFile> other(new VerifiedFile(bytes(), reader_.begin()));
  other->buffers_ = buffers_;
  other->graphs_ = graphs_;
  other->codes_ = codes_;
  other->number_ = static_cast<size_t>(index);
  HALYARD_RETURN_IF_ERROR(other->readGraph(), "{}", other->text());
  return other;
}

std::string VerifiedFile::text() const {
  const FlatTable graph = reader_.element(graphs_, number_);
  return fmt::format("subgraph {} '{}'", number_,
                     displayName(reader_.string(graph, tfl::SubGraph::VT_NAME)));
}

Status VerifiedFile::readOperatorCodes(const FlatTables& codes) {
  using Field = tfl::OperatorCode;
  const size_t count = codes.count;
  std::vector<OperatorCode> read;
  read.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const FlatTable code = reader_.element(codes, i);
    const auto wide = reader_.scalar<int32_t>(code, Field::VT_BUILTIN_CODE, 0);
    const auto narrow = reader_.scalar<int8_t>(code, Field::VT_DEPRECATED_BUILTIN_CODE, 0);
    const auto op = static_cast<tfl::BuiltinOperator>(std::max<int32_t>(wide, narrow));
    const bool isCustom = op == tfl::BuiltinOperator::CUSTOM;
    read.push_back({op, isCustom ? reader_.string(code, Field::VT_CUSTOM_CODE) : ""});
    if (!reader_.ok()) return whyDamaged();
    if (wide < 0 || narrow < 0) {
      return badData("operator code {}: builtin_code {} and deprecated_builtin_code {}: negative",
                     i, wide, narrow);
    }
    // Writers also fill in the old byte, with 127 for larger codes. Old files have only this byte.
    const int32_t expected = std::min(wide, kFirstCodeBeyondByte);
    if (wide != 0 && narrow != 0 && narrow != expected) {
      return badData(
          "operator code {}: builtin_code {} contradicts deprecated_builtin_code {}, expected {}",
          i, wide, narrow, expected);
    }
    if (isCustom && read.back().name.empty()) {
      return badData("operator code {} is of a custom operator without a name", i);
    }
  }
  codes_ = std::make_shared<const std::vector<OperatorCode>>(std::move(read));
  return okStatus();
}

Status VerifiedFile::readGraph() {
  using Field = tfl::SubGraph;
  const FlatTable graph = reader_.element(graphs_, number_);
  tensors_ = reader_.tables(graph, Field::VT_TENSORS);
  inputs_ = reader_.vector<int32_t>(graph, Field::VT_INPUTS);
  outputs_ = reader_.vector<int32_t>(graph, Field::VT_OUTPUTS);
  const FlatTables operators = reader_.tables(graph, Field::VT_OPERATORS);
  if (!reader_.ok()) return whyDamaged();
  const bool isFirst = number_ == 0;
  HALYARD_RETURN_IF_ERROR(
      checkIndexes(inputs_, tensorCount(), false, isFirst ? "model input" : "input"));
  HALYARD_RETURN_IF_ERROR(
      checkIndexes(outputs_, tensorCount(), false, isFirst ? "model output" : "output"));
  const size_t count = operators.count;
  operators_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const FlatTable table = reader_.element(operators, i);
    if (!reader_.ok()) return whyDamaged();
    HALYARD_RETURN_IF_ERROR(readOperator(table));
  }
  return okStatus();
}

// Reads the next operator.
Status VerifiedFile::readOperator(const FlatTable& table) {
  using Field = tfl::Operator;
  FileOperator read;
  read.code = reader_.scalar<uint32_t>(table, Field::VT_OPCODE_INDEX, 0);
  read.inputs = reader_.vector<int32_t>(table, Field::VT_INPUTS);
  read.outputs = reader_.vector<int32_t>(table, Field::VT_OUTPUTS);
  read.intermediates = reader_.vector<int32_t>(table, Field::VT_INTERMEDIATES);
  read.optionsType = static_cast<tfl::BuiltinOptions>(
      reader_.scalar<uint8_t>(table, Field::VT_BUILTIN_OPTIONS_TYPE, 0));
  if (read.optionsType != tfl::BuiltinOptions::NONE) {
    read.options = reader_.table(table, Field::VT_BUILTIN_OPTIONS);
  }
  read.options2Type = static_cast<tfl::BuiltinOptions2>(
      reader_.scalar<uint8_t>(table, Field::VT_BUILTIN_OPTIONS_2_TYPE, 0));
  if (read.options2Type != tfl::BuiltinOptions2::NONE) {
    read.options2 = reader_.table(table, Field::VT_BUILTIN_OPTIONS_2);
  }
  read.hasCustomOptions = reader_.has(table, Field::VT_CUSTOM_OPTIONS);
  read.customOptions = reader_.vector<uint8_t>(table, Field::VT_CUSTOM_OPTIONS);
  if (!reader_.ok()) return whyDamaged();
  const size_t node = operators_.size();
  if (read.code >= codes_->size()) {
    return badData("node {} refers to operator code {} of {}", node, read.code, codes_->size());
  }
  operators_.push_back(read);
  const size_t tensors = tensorCount();
  HALYARD_RETURN_IF_ERROR(checkIndexes(read.inputs, tensors, true, "input"),
                          "operator {} of node {}", operatorName(node), node);
  HALYARD_RETURN_IF_ERROR(checkIndexes(read.outputs, tensors, false, "output"),
                          "operator {} of node {}", operatorName(node), node);
  HALYARD_RETURN_IF_ERROR(checkIndexes(read.intermediates, tensors, true, "intermediate"),
                          "operator {} of node {}", operatorName(node), node);
  return okStatus();
}

std::string VerifiedFile::operatorName(size_t node) const {
  const tfl::BuiltinOperator code = builtin(node);
  if (code == tfl::BuiltinOperator::CUSTOM) return displayName(customName(node));
  const char* name = tfl::EnumNameBuiltinOperator(code);
  return *name != '\0' ? std::string(name) : fmt::format("number {}", static_cast<int>(code));
}

Result<FileTensor> VerifiedFile::beginTensor(int32_t index, FlatTable* table) const {
  if (index < 0 || static_cast<size_t>(index) >= tensorCount()) {
    return badData("tensor {} of {} does not exist", index, tensorCount());
  }
  *table = reader_.element(tensors_, static_cast<size_t>(index));
  FileTensor result;
  result.file = this;
  result.index = index;
  result.type =
      static_cast<tfl::TensorType>(reader_.scalar<int8_t>(*table, tfl::Tensor::VT_TYPE, 0));
  if (!reader_.ok()) return whyDamaged();
  return result;
}

Result<FileTensor> VerifiedFile::readTensor(int32_t index, FlatTable* table) const {
  using Field = tfl::Tensor;
  HALYARD_ASSIGN_OR_RETURN(FileTensor result, beginTensor(index, table));
  result.isVariable = reader_.scalar<uint8_t>(*table, Field::VT_IS_VARIABLE, 0) != 0;
  const std::span<const int32_t> shape = reader_.vector<int32_t>(*table, Field::VT_SHAPE);
  const std::span<const int32_t> signature =
      reader_.vector<int32_t>(*table, Field::VT_SHAPE_SIGNATURE);
  const FlatTable quantization = reader_.table(*table, Field::VT_QUANTIZATION);
  const bool isExternal = reader_.scalar<uint32_t>(*table, Field::VT_EXTERNAL_BUFFER, 0) != 0;
  if (!reader_.ok()) return whyDamaged();
  HALYARD_RETURN_IF_ERROR(decodeShape(shape, result), "{}", result.text());
  decodeSignature(signature, result);
  HALYARD_RETURN_IF_ERROR(decodeQuantization(reader_, quantization, result), "{}", result.text());
  if (result.isVariable && number_ != 0) {
    return unsupported("{} is a variable of {}: only the first subgraph may have variables",
                       result.text(), text());
  }
  if (isExternal) {
    return unsupported("{} has its data in another file: that is not supported", result.text());
  }
  return result;
}

Result<FileTensor> VerifiedFile::tensor(int32_t index) const {
  FlatTable table;
  HALYARD_ASSIGN_OR_RETURN(FileTensor result, readTensor(index, &table));
  if (reader_.has(table, tfl::Tensor::VT_SPARSITY)) {
    return unsupported("{} is sparse: only DENSIFY reads sparse tensors", result.text());
  }
  const auto given = given_.find(index);
  if (given != given_.end()) {
    result.data = given->second;
  } else {
    HALYARD_ASSIGN_OR_RETURN(result.data, constantData(table), "{}", result.text());
  }
  const uint64_t need = elementCountOf(result.dims) * tensorElementSize(result.type);
  if (result.isConstant() && need != 0 && result.data.size() != need) {
    return badData("{} is {}{} of {} bytes, its buffer has {}", result.text(),
                   tensorTypeName(result.type), shapeText(result.dims), need, result.data.size());
  }
  return result;
}

Result<FileTensor> VerifiedFile::sparseTensor(int32_t index, Sparsity* sparsity) const {
  using Field = tfl::SparsityParameters;
  FlatTable table;
  HALYARD_ASSIGN_OR_RETURN(FileTensor result, readTensor(index, &table));
  const FlatTable parameters = reader_.table(table, tfl::Tensor::VT_SPARSITY);
  HALYARD_ASSIGN_OR_RETURN(result.data, constantData(table), "{}", result.text());
  if (!parameters || result.data.empty()) {
    return unsupported("{} is no sparse constant", result.text());
  }
  const auto order = reader_.vector<int32_t>(parameters, Field::VT_TRAVERSAL_ORDER);
  const auto blocks = reader_.vector<int32_t>(parameters, Field::VT_BLOCK_MAP);
  const FlatTables levels = reader_.tables(parameters, Field::VT_DIM_METADATA);
  if (!reader_.ok()) return whyDamaged();
  sparsity->order.assign(order.begin(), order.end());
  sparsity->blocks.assign(blocks.begin(), blocks.end());
  sparsity->levels.clear();
  for (size_t i = 0; i < levels.count; ++i) {
    HALYARD_ASSIGN_OR_RETURN(sparsity->levels.emplace_back(), readLevel(reader_.element(levels, i)),
                             "{}: level {} of its sparsity", result.text(), i);
  }
  return result;
}

Result<Sparsity::Level> VerifiedFile::readLevel(const FlatTable& table) const {
  using Field = tfl::DimensionMetadata;
  Sparsity::Level level;
  const auto format =
      static_cast<tfl::DimensionType>(reader_.scalar<int8_t>(table, Field::VT_FORMAT, 0));
  level.isDense = format == tfl::DimensionType::DENSE;
  level.size = reader_.scalar<int32_t>(table, Field::VT_DENSE_SIZE, 0);
  if (!reader_.ok()) return whyDamaged();
  if (level.isDense) return level;
  if (format != tfl::DimensionType::SPARSE_CSR) {
    return badData("has the format {}", static_cast<int>(format));
  }
  HALYARD_ASSIGN_OR_RETURN(
      level.segments, readIndexes(table, Field::VT_ARRAY_SEGMENTS_TYPE, Field::VT_ARRAY_SEGMENTS));
  HALYARD_ASSIGN_OR_RETURN(
      level.indices, readIndexes(table, Field::VT_ARRAY_INDICES_TYPE, Field::VT_ARRAY_INDICES));
  return level;
}

// The vectors of 8, 16 and 32 bits have the same field.
Result<std::vector<int32_t>> VerifiedFile::readIndexes(const FlatTable& table,
                                                       FlatReader::Field type,
                                                       FlatReader::Field field) const {
  constexpr FlatReader::Field kValues = tfl::Int32Vector::VT_VALUES;
  static_assert(kValues == tfl::Uint16Vector::VT_VALUES && kValues == tfl::Uint8Vector::VT_VALUES);
  const auto kind = static_cast<tfl::SparseIndexVector>(reader_.scalar<uint8_t>(table, type, 0));
  const FlatTable vector = reader_.table(table, field);
  std::vector<int32_t> values;
  const auto take = [&]<typename T>(std::span<const T> from) {
    values.assign(from.begin(), from.end());
  };
  switch (kind) {
    case tfl::SparseIndexVector::Int32Vector:
      take(reader_.vector<int32_t>(vector, kValues));
      break;
    case tfl::SparseIndexVector::Uint16Vector:
      take(reader_.vector<uint16_t>(vector, kValues));
      break;
    case tfl::SparseIndexVector::Uint8Vector:
      take(reader_.vector<uint8_t>(vector, kValues));
      break;
    default:
      return badData("has a list of kind {}", static_cast<int>(kind));
  }
  if (!reader_.ok()) return whyDamaged();
  return values;
}

std::string_view VerifiedFile::tensorName(int32_t index) const {
  const FlatTable table = reader_.element(tensors_, static_cast<size_t>(index));
  return reader_.string(table, tfl::Tensor::VT_NAME);
}

bool VerifiedFile::isEmptyList(int32_t index) const {
  FlatTable table;
  if (!beginTensor(index, &table).ok()) return false;
  const std::span<const int32_t> shape = reader_.vector<int32_t>(table, tfl::Tensor::VT_SHAPE);
  return shape.size() == 1 && shape[0] == 0;
}

Result<FileTensor> VerifiedFile::quantizationOf(int32_t index) const {
  FlatTable table;
  HALYARD_ASSIGN_OR_RETURN(FileTensor result, beginTensor(index, &table));
  const FlatTable quantization = reader_.table(table, tfl::Tensor::VT_QUANTIZATION);
  if (!reader_.ok()) return whyDamaged();
  HALYARD_RETURN_IF_ERROR(decodeQuantization(reader_, quantization, result), "{}", result.text());
  return result;
}

Result<std::optional<std::span<const int32_t>>> VerifiedFile::optionList(
    const FlatTable& options, FlatReader::Field field) const {
  std::optional<std::span<const int32_t>> list;
  if (reader_.has(options, field)) list = reader_.vector<int32_t>(options, field);
  if (!reader_.ok()) return whyDamaged();
  return list;
}

Result<std::vector<int64_t>> VerifiedFile::wideOptionList(const FlatTable& options,
                                                          FlatReader::Field field) const {
  const FileRange found = reader_.range(options, field, sizeof(int64_t));
  const uint8_t* const bytes = reader_.read(found);
  if (!reader_.ok()) return whyDamaged();
  std::vector<int64_t> values(bytes == nullptr ? 0 : found.length / sizeof(int64_t));
  if (!values.empty()) std::memcpy(values.data(), bytes, values.size() * sizeof(int64_t));
  return values;
}

Result<int64_t> VerifiedFile::wideOption(const FlatTable& options, FlatReader::Field field) const {
  const auto number = reader_.scalar<int64_t>(options, field, 0);
  if (!reader_.ok()) return whyDamaged();
  return number;
}

Result<int32_t> VerifiedFile::optionNumber(const FlatTable& options,
                                           FlatReader::Field field) const {
  const auto number = reader_.scalar<int32_t>(options, field, 0);
  if (!reader_.ok()) return whyDamaged();
  return number;
}

// A buffer's table often lies between large constants, far from all others. So only a few of its
// bytes are read.
Result<FileRange> VerifiedFile::constantData(const FlatTable& tensor) const {
  const auto buffer = reader_.scalar<uint32_t>(tensor, tfl::Tensor::VT_BUFFER, 0);
  // Number 0 means "no data", also in files without a table of buffers.
  if (buffer == 0) return FileRange();
  if (buffer >= buffers_.count) {
    return badData("refers to buffer {} of {}", buffer, buffers_.count);
  }
  const FlatTable table = reader_.passingElement(buffers_, buffer);
  const auto outside = reader_.scalar<uint64_t>(table, tfl::Buffer::VT_OFFSET, 0);
  const auto size = reader_.scalar<uint64_t>(table, tfl::Buffer::VT_SIZE, 0);
  const FileRange data = reader_.passingRange(table, tfl::Buffer::VT_DATA, 1);
  if (!reader_.ok()) return whyDamaged();
  // 1 is a writer's placeholder for an offset that it never filled in.
  if (outside <= 1) return data;
  const uint64_t whole = bytes().size() - reader_.begin();
  if (outside > whole || size > whole - outside) {
    return badData("buffer {} has {} bytes at offset {}, the file has {} bytes", buffer, size,
                   outside, whole);
  }
  return FileRange{reader_.begin() + outside, static_cast<size_t>(size)};
}

}  // namespace halyard::import
