// The bytes of a compilation: they come back, and nothing else that is given instead does harm.
#include "saved_compilation.h"

#include <gtest/gtest.h>

#include "testing/cached_models.h"

namespace halyard::cpudriver {
namespace {

using testing::ModelForTest;

// One that runs what was compiled, for ModelForTest::run.
class Runnable final : public hal::PreparedModel {
 public:
  Runnable(CompiledModel& compiled, std::shared_ptr<const Model> model)
      : compiled_(compiled), model_(std::move(model)) {}
  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& options) override {
    const auto mapped = hal::MappedRequest::map(*model_, request);
    if (!mapped.ok()) return {mapped.status(), {}, {}};
    if (!compiled_.takes(mapped->inputs(), mapped->outputs())) {
      return {badData("it does not take them"), {}, {}};
    }
    return compiled_.run(mapped->inputs(), mapped->outputs(), options);
  }

 private:
  CompiledModel& compiled_;
  const std::shared_ptr<const Model> model_;
};

std::vector<uint8_t> run(const ModelForTest& test, CompiledModel& compiled,
                         const std::shared_ptr<const Model>& model) {
  Runnable runnable(compiled, model);
  const std::vector<uint8_t> output = test.run(runnable);
  EXPECT_FALSE(output.empty());
  return output;
}

// Of a type, and with choices for its steps or without.
using Kind = std::pair<OperandType, bool>;

class SavedCompilationTest : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    const bool tuned = GetParam().second;
    auto compiled = CompiledModel::compile(test_.model(), {}, &recorder_, tuned);
    ASSERT_TRUE(compiled.ok() && *compiled != nullptr) << compiled.status().toString();
    compiled_ = std::move(*compiled);
    if (tuned) {
      ASSERT_TRUE(compiled_->choose(testing::lastWays(*compiled_)).ok());
    }
    hal::PrepareOptions options;
    options.preference = hal::ExecutionPreference::SUSTAINED_SPEED;
    options.priority = hal::Priority::HIGH;
    auto content = packCompilation(*test_.model(), *compiled_, recorder_, options);
    ASSERT_TRUE(content.ok()) << content.status().toString();
    ASSERT_EQ(content->model.size(), 1u);
    ASSERT_EQ(content->data.size(), 1u);
    model_ = std::move(content->model[0]);
    data_ = std::move(content->data[0]);
  }

  static Result<SavedCompilation> unpack(std::span<const uint8_t> model,
                                         std::span<const uint8_t> data) {
    const auto owner = std::make_shared<std::vector<uint8_t>>(data.begin(), data.end());
    return unpackCompilation(model, *owner, owner);
  }

  // Null if the parts do not suit each other.
  static std::unique_ptr<CompiledModel> compileSaved(SavedCompilation& saved) {
    PackingReplay replay(std::move(saved.pieces));
    const bool tuned = !saved.choices.empty();
    auto compiled = CompiledModel::compile(saved.model, {}, &replay, tuned);
    if (!compiled.ok() || *compiled == nullptr || !replay.isConsistent()) return nullptr;
    if (tuned && !(*compiled)->choose(saved.choices).ok()) return nullptr;
    return std::move(*compiled);
  }

  // What becomes of any bytes: null if they are refused. What is compiled of them can be run.
  static std::unique_ptr<CompiledModel> compileAny(std::span<const uint8_t> model,
                                                   std::span<const uint8_t> data) {
    auto saved = unpack(model, data);
    if (!saved.ok()) {
      EXPECT_EQ(saved.status().code(), ResultCode::OP_FAILED) << saved.status().toString();
      return nullptr;
    }
    return compileSaved(*saved);
  }

  const ModelForTest test_{GetParam().first};
  PackingRecorder recorder_;
  std::unique_ptr<CompiledModel> compiled_;
  std::vector<uint8_t> model_;
  std::vector<uint8_t> data_;
};

TEST_P(SavedCompilationTest, ComesBack) {
  auto saved = unpack(model_, data_);
  ASSERT_TRUE(saved.ok()) << saved.status().toString();
  EXPECT_EQ(saved->preference, hal::ExecutionPreference::SUSTAINED_SPEED);
  EXPECT_EQ(saved->priority, hal::Priority::HIGH);
  EXPECT_EQ(saved->model->main.inputIndexes, test_.model()->main.inputIndexes);
  EXPECT_EQ(saved->model->main.operations.size(), test_.model()->main.operations.size());
  const auto again = compileSaved(*saved);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->facts().ownKernels, compiled_->facts().ownKernels);
  EXPECT_EQ(again->choices(), compiled_->choices());
  EXPECT_EQ(again->choices().empty(), !GetParam().second);
  EXPECT_EQ(run(test_, *again, saved->model), run(test_, *compiled_, test_.model()));
}

// Of a model's steps, each has the ways that it has.
TEST_P(SavedCompilationTest, ChoicesThatCannotBeAreRefused) {
  const std::vector<StepChoice> right = testing::lastWays(*compiled_);
  const auto refused = [&](const std::vector<StepChoice>& choices) {
    return compiled_->choose(choices).code() == ResultCode::OP_FAILED;
  };
  for (size_t step = 0; step < right.size(); ++step) {
    for (const uint8_t more : {1, 100}) {
      std::vector<StepChoice> choices = right;
      choices[step].way = static_cast<uint8_t>(choices[step].way + more);
      EXPECT_TRUE(refused(choices)) << step;
    }
  }
  std::vector<StepChoice> others = right;
  others.emplace_back();
  EXPECT_TRUE(refused(others));
  others.resize(right.size() - 1);
  EXPECT_TRUE(refused(others));
  EXPECT_TRUE(refused({}));
  EXPECT_FALSE(refused(right));
}

// No weights twice: those of packed kernels are there as they were packed.
TEST_P(SavedCompilationTest, WhatIsPackedIsNotSavedAsItWasToo) {
  size_t packed = 0;
  for (const PackedPiece& piece : recorder_.pieces()) packed += piece.bytes;
  ASSERT_GT(packed, 0u);
  EXPECT_LT(data_.size(), packed + 8 * kPackedAlignment);
}

// In memory that is aligned, pieces are not copied.
TEST_P(SavedCompilationTest, PiecesAreUsedWhereTheyLie) {
  const auto memory = Packing::make(
      data_.size(), [&](std::byte* to) { std::memcpy(to, data_.data(), data_.size()); });
  const auto* const first = reinterpret_cast<const uint8_t*>(memory.get());
  const auto saved = unpackCompilation(model_, {first, data_.size()}, memory);
  ASSERT_TRUE(saved.ok()) << saved.status().toString();
  size_t inPlace = 0;
  for (const PackedPiece& piece : saved->pieces) {
    const auto* const at = reinterpret_cast<const uint8_t*>(piece.memory.get());
    if (at >= first && at < first + data_.size()) ++inPlace;
  }
  EXPECT_GT(inPlace, 0u);
}

TEST_P(SavedCompilationTest, CutOrExtendedBytesAreRefused) {
  for (size_t size = 0; size < model_.size(); ++size) {
    ASSERT_EQ(compileAny(std::span(model_).first(size), data_), nullptr) << size;
  }
  for (size_t size = 0; size < data_.size(); size += 61) {
    ASSERT_EQ(compileAny(model_, std::span(data_).first(size)), nullptr) << size;
  }
  for (std::vector<uint8_t>* bytes : {&model_, &data_}) {
    bytes->push_back(0);
    EXPECT_EQ(compileAny(model_, data_), nullptr);
    bytes->pop_back();
  }
}

// The cache gives nothing back that was changed; should it, no memory is used wrongly.
TEST_P(SavedCompilationTest, ChangedBytesAreRefusedOrCompileToSomething) {
  for (size_t at = 0; at < model_.size(); ++at) {
    for (const uint8_t change : {0x01, 0x80, 0xff}) {
      model_[at] ^= change;
      const auto compiled = compileAny(model_, data_);
      if (compiled != nullptr) {
        EXPECT_GT(compiled->facts().steps, 0u);
      }
      model_[at] ^= change;
    }
  }
}

// Released, what is read would be no memory.
TEST_P(SavedCompilationTest, WhatIsReadIsRefusedAsReleased) {
  const auto model = test_.model();
  const std::vector<Operand>& operands = model->main.operands;
  const auto isReleased = [&](uint32_t operand) {
    const void* const data = compiled_->constant(operand);
    return data != nullptr && recorder_.isReleased(data);
  };
  size_t cases = 0;
  for (uint32_t i = 0; i < operands.size(); ++i) {
    if (compiled_->constant(i) == nullptr || isReleased(i) || isScalarType(operands[i].type) ||
        operands[i].type == OperandType::TENSOR_INT32) {
      continue;
    }
    PackingRecorder forged;
    for (const PackedPiece& piece : recorder_.pieces()) {
      forged.get(piece.bytes,
                 [&](std::byte* to) { std::memcpy(to, piece.memory.get(), piece.bytes); });
    }
    std::vector<const void*> released;
    for (uint32_t other = 0; other < operands.size(); ++other) {
      if (other != i && !isReleased(other)) continue;
      released.push_back(compiled_->constant(other));
      forged.release(released.back());
    }
    forged.endStep(true, released);
    const auto content = packCompilation(*model, *compiled_, forged, {});
    ASSERT_TRUE(content.ok()) << content.status().toString();
    EXPECT_EQ(compileAny(content->model[0], content->data[0]), nullptr) << "operand " << i;
    ++cases;
  }
  EXPECT_GT(cases, 0u);
}

TEST_P(SavedCompilationTest, ChangedNumbersChangeResultsOnly) {
  std::mt19937 engine(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<uint8_t> changed = data_;
    for (int i = 0; i < 20; ++i)
      changed[engine() % changed.size()] = static_cast<uint8_t>(engine());
    auto saved = unpack(model_, changed);
    ASSERT_TRUE(saved.ok()) << saved.status().toString();
    const auto compiled = compileSaved(*saved);
    ASSERT_NE(compiled, nullptr);
    EXPECT_EQ(run(test_, *compiled, saved->model).size(),
              run(test_, *compiled_, test_.model()).size());
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SavedCompilationTest,
                         ::testing::Values(Kind(OperandType::TENSOR_FLOAT32, false),
                                           Kind(OperandType::TENSOR_QUANT8_ASYMM, false),
                                           Kind(OperandType::TENSOR_FLOAT32, true),
                                           Kind(OperandType::TENSOR_QUANT8_ASYMM, true)));

}  // namespace
}  // namespace halyard::cpudriver
