// Tests saved models: division over files, and damaged content.
#include "saved_model.h"

#include <gtest/gtest.h>

#include <cstring>

#include "halyard/driver/model_bytes.h"

namespace halyard::drivers {
namespace {

// out = in + 256 floats.
std::shared_ptr<const Model> sum() {
  auto model = std::make_shared<Model>();
  const auto tensor = [](Lifetime lifetime) {
    Operand operand;
    operand.type = OperandType::TENSOR_FLOAT32;
    operand.dimensions = {256};
    operand.lifetime = lifetime;
    return operand;
  };
  Operand none;
  none.type = OperandType::INT32;
  none.lifetime = Lifetime::CONSTANT_COPY;
  const int32_t zero = 0;
  none.location = appendConstant(*model, &zero, sizeof zero);
  model->main.operands = {tensor(Lifetime::SUBGRAPH_INPUT), tensor(Lifetime::CONSTANT_COPY), none,
                          tensor(Lifetime::SUBGRAPH_OUTPUT)};
  const std::vector<float> values(256, 2.5f);
  model->main.operands[1].location =
      appendConstant(*model, values.data(), values.size() * sizeof(float));
  model->main.operations = {{OperationType::ADD, {0, 1, 2}, {3}}};
  model->main.inputIndexes = {0};
  model->main.outputIndexes = {3};
  return model;
}

const SavedModel kSaved = {validated(sum()).value(), hal::ExecutionPreference::SUSTAINED_SPEED,
                           hal::Priority::LOW, Stage::QUICK};

TEST(SavedModelTest, ComesBackFromAnyNumberOfFiles) {
  for (const std::pair<size_t, size_t>& counts :
       {std::pair<size_t, size_t>(1, 1), {2, 3}, {1, 0}, {4, 0}, {0, 1}, {0, 5}, {32, 32}}) {
    SCOPED_TRACE(fmt::format("{} and {} files", counts.first, counts.second));
    const auto content = packModel(kSaved, counts.first, counts.second);
    ASSERT_TRUE(content.ok()) << content.status().toString();
    EXPECT_EQ(content->model.size(), counts.first);
    EXPECT_EQ(content->data.size(), counts.second);
    const auto saved = unpackModel(*content);
    ASSERT_TRUE(saved.ok()) << saved.status().toString();
    EXPECT_EQ(saved->preference, kSaved.preference);
    EXPECT_EQ(saved->priority, kSaved.priority);
    EXPECT_EQ(saved->stage, kSaved.stage);
    EXPECT_EQ(serializeModel(*saved->model).value().structure,
              serializeModel(*kSaved.model).value().structure);
  }
  EXPECT_EQ(packModel(kSaved, 0, 0).status().code(), ResultCode::BAD_DATA);
}

TEST(SavedModelTest, WeightsAreInDataFiles) {
  const auto content = packModel(kSaved, 1, 1).value();
  EXPECT_EQ(content.data[0].size(), 1024u);
  EXPECT_LT(content.model[0].size(), 512u);
}

TEST(SavedModelTest, AnyOtherContentIsRefusedOrAModel) {
  for (const size_t dataFiles : {size_t{0}, size_t{1}}) {
    const auto good = packModel(kSaved, 1, dataFiles).value();
    for (size_t i = 0; i < good.model[0].size(); ++i) {
      for (const uint8_t change : {uint8_t{1}, uint8_t{0x80}, uint8_t{0xff}}) {
        auto bad = good;
        bad.model[0][i] ^= change;
        const auto saved = unpackModel(bad);
        if (!saved.ok()) {
          ASSERT_EQ(saved.status().code(), ResultCode::OP_FAILED) << i;
        }
      }
      auto shorter = good;
      shorter.model[0].resize(i);
      ASSERT_EQ(unpackModel(shorter).status().code(), ResultCode::OP_FAILED) << i;
    }
    auto longer = good;
    longer.model[0].push_back(0);
    EXPECT_EQ(unpackModel(longer).status().code(), ResultCode::OP_FAILED);
    if (dataFiles == 0) continue;
    longer = good;
    longer.data[0].push_back(0);
    EXPECT_EQ(unpackModel(longer).status().code(), ResultCode::OP_FAILED);
  }
  EXPECT_EQ(unpackModel({}).status().code(), ResultCode::OP_FAILED);
}

}  // namespace
}  // namespace halyard::drivers
