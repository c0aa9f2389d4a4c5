// GraphBuilder: one subgraph while it grows: operands, values, and the precision of the values.
// Thread safety: one thread.
// Ownership: borrows the model and the chance.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "accuracy/accuracy.h"
#include "halyard/driver/model.h"
#include "ops/testing/legal_case.h"
#include "validation/random_graphs/chance.h"
#include "validation/random_graphs/choices.h"
#include "validation/random_graphs/interpreter.h"

namespace halyard::random_graphs {

// A tensor of the subgraph that later operations may read.
struct GraphValue {
  uint32_t operand = 0;
  TestOperand clean;           // as the reference kernels compute it
  std::vector<uint8_t> noisy;  // as computed by a device with a small error in each operation
  bool isUnspecified = false;  // its contents are undefined, so that no operation may read it
};

class GraphBuilder final : public ops::testing::CaseSource {
 public:
  // `isMain`: new operands may be inputs of the model. `scope`: of the finished graph.
  GraphBuilder(Model& model, Chance& chance, accuracy::Scope scope, bool isMain)
      : model_(model), chance_(chance), scope_(scope), isMain_(isMain) {}

  Subgraph& subgraph() { return subgraph_; }
  Model& model() { return model_; }
  Chance& chance() { return chance_; }
  accuracy::Scope scope() const { return scope_; }
  const std::vector<GraphValue>& values() const { return values_; }
  size_t operationCount() const { return subgraph_.operations.size(); }

  // Adds an input of the subgraph with this value. Returns its index in values().
  size_t addInput(const TestOperand& clean, std::vector<uint8_t> noisy);
  uint32_t addConstant(const TestOperand& from);
  // Turns one of the constant tensors that an operation reads into an input, if one exists.
  void makeAnInput();
  uint32_t addModelReference(uint32_t referenced);

  // Allows operations that adapt the dimensions of a value, for data of these types.
  void allowAdapters(std::vector<OperandType> types) { adapted_ = std::move(types); }
  const std::vector<OperandType>& adaptedTypes() const { return adapted_; }

  // Adds one operation, whose operands are made or found. False, without any change, when its
  // results are not useful. `like`: the first output must have this type and quantisation.
  bool place(const Choice& choice, const TestOperand* like = nullptr);
  // Adds an operation whose inputs are in the subgraph. `outputs` give type and quantisation.
  // Inputs that are not in values() are read from the constants. `unspecified` lists outputs with
  // undefined values. False as place.
  bool append(OperationType type, const std::vector<uint32_t>& inputs,
              const std::vector<TestOperand>& outputs, const std::vector<size_t>& unspecified = {});
  // A value with these dimensions, made of values()[from], with the same type. Its elements are cut
  // or repeated. Empty when it cannot be made.
  std::optional<size_t> adapted(size_t from, const Shape& dims);

  // The value of values()[i] as an argument; with `noisy`, with the errors.
  TestOperand valueOf(size_t i, bool noisy) const;

  // A state to return to when an operation is not taken.
  struct Mark {
    size_t operands;
    size_t operations;
    size_t inputs;
    size_t values;
    size_t bytes;
  };
  Mark mark() const;
  void rollBack(const Mark& mark);

  // Methods of CaseSource.
  std::optional<Shape> shapeFor(OperandType type, std::span<const size_t> ranks) override;
  std::optional<TestOperand> valueFor(OperandType type, const Shape& dims, float low,
                                      float high) override;

 private:
  uint32_t addOperand(const TestOperand& from, Lifetime lifetime);
  uint32_t operandFor(const TestOperand& input);
  // The arguments of an operation. Those that are neither values nor constants are empty.
  std::vector<TestOperand> arguments(const Operation& operation, bool noisy) const;
  bool isUseful(const TestOperand& clean, const TestOperand& noisy, OperationType type) const;
  void addNoise(OperationType type, TestOperand* value);
  std::optional<size_t> pick(OperandType type);
  TestOperand taken(size_t i) const;

  Model& model_;
  Chance& chance_;
  const accuracy::Scope scope_;
  const bool isMain_;
  Subgraph subgraph_;
  std::vector<GraphValue> values_;
  std::vector<OperandType> adapted_;
};

}  // namespace halyard::random_graphs
