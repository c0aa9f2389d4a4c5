// GraphBuilder: builds a model of NNAPI operations from the tensors of a subgraph of a file.
// Thread safety: none; one import uses one builder in one thread.
// Ownership: borrows the VerifiedFile; owns the model until finish() returns it. Constants refer to
// the file; finish() copies those that do not stay there.
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

// The limit of an import's allocations, so that a small forged file cannot cause large ones.
// Tensors of a file may share buffers, names and scales that the file contains only once.
class Budget {
 public:
  explicit Budget(size_t fileSize) : left_(uint64_t{64} * 1024 * 1024 + 8 * uint64_t{fileSize}) {}
  // Returns BAD_DATA when `bytes` more exceed the limit.
  Status spend(uint64_t bytes);

 private:
  uint64_t left_;
};

// Returns how an operand represents elements of this type.
ElementForm formOf(tfl::TensorType type);
// Returns the dimensions of a tensor's operand. A scalar gets a shape of rank 1, because a tensor
// of rank 0 has an unknown shape in NNAPI.
Shape orScalar(Shape dims, tfl::TensorType type);

class GraphBuilder {
 public:
  explicit GraphBuilder(const VerifiedFile& file, const ImportOptions& options = {});
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  // The subgraph that is being converted.
  const VerifiedFile& file() const { return *graph_.file; }
  const ImportOptions& options() const { return options_; }
  // Returns whether operations of kTfliteExtension should replace many operations of the API.
  bool prefersExtension() const { return options_.extension == ExtensionUse::PREFERRED; }
  bool keepsStates() const { return options_.states != StateUse::FIRST_VALUES; }
  const Operand& operand(uint32_t index) const { return model_.main.operands[index]; }
  Operand& operand(uint32_t index) { return model_.main.operands[index]; }
  // Both return an empty text if names are left out.
  const std::string& operandName(uint32_t index) const;
  std::string nameOf(const FileTensor& tensor) const;

  // Declares the model's inputs and remembers its outputs. Must be the first call.
  Status beginGraph();

  // The functions from here to endCall() convert subgraphs that nodes call.

  // Accounts for a call of a subgraph. Returns BAD_DATA if the calls form a cycle, are nested too
  // deep, or exceed the limits of an import.
  Status beginCall(const VerifiedFile& callee);
  void endCall() { calls_.pop_back(); }

  // Continues with the tensors of a subgraph whose operations become part of this model.
  void beginInlined(const VerifiedFile& callee);
  // Continues with the tensors of the caller.
  void endInlined();

  // A builder for a subgraph that becomes a model of its own, which control flow of `caller` refers
  // to. It belongs between beginCall and endCall of the caller.
  GraphBuilder(const VerifiedFile& callee, GraphBuilder& caller);
  // A value that a caller passes to a subgraph.
  struct Argument {
    int32_t tensor = 0;  // of the subgraph; -1: it does not read the value
    Operand value;       // of the caller
  };
  // Returns whether this is such a builder.
  bool isReferenced() const { return ownBudget_ == nullptr; }
  // Declares the inputs of such a model. `outputs` are the tensors that it gives back. Must be the
  // first call.
  Status beginCallee(std::span<const Argument> arguments, std::span<const int32_t> outputs);
  // Adds operands like these, which the model gives back in place of tensors.
  Result<OperandIndexes> addResults(std::span<const Operand> results);
  // Returns the model, complete in itself. Must be the last call, with the same outputs.
  Result<Model> finishCallee(std::span<const int32_t> outputs);
  // Adds such a model. Returns the operand that refers to it.
  Result<uint32_t> addReferenced(Model callee);
  // Appends an IF or a WHILE, whose outputs have known shapes.
  Status addControlFlow(OperationType type, OperandIndexes inputs, OperandIndexes outputs);

  // Returns the operand that holds a tensor's value. Returns BAD_DATA when no operator has written
  // it, or when no activation can have its type or quantisation.
  Result<uint32_t> read(int32_t tensor);
  Result<uint32_t> read(const FileTensor& tensor);
  // Returns a new operand for a tensor that an operator will write. Its dimensions are the file's,
  // or empty if the file has none. `type` replaces the file's type; no operator can then read the
  // tensor.
  Result<uint32_t> write(int32_t tensor, std::optional<OperandType> type = std::nullopt);
  // Binds a tensor to an existing operand.
  Status bind(const FileTensor& tensor, uint32_t operand);
  // If states are kept: adds an input with the value that a variable has before the execution.
  // `first`: its size in bytes, and the byte that its first value consists of.
  Result<uint32_t> beginState(const FileTensor& tensor, Operand operand,
                              std::pair<size_t, uint8_t> first);
  // Makes the operand, which an operation writes, the variable's value after the execution.
  void endState(int32_t tensor, uint32_t operand);
  // The variables of resources. Names are those of the file.

  // Makes a tensor of the subgraph the handle of a variable.
  Status nameHandle(int32_t tensor, std::string variable);
  // Gives a variable the value that it has before the first execution: a constant of any subgraph.
  Status giveFirstValue(const std::string& variable, const FileTensor& constant);
  // Returns the operand with the value that the variable of this handle has now.
  Result<uint32_t> readVariable(int32_t handle);
  Status assignVariable(int32_t handle, uint32_t value);

  bool isModelOutput(int32_t tensor) const;
  // Returns the operand that `read` has returned before, if any; for tensors with several readings.
  std::optional<uint32_t> known(int32_t tensor) const;

  // Returns how the operand of read() or write() represents the tensor's elements.
  ElementForm formOf(int32_t tensor) const { return binding(tensor).form; }

  // Returns the known elements of a TENSOR_INT32. It may be a small constant, or come from a SHAPE
  // of partly open dimensions. Unknown elements are kOpenInt. Empty: nothing is known.
  static constexpr int32_t kOpenInt = INT32_MIN;
  std::span<const int32_t> knownInts(uint32_t operand);
  void keepKnownInts(uint32_t operand, std::vector<int32_t> values) {
    knownInts_[operand] = std::move(values);
  }
  // Returns whether the operand is a constant of the model.
  bool isConstant(uint32_t operand) const { return !constants_[operand].bytes.empty(); }

  // Returns the operand with the float values of a tensor, if it has been stored.
  std::optional<uint32_t> floatsOf(int32_t tensor) const {
    const auto at = graph_.floats.find(tensor);
    return at == graph_.floats.end() ? std::nullopt : std::optional(at->second);
  }
  void keepFloatsOf(int32_t tensor, uint32_t operand) { graph_.floats[tensor] = operand; }

  // Returns type, dimensions and quantisation of a tensor that is no per-channel filter.
  Result<Operand> describe(const FileTensor& tensor) const;

  // Adds a value between two operations that is no tensor of the file.
  Result<uint32_t> addTemporary(OperandType type, Shape dims, float scale, int32_t zeroPoint,
                                std::string name);
  // Adds a constant whose bytes are those of a tensor of the file.
  Result<uint32_t> addFileConstant(Operand operand, const FileTensor& tensor);
  // Returns uninitialised memory for a constant that the importer computes. It lives as long as the
  // builder. Returns BAD_DATA when the size exceeds the limit.
  Result<std::span<uint8_t>> newBytes(size_t size);
  // Adds a constant with bytes of that memory.
  Result<uint32_t> addOwnConstant(Operand operand, std::span<const uint8_t> bytes,
                                  std::string name);
  // Adds `size` bytes of `value`. Constants with the same size and value share their bytes.
  Result<uint32_t> addFilledConstant(Operand operand, size_t size, uint8_t value, std::string name);
  Result<uint32_t> int32Scalar(int32_t value);
  Result<uint32_t> boolScalar(bool value);
  // Returns a FLOAT16 scalar for TENSOR_FLOAT16, otherwise FLOAT32.
  Result<uint32_t> floatScalar(OperandType tensorType, float value);
  // Returns an optional input without a value.
  Result<uint32_t> omitted(OperandType type);
  Result<uint32_t> int32Tensor(Shape dims, std::span<const int32_t> values);
  // Returns one value with dimensions [1].
  Result<uint32_t> float32Tensor(float value);
  // Returns the values of a constant of the file. Returns BAD_DATA when they are not readable.
  Result<std::span<const uint8_t>> contents(const FileTensor& tensor);
  Status spend(uint64_t bytes) { return budget_.spend(bytes); }

  // Appends an operation. Checks it against its signature and infers the shapes of its outputs.
  // Inferred dimensions replace unknown ones, and must agree with known ones. Dimensions that
  // depend on values only an execution knows stay unknown. A small operation on constants is
  // computed at once, unless its outputs are the model's. Its outputs become constants.
  Status addOperation(OperationType type, OperandIndexes inputs, OperandIndexes outputs);

  // Places the constants, declares the outputs and validates the model. Must be the last call,
  // once.
  Result<ImportedModel> finish();

 private:
  enum class TensorState : uint8_t { UNKNOWN, BOUND, OPAQUE };
  struct Binding {
    TensorState state = TensorState::UNKNOWN;
    ElementForm form = ElementForm::SAME;
    uint32_t operand = 0;
  };
  // The tensors of one subgraph.
  struct Graph {
    explicit Graph(const VerifiedFile& of) : file(&of), bindings(of.tensorCount()) {}

    const VerifiedFile* file;
    std::vector<Binding> bindings;           // by tensor
    std::vector<int32_t> outputs;            // those that the model gives back, in ascending order
    std::map<int32_t, uint32_t> floats;      // by tensor
    std::map<int32_t, std::string> handles;  // names of variables, by tensor
  };

  struct State {
    int32_t tensor = -1;
    uint32_t before = 0;  // operands
    uint32_t after = 0;
    std::string name;
    std::vector<uint8_t> first;
  };

  // The variable of a resource.
  struct Variable {
    std::optional<FileRange> first;  // the bytes of a constant
    std::optional<Operand> type;     // known from its first value or assignment
    std::optional<uint32_t> now;     // its value at the current node
    std::optional<size_t> state;     // index in states_, if an execution reads its old value
  };

  // The bytes of a constant: the importer's own, or a part of the file.
  struct Constant {
    const uint8_t* own = nullptr;
    FileRange bytes;  // used without `own`; its length is always valid
    auto operator<=>(const Constant&) const = default;
  };

  static Status checkHasBatch(const FileTensor& tensor);
  bool keepsNames() const { return options_.names == OperandNames::KEPT; }
  Binding binding(int32_t tensor) const;  // UNKNOWN also for an index without a tensor
  bool isBound(int32_t tensor) const { return binding(tensor).state != TensorState::UNKNOWN; }
  void setBinding(int32_t tensor, Binding binding);  // the tensor must exist
  Result<uint32_t> readBound(int32_t tensor) const;
  // `name` is stored if names are kept. With a tensor, errors always name it.
  Result<uint32_t> addOperand(Operand operand, std::string name);
  Result<uint32_t> addOperand(Operand operand, const FileTensor& tensor);
  Result<uint32_t> addConstant(Operand operand, Constant constant, std::string name);
  Result<uint32_t> addNarrowed(Operand operand, const FileTensor& tensor);
  // Operations that need the same value share its operand.
  Result<uint32_t> cachedConstant(OperandType type, Shape dims, const void* bytes, size_t size);
  // Returns false if only an execution can infer them.
  Result<bool> inferOutputs(const Operation& operation);
  Status infer(const Operation& operation, bool withLarge);
  Result<bool> fold(const Operation& operation);
  bool isFoldable(const Operation& operation);
  bool movesBooleans(OperationType type, const OperandIndexes& inputs) const;
  Status moveBooleans(OperationType type, OperandIndexes inputs, const OperandIndexes& outputs);
  Status giveOutputs(std::span<const int32_t> tensors);
  Status giveOutput(int32_t tensor);
  Status addCopy(uint32_t from, uint32_t to);
  void nameExtension();
  uint32_t poolIndex(const SharedMemoryPtr& pool);
  void dropUnread();
  const uint8_t* valueOf(uint32_t operand, bool isLargeToo);
  Result<std::span<const uint8_t>> contents(const Constant& constant);
  Status placeConstants();
  bool staysInFile(uint32_t operand) const;
  using Placed = std::map<Constant, DataLocation>;
  Status copyInline(Placed placed);
  Status copyToPool(const Placed& placed, size_t poolSize);
  Status giveStates();
  Status giveShape(const FileTensor& tensor, Operand& operand);
  Status checkShapes() const;
  Result<Variable*> variableOf(int32_t handle);
  Status setVariableType(const std::string& name, Variable& variable, Operand type);
  Result<uint32_t> firstValueOf(const std::string& name, Variable& variable);
  // Returns an operand of the same value that only one output of the model has.
  Result<uint32_t> ownOutput(uint32_t operand);
  void appendOutput(uint32_t operand);
  std::vector<ModelPort> ports(std::span<const int32_t> tensors) const;
  ModelPort port(std::string name, uint32_t operand, ElementForm form) const;

  const ImportOptions options_;
  const std::unique_ptr<Budget> ownBudget_;  // null: the caller's
  Budget& budget_;
  std::vector<const VerifiedFile*> calls_;  // from the first subgraph to the current one
  Graph graph_;
  std::vector<Graph> callers_;  // of the inlined graph, the nearest one last
  Model model_;
  std::vector<std::string> names_;                 // by operand
  std::vector<Constant> constants_;                // by operand; empty: not a constant
  std::vector<bool> isOutput_;                     // by operand; those beyond its end are none
  std::vector<std::unique_ptr<uint8_t[]>> owned_;  // memory of the importer's own constants
  std::vector<State> states_;
  std::map<std::string, Variable> variables_;  // by name
  // Operands by type, rank, dimensions and bytes, concatenated to a key. Keys of scalars fit into a
  // string without separate memory.
  std::map<std::string, uint32_t> smallConstants_;
  std::map<OperandType, uint32_t> omitted_;
  std::map<std::pair<size_t, uint8_t>, std::span<const uint8_t>> filled_;  // by size and value
  std::map<uint32_t, std::vector<int32_t>> knownInts_;                     // by operand
  std::vector<ops::Tensor> tensors_;  // of the operation that is being added
};

}  // namespace halyard::import
