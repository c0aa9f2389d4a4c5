// Tests of properties that every operation has, on random cases made from its signature
// (testing/recipes.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/validation/validation.h"
#include "ops/each_case_for_test.h"
#include "ops/random_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

constexpr unsigned kRounds = 15;

// Returns the outputs of a run, which must succeed.
std::vector<TestOperand> outputsOf(LegalCase legal) {
  const Status status = runOperation(legal.type, legal.inputs, legal.outputs);
  EXPECT_TRUE(status.ok()) << status.toString() << "\n" << legal.text();
  return std::move(legal.outputs);
}

bool isUnspecified(const LegalCase& legal, size_t output) {
  const auto& list = legal.unspecifiedOutputs;
  return std::find(list.begin(), list.end(), output) != list.end();
}

bool hasType(const LegalCase& legal, OperandType type) {
  const auto is = [type](const TestOperand& operand) { return operand.tensor.type == type; };
  return std::any_of(legal.inputs.begin(), legal.inputs.end(), is) ||
         std::any_of(legal.outputs.begin(), legal.outputs.end(), is);
}

// Returns whether the tables allow the operands' types (a twin of a legal case may not exist).
bool isInTables(const OperationDefinition& definition, const LegalCase& legal) {
  const Model model = toModel(legal);
  return checkSignature(definition.signature,
                        OperationView(model, model.main, model.main.operations[0]))
      .ok();
}

// Returns the stored numbers of an operand of any type.
std::vector<double> storedValues(const TestOperand& operand) {
  const auto widened = [](const auto& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  switch (operand.tensor.type) {
    case TENSOR_FLOAT32:
      return widened(operand.values<float>());
    case TENSOR_FLOAT16:
      return realValues(operand);
    case TENSOR_INT32:
    case INT32:
      return widened(operand.values<int32_t>());
    case TENSOR_QUANT8_ASYMM:
    case TENSOR_BOOL8:
      return widened(operand.values<uint8_t>());
    case TENSOR_QUANT16_SYMM:
      return widened(operand.values<int16_t>());
    case TENSOR_QUANT16_ASYMM:
      return widened(operand.values<uint16_t>());
    default:
      return widened(operand.values<int8_t>());
  }
}

// Expects equality except for rounding: floats within the conformance tolerance and `slack`, stored
// integers within `units`.
void expectClose(const TestOperand& actual, const TestOperand& expected, double slack, double units,
                 const std::string& what) {
  ASSERT_EQ(actual.tensor.dims, expected.tensor.dims) << what;
  const std::vector<double> a = storedValues(actual);
  const std::vector<double> e = storedValues(expected);
  ASSERT_EQ(a.size(), e.size()) << what;
  const OperandType type = actual.tensor.type;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(e[i])) continue;
    if (a[i] == e[i]) continue;
    double tolerance = units;
    if (type == TENSOR_FLOAT32) tolerance = 1e-5 + slack + 5 * 0x1p-23 * std::abs(e[i]);
    if (type == TENSOR_FLOAT16) tolerance = 5 * 0x1p-10 * (1 + std::abs(e[i]));
    ASSERT_LE(std::abs(a[i] - e[i]), tolerance)
        << what << ", element " << i << " is " << a[i] << ", expected " << e[i];
  }
}

TEST(Property, EveryOperationHasARecipe) {
  for (int code = 0; code <= 105; ++code) {
    const auto type = static_cast<OperationType>(code);
    if (type == OperationType::IF || type == OperationType::WHILE) continue;
    EXPECT_TRUE(allRecipes().count(type)) << operationTypeName(type);
  }
}

TEST(Property, CasesAreLegalAndRun) {
  forEachCase(kRounds, 1000, [](const OperationDefinition&, const LegalCase& legal) {
    const Result<FeatureLevel> level = validateModel(toModel(legal));
    EXPECT_TRUE(level.ok()) << level.status().toString();
    outputsOf(legal);
    return true;
  });
}

LegalCase channelsFirst(LegalCase legal) {
  legal.inputs[*legal.layout] = TestOperand::boolean(true);
  for (size_t i : legal.imageInputs) legal.inputs[i] = toNchw(legal.inputs[i]);
  if (legal.shapeInput) {
    const auto s = legal.inputs[*legal.shapeInput].values<int32_t>();
    legal.inputs[*legal.shapeInput] = intList({s[0], s[3], s[1], s[2]});
  }
  return legal;
}

TEST(Property, LayoutsAgree) {
  forEachCase(kRounds, 400, [](const OperationDefinition&, const LegalCase& legal) {
    if (!legal.layout) return false;
    const std::vector<TestOperand> expected = outputsOf(legal);
    const std::vector<TestOperand> actual = outputsOf(channelsFirst(legal));
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto& images = legal.imageOutputs;
      const bool isImage = std::find(images.begin(), images.end(), i) != images.end();
      const TestOperand wanted = isImage ? toNchw(expected[i]) : expected[i];
      EXPECT_EQ(actual[i].tensor.dims, wanted.tensor.dims) << "output " << i;
      EXPECT_EQ(actual[i].bytes, wanted.bytes) << "output " << i;
    }
    return true;
  });
}

// Returns a case with the same real values, stored 128 lower.
LegalCase signedTwin(LegalCase legal) {
  for (auto* list : {&legal.inputs, &legal.outputs}) {
    for (TestOperand& operand : *list) {
      if (operand.tensor.type != TENSOR_QUANT8_ASYMM) continue;
      operand.tensor.type = TENSOR_QUANT8_ASYMM_SIGNED;
      operand.tensor.zeroPoint -= 128;
      for (uint8_t& byte : operand.bytes) byte ^= 0x80;
    }
  }
  for (size_t i : legal.storedScalars) {
    legal.inputs[i] = TestOperand::int32(legal.inputs[i].values<int32_t>()[0] - 128);
  }
  return legal;
}

TEST(Property, SignedAndUnsignedAgree) {
  forEachCase(kRounds, 300, [](const OperationDefinition& definition, const LegalCase& legal) {
    if (!hasType(legal, TENSOR_QUANT8_ASYMM)) return false;
    LegalCase twin = signedTwin(legal);
    if (!isInTables(definition, twin)) return false;
    std::vector<TestOperand> expected = outputsOf(legal);
    const std::vector<TestOperand> actual = outputsOf(std::move(twin));
    for (size_t i = 0; i < expected.size(); ++i) {
      if (expected[i].tensor.type == TENSOR_QUANT8_ASYMM) {
        for (uint8_t& byte : expected[i].bytes) byte ^= 0x80;
        expected[i].tensor.type = TENSOR_QUANT8_ASYMM_SIGNED;
      }
      // For averages of stored values, ties round away from zero, and zero moves with the twin's
      // values. Floats may differ in the last place.
      const bool averages =
          legal.type == OperationType::AVERAGE_POOL_2D || legal.type == OperationType::MEAN ||
          legal.type == OperationType::RESIZE_BILINEAR || legal.type == OperationType::ROI_ALIGN;
      expectClose(actual[i], expected[i], 0, averages ? 1 : 0, fmt::format("output {}", i));
    }
    return true;
  });
}

// Returns positions [begin, end) of an operand along an axis.
TestOperand part(const TestOperand& operand, size_t axis, uint32_t begin, uint32_t end) {
  TestOperand result = operand;
  const Shape& dims = operand.tensor.dims;
  size_t inner = elementSize(operand.tensor.type);
  for (size_t d = axis + 1; d < dims.size(); ++d) inner *= dims[d];
  result.tensor.dims[axis] = end - begin;
  result.bytes.clear();
  for (size_t outer = 0; outer * dims[axis] * inner < operand.bytes.size(); ++outer) {
    const auto from =
        operand.bytes.begin() + static_cast<ptrdiff_t>((outer * dims[axis] + begin) * inner);
    result.bytes.insert(result.bytes.end(), from,
                        from + static_cast<ptrdiff_t>((end - begin) * inner));
  }
  return result;
}

void checkPart(const LegalCase& legal, const std::vector<TestOperand>& whole, uint32_t begin,
               uint32_t end) {
  LegalCase some = legal;
  for (const auto& [operand, axis] : legal.batchInputs) {
    some.inputs[operand] = part(legal.inputs[operand], axis, begin, end);
  }
  const std::vector<TestOperand> actual = outputsOf(std::move(some));
  for (const auto& [operand, axis] : legal.batchOutputs) {
    if (isUnspecified(legal, operand)) continue;
    ASSERT_GT(actual[operand].tensor.dims.size(), axis);
    EXPECT_EQ(actual[operand].tensor.dims[axis], end - begin);
    // Small and large products add up their terms in different orders.
    expectClose(actual[operand], part(whole[operand], axis, begin, end), legal.slack, 0,
                fmt::format("output {}, {} to {} of the batch", operand, begin, end));
  }
}

TEST(Property, BatchesCanBeSplit) {
  forEachCase(kRounds, 800, [](const OperationDefinition& definition, const LegalCase& legal) {
    if (legal.batchInputs.empty()) return false;
    const auto& [first, axis] = legal.batchInputs[0];
    const uint32_t size = legal.inputs[first].tensor.dims[axis];
    const std::vector<TestOperand> whole = outputsOf(legal);
    for (uint32_t at = 0; at < size; ++at) checkPart(legal, whole, at, at + 1);
    if (size > 2) checkPart(legal, whole, 1, size);
    // No rows at all are legal, too. Then the result is only a shape.
    if (definition.acceptsZeroSized) checkPart(legal, whole, 0, 0);
    return true;
  });
}

TEST(Property, OptimisedKernelsAgreeWithTheFormula) {
  forEachCase(2 * kRounds, 1000, [](const OperationDefinition&, const LegalCase& legal) {
    if (legal.expected == nullptr) return false;
    const std::vector<TestOperand> outputs = outputsOf(legal);
    const std::vector<double> expected = legal.expected(legal);
    if (outputs[0].tensor.type == TENSOR_INT32) {
      EXPECT_EQ(storedValues(outputs[0]), expected);
    } else {
      expectReals(outputs[0], expected, "output 0", legal.slack);
    }
    return true;
  });
}

// Returns the result of inference without the values of the inputs in `unknown`.
Status inferWithout(const OperationDefinition& definition, const LegalCase& legal,
                    const std::vector<bool>& unknown, std::vector<Shape>* shapes) {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < legal.inputs.size(); ++i) {
    const TestOperand& operand = legal.inputs[i];
    inputs.push_back(operand.tensor);
    if (operand.tensor.omitted || unknown[i]) continue;
    inputs.back().data = const_cast<uint8_t*>(operand.bytes.data());
  }
  for (const TestOperand& operand : legal.outputs) outputs.push_back(operand.tensor);
  OperationContext context(inputs, outputs, nullptr);
  const Status status = inferShapes(definition, context);
  for (const Tensor& tensor : outputs) shapes->push_back(tensor.dims);
  return status;
}

TEST(Property, InferenceKnowsTheShapes) {
  forEachCase(kRounds, 1000, [](const OperationDefinition& definition, const LegalCase& legal) {
    std::vector<Shape> expected;
    for (const TestOperand& output : outputsOf(legal)) expected.push_back(output.tensor.dims);
    const size_t count = legal.inputs.size();
    // All values known, each one unknown in turn, all unknown.
    for (size_t n = 0; n < count + 2; ++n) {
      std::vector<bool> unknown(count, n == count + 1);
      if (n < count) unknown[n] = true;
      std::vector<Shape> shapes;
      const Status status = inferWithout(definition, legal, unknown, &shapes);
      if (n != count && status.code() == ResultCode::INCOMPLETE) continue;
      EXPECT_TRUE(status.ok()) << status.toString() << ", case " << n << " of unknown values";
      EXPECT_EQ(shapes, expected) << "case " << n << " of unknown values";
    }
    return true;
  });
}

LegalCase widened(LegalCase legal) {
  for (auto* list : {&legal.inputs, &legal.outputs}) {
    for (TestOperand& operand : *list) {
      Tensor& tensor = operand.tensor;
      if (tensor.type != TENSOR_FLOAT16 && tensor.type != FLOAT16) continue;
      std::vector<float> values;
      for (Float16 half : operand.values<Float16>()) values.push_back(toFloat(half));
      const bool omitted = tensor.omitted;
      operand = TestOperand::of<float>(tensor.type == FLOAT16 ? FLOAT32 : TENSOR_FLOAT32,
                                       tensor.dims, values);
      operand.tensor.omitted = omitted;
    }
  }
  return legal;
}

TEST(Property, Float16IsFloat32Rounded) {
  forEachCase(kRounds, 200, [](const OperationDefinition& definition, const LegalCase& legal) {
    if (!hasType(legal, TENSOR_FLOAT16) || legal.readsBytes) return false;
    LegalCase twin = widened(legal);
    if (!isInTables(definition, twin)) return false;
    const std::vector<TestOperand> actual = outputsOf(legal);
    const std::vector<TestOperand> wide = outputsOf(std::move(twin));
    for (size_t i = 0; i < actual.size(); ++i) {
      if (isUnspecified(legal, i)) continue;
      TestOperand expected = wide[i];
      if (actual[i].tensor.type == TENSOR_FLOAT16) {
        std::vector<Float16> halves;
        for (float value : wide[i].values<float>()) halves.push_back(toFloat16(value));
        expected = TestOperand::of<Float16>(TENSOR_FLOAT16, wide[i].tensor.dims, halves);
      }
      EXPECT_EQ(actual[i].tensor.dims, expected.tensor.dims) << "output " << i;
      EXPECT_EQ(actual[i].bytes, expected.bytes) << "output " << i;
    }
    return true;
  });
}

}  // namespace
}  // namespace halyard::ops::testing
