// VerifiedFile: a subgraph of a .tflite file, whose parts are decoded and checked when they are
// used.
// Thread safety: none, as ModelFile.
// Ownership: borrows the file; all results point into it.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"
#include "import/tflite/flat_reader.h"
#include "import/tflite/sparsity.h"
#include "import/tflite/tflite_generated.h"

namespace halyard::import {

// The highest rank of a tensor.
inline constexpr size_t kMostDimensions = 8;

// Makes an error for a legal file that the model cannot represent. Inside the importer its code is
// OP_FAILED, which distinguishes it from damage. importTflite turns both into BAD_DATA.
template <typename... Args>
Status unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return Status(ResultCode::OP_FAILED, fmt::format(format, std::forward<Args>(args)...));
}

// 64-bit integers at an address that need not be aligned. The alignment of FlatBuffers applies to a
// vector's length.
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

// A tensor as the file describes it. Its own fields have been checked.
struct FileTensor {
  const VerifiedFile* file = nullptr;
  int32_t index = 0;
  tfl::TensorType type = tfl::TensorType::FLOAT32;
  Shape dims;  // every entry > 0; empty: a scalar, or a shape that only the operator knows
  uint8_t openDims = 0;  // bit i: dimension i may have another size than in the file
  std::span<const float> scales;
  ZeroPoints zeroPoints;  // as many as scales, or none (all 0)
  int32_t quantizedDimension = 0;
  // The bytes of a constant, exactly as many as type and dims need. Empty for all others.
  // GraphBuilder::contents reads the values.
  FileRange data;
  bool isVariable = false;

  bool isConstant() const { return !data.empty(); }
  bool isOpen(size_t dimension) const { return (openDims >> dimension & 1) != 0; }
  // Returns a text such as "tensor 12 'conv1/weights'".
  std::string text() const;
};

// An operator as in the file; its tensors exist.
struct FileOperator {
  uint32_t code = 0;                       // index of its operator code
  std::span<const int32_t> inputs;         // tensors; -1: omitted
  std::span<const int32_t> outputs;        // tensors
  std::span<const int32_t> intermediates;  // tensors; -1: omitted
  tfl::BuiltinOptions optionsType = tfl::BuiltinOptions::NONE;
  FlatTable options;
  tfl::BuiltinOptions2 options2Type = tfl::BuiltinOptions2::NONE;
  FlatTable options2;
  bool hasCustomOptions = false;
  std::span<const uint8_t> customOptions;
};

// Returns the TFLite name of a type ("INT8"), or "type 99".
std::string tensorTypeName(tfl::TensorType type);
// Returns the bytes per element; 0 for types that the importer does not support.
uint32_t tensorElementSize(tfl::TensorType type);
// Returns at most `limit` bytes of a file's name, as valid UTF-8 without control characters.
std::string displayName(std::string_view raw, size_t limit = 200);

class VerifiedFile {
 public:
  // Returns the first subgraph, which is the one that runs. Checks the parts of the file that
  // describe its operators. Other parts are checked when they are used. Borrows the file. Returns
  // BAD_DATA unless the bytes are a TensorFlow Lite model of version 3 with at least one subgraph.
  // A damaged description, or one with missing references, is BAD_DATA, too. `begin`: where the
  // model is in the file.
  static Result<VerifiedFile> create(ModelFile& file, uint64_t begin = 0);
  // Takes the place of the file's own further subgraphs.
  void setCallees(std::shared_ptr<const VerifiedFile> callees) { callees_ = std::move(callees); }
  // Returns another subgraph of the same file, or the same. Its errors name it.
  Result<std::unique_ptr<VerifiedFile>> subgraph(int32_t index) const;
  VerifiedFile(VerifiedFile&&) = default;
  VerifiedFile& operator=(VerifiedFile&&) = default;

  ModelFile& bytes() const { return reader_.file(); }
  size_t tensorCount() const { return tensors_.count; }
  // Returns the number of the subgraph.
  size_t number() const { return number_; }
  // Returns a text such as "subgraph 2 'while_body'".
  std::string text() const;
  std::span<const int32_t> inputs() const { return inputs_; }
  std::span<const int32_t> outputs() const { return outputs_; }
  size_t operatorCount() const { return operators_.size(); }
  size_t operatorCodeCount() const { return codes_->size(); }
  tfl::BuiltinOperator operatorCode(size_t i) const { return (*codes_)[i].op; }
  const FileOperator& op(size_t node) const { return operators_[node]; }
  // Returns "CONV_2D", or the name of a custom operator.
  std::string operatorName(size_t node) const;
  // Returns CUSTOM for custom operators. May be a number without a name for a future operator.
  tfl::BuiltinOperator builtin(size_t node) const { return (*codes_)[operators_[node].code].op; }
  std::string_view customName(size_t node) const { return (*codes_)[operators_[node].code].name; }
  std::string_view description() const { return description_; }
  // Gives an input of the subgraph the bytes of a caller's constant. tensor() then returns a
  // constant.
  void giveConstant(int32_t input, FileRange data) { given_[input] = data; }
  // Returns BAD_DATA for an index out of range and for a tensor that contradicts itself.
  Result<FileTensor> tensor(int32_t index) const;
  // Returns whether a tensor is a list without elements. tensor() refuses such a tensor.
  bool isEmptyList(int32_t index) const;
  // Returns a tensor whose data has only some elements, and how they lie. OP_FAILED for others.
  Result<FileTensor> sparseTensor(int32_t index, Sparsity* sparsity) const;
  // Returns raw bytes; print displayName instead. The tensor must exist. Empty if the name is
  // damaged.
  std::string_view tensorName(int32_t index) const;
  // Returns an error if any part read so far is damaged.
  Status check() const { return reader_.ok() ? okStatus() : whyDamaged(); }
  // Returns only the quantisation of a tensor, whose shape need not be valid.
  Result<FileTensor> quantizationOf(int32_t index) const;
  // Returns a vector of an operator's options, if present.
  Result<std::optional<std::span<const int32_t>>> optionList(const FlatTable& options,
                                                             FlatReader::Field field) const;
  // Returns a vector of 64-bit numbers; empty if it is absent.
  Result<std::vector<int64_t>> wideOptionList(const FlatTable& options,
                                              FlatReader::Field field) const;
  // Returns a number of an operator's options; 0 if it is absent.
  Result<int32_t> optionNumber(const FlatTable& options, FlatReader::Field field) const;
  Result<int64_t> wideOption(const FlatTable& options, FlatReader::Field field) const;
  // Returns a text of an operator's options as it is.
  std::string_view rawOptionText(const FlatTable& options, FlatReader::Field field) const {
    return reader_.string(options, field);
  }
  // Returns the same, fit for an error.
  std::string optionText(const FlatTable& options, FlatReader::Field field) const {
    return displayName(reader_.string(options, field));
  }

 private:
  struct OperatorCode {
    tfl::BuiltinOperator op;
    std::string_view name;  // of a custom operator
  };

  VerifiedFile(ModelFile& file, uint64_t begin) : reader_(file, begin) {}
  Status readModel();
  Status readOperatorCodes(const FlatTables& codes);
  Status readGraph();
  Status readOperator(const FlatTable& table);
  Status whyDamaged() const { return reader_.file().whyNot(); }
  Result<FileTensor> beginTensor(int32_t index, FlatTable* table) const;
  // Returns a tensor without its data.
  Result<FileTensor> readTensor(int32_t index, FlatTable* table) const;
  Result<Sparsity::Level> readLevel(const FlatTable& table) const;
  Result<std::vector<int32_t>> readIndexes(const FlatTable& table, FlatReader::Field type,
                                           FlatReader::Field field) const;
  Result<FileRange> constantData(const FlatTable& tensor) const;

  // Reads from the file and remembers errors; every read checks that.
  mutable FlatReader reader_;
  FlatTables buffers_;
  FlatTables graphs_;
  std::shared_ptr<const std::vector<OperatorCode>> codes_;  // of all subgraphs
  std::shared_ptr<const VerifiedFile> callees_;
  size_t number_ = 0;
  std::map<int32_t, FileRange> given_;
  FlatTables tensors_;
  std::vector<FileOperator> operators_;
  std::span<const int32_t> inputs_;
  std::span<const int32_t> outputs_;
  std::string_view description_;
};

}  // namespace halyard::import
