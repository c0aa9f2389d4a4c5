// Models that violate one rule of a signature each. Validation, compilation or execution refuses
// every model. The text names the operation, the operand, the expected and the actual value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "cpu/executor.h"
#include "model/validation/validation.h"
#include "ops/bad_models_for_test.h"
#include "ops/each_case_for_test.h"

namespace halyard::ops::testing {
namespace {

using ::testing::HasSubstr;

constexpr unsigned kRounds = 2;

// The first error on the way from validation to the end of an execution.
Status refusalOf(const BadModel& bad, const LegalCase& legal, size_t outputBytes) {
  const Result<FeatureLevel> level = validateModel(bad.model);
  if (!level.ok()) return level.status();
  auto executor = cpu::Executor::create(std::make_shared<const Model>(bad.model), nullptr);
  if (!executor.ok()) return executor.status();
  std::vector<std::vector<uint8_t>> buffers;
  const Subgraph& main = bad.model.main;
  buffers.reserve(main.inputIndexes.size() + main.outputIndexes.size());
  const auto buffer = [&](std::vector<uint8_t> bytes) {
    bytes.resize(std::max<size_t>(bytes.size(), 1));
    buffers.push_back(std::move(bytes));
    return cpu::Argument{buffers.back().data(), buffers.back().size(), {}};
  };
  std::vector<cpu::Argument> inputs;
  for (uint32_t operand : main.inputIndexes) {
    inputs.push_back(buffer(legal.inputs[operand].bytes));
    for (const auto& [index, dims] : bad.dimsAtExecution) {
      if (index == operand) inputs.back().dims = dims;
    }
    for (uint32_t index : bad.omittedAtExecution) {
      if (index == operand) inputs.back() = {};
    }
  }
  std::vector<cpu::Argument> outputs;
  for (size_t i = 0; i < main.outputIndexes.size(); ++i) {
    outputs.push_back(buffer(std::vector<uint8_t>(outputBytes)));
  }
  return executor.value()->execute(inputs, outputs, {}).status;
}

// The text "input 1 (filter) is TENSOR_INT32, expected ..." must agree with the model.
void checkTypeMismatch(const BadModel& bad, const std::string& text) {
  static const std::regex pattern("(input|output) (\\d+)( \\([^)]*\\))? is (\\w+), expected (.+)");
  std::smatch match;
  ASSERT_TRUE(std::regex_search(text, match, pattern)) << text;
  const Operation& operation = bad.model.main.operations[0];
  const auto& list = match[1] == "input" ? operation.inputs : operation.outputs;
  const size_t position = std::stoul(match[2]);
  ASSERT_LT(position, list.size()) << text;
  EXPECT_EQ(match[4], operandTypeName(bad.model.main.operands[list[position]].type)) << text;
  // The actual type is not among the expected types.
  const std::string expected = " " + std::regex_replace(match[5].str(), std::regex(","), "") + " ";
  EXPECT_THAT(expected, ::testing::Not(HasSubstr(" " + match[4].str() + " "))) << text;
}

void expectRefused(const std::vector<BadModel>& models, const LegalCase& legal) {
  size_t outputBytes = 4096;
  for (const TestOperand& input : legal.inputs) outputBytes += 64 * input.bytes.size();
  for (const BadModel& bad : models) {
    const Status status = refusalOf(bad, legal, outputBytes);
    ASSERT_FALSE(status.ok()) << "accepted: " << bad.what;
    const std::string text = status.toString();
    ASSERT_NE(status.code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE) << bad.what << ": " << text;
    ASSERT_THAT(text, HasSubstr(operationTypeName(legal.type))) << bad.what;
    for (const std::string& word : bad.words) ASSERT_THAT(text, HasSubstr(word)) << bad.what;
    const auto holds = [&](const std::string& name) { return text.find(name) != text.npos; };
    ASSERT_TRUE(bad.names.empty() || std::any_of(bad.names.begin(), bad.names.end(), holds))
        << bad.what << " does not name the operand: " << text;
    if (bad.isTypeMismatch) checkTypeMismatch(bad, text);
  }
}

template <typename Make>
void checkAll(int least, Make make) {
  forEachCase(kRounds, least, [&](const OperationDefinition& definition, const LegalCase& legal) {
    const std::vector<BadModel> models = make(BadModels(definition, legal));
    expectRefused(models, legal);
    return !models.empty();
  });
}

TEST(BadModels, WrongTypes) {
  checkAll(300, [](const BadModels& bad) { return bad.withWrongTypes(); });
}
TEST(BadModels, WrongCounts) {
  checkAll(300, [](const BadModels& bad) { return bad.withWrongCounts(); });
}
TEST(BadModels, WrongRanks) {
  checkAll(300, [](const BadModels& bad) { return bad.withWrongRanks(); });
}
TEST(BadModels, MissingValues) {
  checkAll(300, [](const BadModels& bad) { return bad.withMissingValues(); });
}
TEST(BadModels, WrongQuantization) {
  checkAll(150, [](const BadModels& bad) { return bad.withWrongQuantization(); });
}
TEST(BadModels, WrongValues) {
  checkAll(150, [](const BadModels& bad) { return bad.withWrongValues(); });
}

}  // namespace
}  // namespace halyard::ops::testing
