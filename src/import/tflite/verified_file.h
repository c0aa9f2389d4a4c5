// VerifiedFile: a .tflite file whose structure has been checked, and its tensors decoded one by
// one. Thread safety: immutable; may be read from several threads. Ownership: borrows the file's
// bytes, or owns an aligned copy of them; everything it hands out points into those bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"
#include "import/tflite/tflite_generated.h"

namespace halyard::import {

// What is legal in a file but has no way into the model. Inside the importer such reasons are told
// apart from damage by OP_FAILED; importTflite makes BAD_DATA of both.
template <typename... Args>
Status unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return Status(ResultCode::OP_FAILED, fmt::format(format, std::forward<Args>(args)...));
}

// 64-bit integers at an address that need not be aligned: FlatBuffers' verifier (2.0.8) does not
// look at the alignment of a vector's elements.
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

// A tensor as the file describes it, checked by itself.
struct FileTensor {
  int32_t index = 0;
  std::string_view name;  // raw bytes of the file: print displayName
  tfl::TensorType type = tfl::TensorType::FLOAT32;
  Shape dims;  // every entry > 0; empty: a scalar, or a shape that only the operator knows
  std::span<const float> scales;
  ZeroPoints zeroPoints;  // as many as scales, or none (all 0)
  int32_t quantizedDimension = 0;
  // The bytes of a constant, exactly as many as type and dims need; empty for all others. Those of
  // a large one in a ModelFile are to be had from GraphBuilder::contents.
  std::span<const uint8_t> data;
  bool isVariable = false;

  bool isConstant() const { return !data.empty(); }
  // "tensor 12 'conv1/weights'".
  std::string text() const;
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
  // or when any offset, length or index in them that FlatBuffers or this class knows about is bad.
  static Result<VerifiedFile> create(std::span<const uint8_t> bytes);
  VerifiedFile(VerifiedFile&&) = default;
  VerifiedFile& operator=(VerifiedFile&&) = default;

  // The first subgraph: the one that runs.
  const tfl::SubGraph& graph() const { return *graph_; }
  const tfl::Model& model() const { return *model_; }
  size_t size() const { return size_; }
  size_t tensorCount() const;
  size_t operatorCount() const;
  size_t operatorCodeCount() const;
  tfl::BuiltinOperator operatorCode(size_t i) const;
  const tfl::Operator& op(size_t node) const;
  // "CONV_2D", or the name of a custom operator.
  std::string operatorName(size_t node) const;
  // CUSTOM for custom operators; may be a number without a name for an operator of the future.
  tfl::BuiltinOperator builtin(size_t node) const;
  std::string_view customName(size_t node) const;
  // BAD_DATA for an index that is out of range and for a tensor that contradicts itself.
  Result<FileTensor> tensor(int32_t index) const;
  // Raw bytes, as FileTensor::name. The tensor exists.
  std::string_view tensorName(int32_t index) const;
  // Only the quantisation of a tensor, whose shape need not make sense.
  Result<FileTensor> quantizationOf(int32_t index) const;

 private:
  VerifiedFile() = default;
  Status verifyStructure() const;
  Status verifyOperatorCodes() const;
  Status verifyGraph() const;
  Result<std::span<const uint8_t>> constantData(const tfl::Tensor& tensor) const;

  std::vector<uint64_t> alignedCopy_;
  size_t size_ = 0;
  const tfl::Model* model_ = nullptr;
  const tfl::SubGraph* graph_ = nullptr;
};

}  // namespace halyard::import
