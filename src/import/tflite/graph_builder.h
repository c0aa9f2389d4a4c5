// GraphBuilder: makes a model of NNAPI operations out of the tensors of a verified file.
// Thread safety: none; one import uses one builder in one thread.
// Ownership: borrows the VerifiedFile; owns the model until finish() hands it out. Constants of the
// file are referred to where they are; finish() copies what is not left in the file.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"
#include "import/tflite/importer.h"
#include "import/tflite/model_file.h"
#include "import/tflite/verified_file.h"
#include "ops/operation.h"

namespace halyard::import {

// How much an import may allocate, so that a small forged file cannot ask for much: tensors of a
// file may share buffers, names and scales that count once in it.
class Budget {
 public:
  explicit Budget(size_t fileSize) : left_(uint64_t{64} * 1024 * 1024 + 8 * uint64_t{fileSize}) {}
  // BAD_DATA when `bytes` more are too many.
  Status spend(uint64_t bytes);

 private:
  uint64_t left_;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(const VerifiedFile& file, const ImportOptions& options = {});
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  const VerifiedFile& file() const { return file_; }
  // Whether operations of kTfliteExtension are to stand for many of the API.
  bool prefersExtension() const { return options_.extension == ExtensionUse::PREFERRED; }
  const Operand& operand(uint32_t index) const { return model_.main.operands[index]; }
  Operand& operand(uint32_t index) { return model_.main.operands[index]; }
  // Both are empty if names are left out.
  const std::string& operandName(uint32_t index) const;
  std::string nameOf(const FileTensor& tensor) const;

  // Declares the model's inputs and remembers its outputs. Call first.
  Status beginGraph();

  // The operand that holds a tensor's value. BAD_DATA when nothing has written it, or when its type
  // or quantisation has no counterpart for an activation.
  Result<uint32_t> read(int32_t tensor);
  Result<uint32_t> read(const FileTensor& tensor);
  // A new operand for a tensor that an operator is about to write; its dimensions are the file's,
  // or empty where the file has none. `type`: instead of the file's type (nobody can read it then).
  Result<uint32_t> write(int32_t tensor, std::optional<OperandType> type = std::nullopt);
  // Lets a tensor stand for an operand that exists already.
  Status bind(const FileTensor& tensor, uint32_t operand);
  bool isModelOutput(int32_t tensor) const;
  // The operand that `read` gave before, if it did; for tensors with more than one reading.
  std::optional<uint32_t> known(int32_t tensor) const;

  // How the elements of a tensor stand in the operand that read() or write() gave.
  ElementForm formOf(int32_t tensor) const { return binding(tensor).form; }

  // The elements of a TENSOR_INT32 as far as the importer knows them: of a small constant, and of
  // what SHAPE makes of dimensions that are partly open, with kOpenInt for each that is not known.
  // Empty: nothing is known.
  static constexpr int32_t kOpenInt = INT32_MIN;
  std::span<const int32_t> knownInts(uint32_t operand);
  void keepKnownInts(uint32_t operand, std::vector<int32_t> values) {
    knownInts_[operand] = std::move(values);
  }
  // Whether the operand is a constant of the model.
  bool isConstant(uint32_t operand) const { return !constants_[operand].bytes.empty(); }

  // The operand that has the float values of a tensor, once that has been kept.
  std::optional<uint32_t> floatsOf(int32_t tensor) const {
    const auto at = floats_.find(tensor);
    return at == floats_.end() ? std::nullopt : std::optional(at->second);
  }
  void keepFloatsOf(int32_t tensor, uint32_t operand) { floats_[tensor] = operand; }

  // Type, dimensions and quantisation of a tensor that is no per-channel filter.
  Result<Operand> describe(const FileTensor& tensor) const;

  // A value between two operations that no tensor of the file has.
  Result<uint32_t> addTemporary(OperandType type, Shape dims, float scale, int32_t zeroPoint,
                                std::string name);
  // A constant whose bytes are those of a tensor of the file.
  Result<uint32_t> addFileConstant(Operand operand, const FileTensor& tensor);
  // Memory for a constant of the importer's own making, not yet written. BAD_DATA when it is too
  // much. It stays as long as the builder.
  Result<std::span<uint8_t>> newBytes(size_t size);
  // A constant with bytes of that memory.
  Result<uint32_t> addOwnConstant(Operand operand, std::span<const uint8_t> bytes,
                                  std::string name);
  // `size` bytes that are all `value`; those that agree in both share them.
  Result<uint32_t> addFilledConstant(Operand operand, size_t size, uint8_t value, std::string name);
  Result<uint32_t> int32Scalar(int32_t value);
  Result<uint32_t> boolScalar(bool value);
  // A FLOAT16 scalar next to TENSOR_FLOAT16, otherwise FLOAT32.
  Result<uint32_t> floatScalar(OperandType tensorType, float value);
  // An optional input that is left out.
  Result<uint32_t> omitted(OperandType type);
  Result<uint32_t> int32Tensor(Shape dims, std::span<const int32_t> values);
  // One value, of dimensions [1].
  Result<uint32_t> float32Tensor(float value);
  // The values of a constant of the file. BAD_DATA when they cannot be read.
  Result<std::span<const uint8_t>> contents(const FileTensor& tensor);
  Status spend(uint64_t bytes) { return budget_.spend(bytes); }

  // Appends an operation: checks it against its signature and infers the shapes of its outputs,
  // which are filled in where unknown and must agree otherwise. What follows from shapes or values
  // that only an execution knows stays unknown. A small operation of constants is computed at once,
  // unless its outputs are the model's: they are constants then.
  Status addOperation(OperationType type, OperandIndexes inputs, OperandIndexes outputs);

  // Places the constants, declares the outputs and validates the whole. Call last, once.
  Result<ImportedModel> finish();

 private:
  enum class TensorState : uint8_t { UNKNOWN, BOUND, OPAQUE };
  struct Binding {
    TensorState state = TensorState::UNKNOWN;
    ElementForm form = ElementForm::SAME;
    uint32_t operand = 0;
  };

  // The bytes of a constant: the importer's own, or a part of the file.
  struct Constant {
    const uint8_t* own = nullptr;
    FileRange bytes;  // without `own`, with its length in any case
    auto operator<=>(const Constant&) const = default;
  };

  bool keepsNames() const { return options_.names == OperandNames::KEPT; }
  Binding binding(int32_t tensor) const;  // UNKNOWN also for an index that no tensor has
  bool isBound(int32_t tensor) const { return binding(tensor).state != TensorState::UNKNOWN; }
  void setBinding(int32_t tensor, Binding binding);  // the tensor exists
  Result<uint32_t> readBound(int32_t tensor) const;
  // `name` is kept if names are. With a tensor, errors name it in any case.
  Result<uint32_t> addOperand(Operand operand, std::string name);
  Result<uint32_t> addOperand(Operand operand, const FileTensor& tensor);
  Result<uint32_t> addConstant(Operand operand, Constant constant, std::string name);
  Result<uint32_t> addNarrowed(Operand operand, const FileTensor& tensor);
  // Operations that want the same value share its operand.
  Result<uint32_t> cachedConstant(OperandType type, Shape dims, const void* bytes, size_t size);
  // False: not before execution.
  Result<bool> inferOutputs(const Operation& operation);
  Status infer(const Operation& operation, bool withLarge);
  Result<bool> fold(const Operation& operation);
  bool isFoldable(const Operation& operation);
  Status giveOutput(int32_t tensor);
  void dropUnread();
  const uint8_t* valueOf(uint32_t operand, bool isLargeToo);
  Result<std::span<const uint8_t>> contents(const Constant& constant);
  Status placeConstants();
  bool staysInFile(uint32_t operand) const;
  using Placed = std::map<Constant, DataLocation>;
  Status copyInline(Placed placed);
  Status copyToPool(const Placed& placed, size_t poolSize);
  std::vector<ModelPort> ports(std::span<const int32_t> tensors) const;

  const VerifiedFile& file_;
  const ImportOptions options_;
  Budget budget_;
  Model model_;
  std::vector<std::string> names_;                 // by operand
  std::vector<Constant> constants_;                // by operand; empty: not a constant
  std::vector<std::unique_ptr<uint8_t[]>> owned_;  // what constants_ of our own point to
  std::vector<Binding> bindings_;                  // by tensor
  std::vector<int32_t> outputTensors_;
  // Operands by type, rank, dimensions and bytes, one behind the other: those of scalars are no
  // longer than what a string holds without memory of its own.
  std::map<std::string, uint32_t> smallConstants_;
  std::map<OperandType, uint32_t> omitted_;
  std::map<std::pair<size_t, uint8_t>, std::span<const uint8_t>> filled_;  // by size and value
  std::map<int32_t, uint32_t> floats_;                                     // by tensor
  std::map<uint32_t, std::vector<int32_t>> knownInts_;                     // by operand
  std::vector<ops::Tensor> tensors_;  // of the operation that is being added
};

}  // namespace halyard::import
