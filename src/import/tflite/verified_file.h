// VerifiedFile: a .tflite file, of which what is used is decoded, and checked then.
// Thread safety: none, as ModelFile. Ownership: borrows the file; everything it hands out points
// into it.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"
#include "import/tflite/flat_reader.h"
#include "import/tflite/tflite_generated.h"

namespace halyard::import {

// What is legal in a file but has no way into the model. Inside the importer such reasons are told
// apart from damage by OP_FAILED; importTflite makes BAD_DATA of both.
template <typename... Args>
Status unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return Status(ResultCode::OP_FAILED, fmt::format(format, std::forward<Args>(args)...));
}

// 64-bit integers at an address that need not be aligned: a vector of FlatBuffers is by its length.
class ZeroPoints {
 public:
  ZeroPoints() = default;
  ZeroPoints(const uint8_t* bytes, size_t count) : bytes_(bytes), count_(count) {}
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  int64_t operator[](size_t i) const {
    int64_t value = 0;
    std::memcpy(&value, bytes_ + i * sizeof(value), sizeof(value));
    return value;
  }

 private:
  const uint8_t* bytes_ = nullptr;
  size_t count_ = 0;
};

class VerifiedFile;

// A tensor as the file describes it, checked by itself.
struct FileTensor {
  const VerifiedFile* file = nullptr;
  int32_t index = 0;
  tfl::TensorType type = tfl::TensorType::FLOAT32;
  Shape dims;  // every entry > 0; empty: a scalar, or a shape that only the operator knows
  uint8_t openDims = 0;  // bit i: dimension i may have another size than the file gives
  std::span<const float> scales;
  ZeroPoints zeroPoints;  // as many as scales, or none (all 0)
  int32_t quantizedDimension = 0;
  // The bytes of a constant, exactly as many as type and dims need; empty for all others. Their
  // values are to be had from GraphBuilder::contents.
  FileRange data;
  bool isVariable = false;

  bool isConstant() const { return !data.empty(); }
  bool isOpen(size_t dimension) const { return (openDims >> dimension & 1) != 0; }
  // "tensor 12 'conv1/weights'".
  std::string text() const;
};

// An operator as it stands in the file; its tensors exist.
struct FileOperator {
  uint32_t code = 0;                       // index of its operator code
  std::span<const int32_t> inputs;         // tensors; -1: left out
  std::span<const int32_t> outputs;        // tensors
  std::span<const int32_t> intermediates;  // tensors; -1: left out
  tfl::BuiltinOptions optionsType = tfl::BuiltinOptions::NONE;
  FlatTable options;
  bool hasCustomOptions = false;
  std::span<const uint8_t> customOptions;
};

// The TFLite name of a type ("INT8"), or "type 99".
std::string tensorTypeName(tfl::TensorType type);
// Bytes per element; 0 for the types that the importer does not read.
uint32_t tensorElementSize(tfl::TensorType type);
// At most `limit` bytes of a name of the file, as valid UTF-8 without control characters.
std::string displayName(std::string_view raw, size_t limit = 200);

class VerifiedFile {
 public:
  // BAD_DATA when the bytes are not a TensorFlow Lite model of version 3 with one subgraph or more,
  // or when what describes the first subgraph's operators is damaged or refers to what is not
  // there. The rest is checked as it is asked for. Borrows the file.
  static Result<VerifiedFile> create(ModelFile& file);
  VerifiedFile(VerifiedFile&&) = default;
  VerifiedFile& operator=(VerifiedFile&&) = default;

  ModelFile& bytes() const { return reader_.file(); }
  size_t tensorCount() const { return tensors_.count; }
  // Of the first subgraph: the one that runs.
  std::span<const int32_t> inputs() const { return inputs_; }
  std::span<const int32_t> outputs() const { return outputs_; }
  size_t operatorCount() const { return operators_.size(); }
  size_t operatorCodeCount() const { return codes_.size(); }
  tfl::BuiltinOperator operatorCode(size_t i) const { return codes_[i].op; }
  const FileOperator& op(size_t node) const { return operators_[node]; }
  // "CONV_2D", or the name of a custom operator.
  std::string operatorName(size_t node) const;
  // CUSTOM for custom operators; may be a number without a name for an operator of the future.
  tfl::BuiltinOperator builtin(size_t node) const { return codes_[operators_[node].code].op; }
  std::string_view customName(size_t node) const { return codes_[operators_[node].code].name; }
  std::string_view description() const { return description_; }
  // BAD_DATA for an index that is out of range and for a tensor that contradicts itself.
  Result<FileTensor> tensor(int32_t index) const;
  // Raw bytes: print displayName. The tensor exists. Empty if the name is damaged.
  std::string_view tensorName(int32_t index) const;
  // Whether all that has been read is as it should be.
  Status check() const { return reader_.ok() ? okStatus() : whyDamaged(); }
  // Only the quantisation of a tensor, whose shape need not make sense.
  Result<FileTensor> quantizationOf(int32_t index) const;
  // A vector of the options of an operator, if it is there.
  Result<std::optional<std::span<const int32_t>>> optionList(const FlatTable& options,
                                                             FlatReader::Field field) const;

 private:
  struct OperatorCode {
    tfl::BuiltinOperator op;
    std::string_view name;  // of a custom operator
  };

  explicit VerifiedFile(ModelFile& file) : reader_(file) {}
  Status readModel();
  Status readOperatorCodes(const FlatTables& codes);
  Status readGraph(const FlatTable& graph);
  Status readOperator(const FlatTable& table);
  Status whyDamaged() const { return reader_.file().whyNot(); }
  Result<FileTensor> beginTensor(int32_t index, FlatTable* table) const;
  Result<FileRange> constantData(const FlatTable& tensor) const;

  // Reads from the file, and says whether all was well so far: every reading looks at that.
  mutable FlatReader reader_;
  FlatTables buffers_;
  FlatTables tensors_;
  std::vector<OperatorCode> codes_;
  std::vector<FileOperator> operators_;
  std::span<const int32_t> inputs_;
  std::span<const int32_t> outputs_;
  std::string_view description_;
};

}  // namespace halyard::import
