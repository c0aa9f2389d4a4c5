// GraphBuilder: one subgraph while it grows: operands, values, and how far they can be trusted.
// Thread safety: none. Ownership: borrows the model, its chance and choices.
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
  std::vector<uint8_t> noisy;  // as a device might that errs a little in each operation
  bool isUnspecified = false;  // nothing says what it holds, so that nobody may read it
};

class GraphBuilder final : public ops::testing::CaseSource {
 public:
  // `isMain`: new operands may be inputs of the model. `scope`: of what the graph will be.
  GraphBuilder(Model& model, Chance& chance, accuracy::Scope scope, bool isMain)
      : model_(model), chance_(chance), scope_(scope), isMain_(isMain) {}

  Subgraph& subgraph() { return subgraph_; }
  Model& model() { return model_; }
  Chance& chance() { return chance_; }
  accuracy::Scope scope() const { return scope_; }
  const std::vector<GraphValue>& values() const { return values_; }
  size_t operationCount() const { return subgraph_.operations.size(); }

  // An input of the subgraph with this value. Gives its index in values().
  size_t addInput(const TestOperand& clean, std::vector<uint8_t> noisy);
  uint32_t addConstant(const TestOperand& from);
  // One of the constant tensors that an operation reads becomes an input, if there is one.
  void makeAnInput();
  uint32_t addModelReference(uint32_t referenced);

  // Whether operations that join what does not fit may be used: for the type's data.
  void allowAdapters(std::vector<OperandType> types) { adapted_ = std::move(types); }
  const std::vector<OperandType>& adaptedTypes() const { return adapted_; }

  // One more operation, whose operands are made or found; false, and nothing has changed, when what
  // came out is of no use. `like`: the first output must have the type and quantisation of it.
  bool place(const Choice& choice, const TestOperand* like = nullptr);
  // An operation whose inputs stand in the subgraph; `outputs` say type and quantisation. The
  // values of inputs that are none of values() are taken from the constants; `unspecified` lists
  // outputs whose values are not laid down. False as place.
  bool append(OperationType type, const std::vector<uint32_t>& inputs,
              const std::vector<TestOperand>& outputs, const std::vector<size_t>& unspecified = {});
  // A value with these dimensions made of values()[from], which has the type; the same elements,
  // cut or repeated. nullopt when it cannot be made.
  std::optional<size_t> adapted(size_t from, const Shape& dims);

  // The values of values()[i] as an argument; `noisy` with the errors.
  TestOperand valueOf(size_t i, bool noisy) const;

  // To go back to when an operation is not taken after all.
  struct Mark {
    size_t operands;
    size_t operations;
    size_t inputs;
    size_t values;
    size_t bytes;
  };
  Mark mark() const;
  void rollBack(const Mark& mark);

  // CaseSource
  std::optional<Shape> shapeFor(OperandType type, std::span<const size_t> ranks) override;
  std::optional<TestOperand> valueFor(OperandType type, const Shape& dims, float low,
                                      float high) override;

 private:
  uint32_t addOperand(const TestOperand& from, Lifetime lifetime);
  uint32_t operandFor(const TestOperand& input);
  // Arguments of an operation, as far as they are values or constants.
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
