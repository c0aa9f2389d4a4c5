#include "ops/testing/searched_case.h"

#include <algorithm>

#include "ops/testing/recipes.h"

namespace halyard::ops::testing {
namespace {

constexpr unsigned kAttempts = 400;

// Draws operands as in most operations: similar tensors, small numbers.
class Search {
 public:
  Search(const OperationDefinition& definition, const Variant& variant, unsigned seed,
         CaseSource* source)
      : signature_(definition.signature),
        variant_(variant),
        builder_(definition, variant, seed, source) {}

  LegalCase makeCase() {
    if (variant_.inputs > 0) base_ = builder_.shape(4);
    for (size_t i = 0; i < variant_.inputs; ++i) addInput(i);
    for (size_t i = 0; i < variant_.outputs; ++i) addOutput();
    return std::move(builder_.legal());
  }

 private:
  void addInput(size_t i) {
    const OperandSpec& spec = tableSpec(signature_, variant_, true, i);
    if (spec.omittable && builder_.coin()) return builder_.omit();
    const OperandType type = builder_.nextType();
    switch (type) {
      case OperandType::BOOL:
        return builder_.flag(builder_.coin());
      case OperandType::INT32:
        return builder_.int32(smallNumber());
      case OperandType::FLOAT32:
      case OperandType::FLOAT16:
        return builder_.real(builder_.random().oneOf({1.0f, 0.5f, 0.25f, 2.0f}));
      default:
        break;
    }
    if (i > 0 && spec.column < 0 && type == OperandType::TENSOR_INT32) return addNumbers();
    // Values are positive in half of the cases, so cases are often legal if values must be
    // positive.
    builder_.tensor(shapeFor(), builder_.coin() ? 0.125f : -1.0f, 2);
  }

  // Adds axes, permutations, sizes.
  void addNumbers() {
    std::vector<int32_t> values(
        builder_.size(1, static_cast<int>(std::max<size_t>(1, base_.size()))));
    for (int32_t& value : values) value = smallNumber();
    builder_.intList(values);
  }

  int32_t smallNumber() { return builder_.random().oneOf({0, 1, 1, 2, 3, -1}); }

  // Returns mostly the first tensor's shape.
  Shape shapeFor() {
    const std::vector<size_t> ranks = builder_.legalRanks();
    const auto fits = [&](const Shape& shape) {
      return std::find(ranks.begin(), ranks.end(), shape.size()) != ranks.end();
    };
    if (!fits(base_) || builder_.between(0, 5) == 0) return builder_.shape(4);
    Shape shape = base_;
    if (builder_.between(0, 4) == 0)
      shape[builder_.size(0, static_cast<int>(shape.size()) - 1)] = 1;
    return shape;
  }

  void addOutput() {
    const int choice = builder_.between(0, 3);
    const bool isLike =
        !builder_.legal().inputs.empty() &&
        builder_.input(0).tensor.type == builder_.outputType(builder_.legal().outputs.size());
    if (choice == 0 && isLike) return builder_.outLike(0);
    if (choice == 1) return builder_.outFixed(1.0f / 256, 0, -128);
    if (choice == 2) return builder_.outFixed(1.0f / 128, 128, 0);
    builder_.out(2);
  }

  const Signature& signature_;
  const Variant variant_;
  CaseBuilder builder_;
  Shape base_;
};

}  // namespace

Status tryCase(const OperationDefinition& definition, LegalCase& legal) {
  if (!legal.problem.empty()) return opFailed("{}", legal.problem);
  const Model model = toModel(legal);
  HALYARD_RETURN_IF_ERROR(checkSignature(definition.signature,
                                         OperationView(model, model.main, model.main.operations[0]))
                              .takeStatus());
  return runOperation(legal.type, legal.inputs, legal.outputs);
}

Result<LegalCase> searchedCase(const OperationDefinition& definition, const Variant& variant,
                               unsigned seed, CaseSource* source) {
  if (definition.controlFlow != ControlFlow::NONE) {
    return opFailed("{} takes models", operationTypeName(definition.type));
  }
  Status last;
  for (unsigned attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string id =
        fmt::format("{}/{}/{}/{}/{}/searched{}", operationTypeName(definition.type), variant.form,
                    variant.row, variant.inputs, variant.outputs, attempt);
    LegalCase legal = Search(definition, variant, hashOf(id, seed), source).makeCase();
    legal.id = fmt::format("{}@{}", id, seed);
    last = tryCase(definition, legal);
    if (last.ok()) return legal;
  }
  return opFailed("no legal operands of {} found in {} attempts; the last: {}",
                  operationTypeName(definition.type), kAttempts, last.message());
}

Result<LegalCase> triedCase(const OperationDefinition& definition, const Variant& variant,
                            unsigned seed, CaseSource* source) {
  if (!allRecipes().contains(definition.type)) {
    return searchedCase(definition, variant, seed, source);
  }
  LegalCase legal = legalCase(definition, variant, 0, seed, source);
  HALYARD_RETURN_IF_ERROR(tryCase(definition, legal), "{}", operationTypeName(definition.type));
  return legal;
}

}  // namespace halyard::ops::testing
