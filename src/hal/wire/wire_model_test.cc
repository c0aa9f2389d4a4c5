// Tests of the space that models need in a message.
#include "hal/wire/wire_model.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include "hal/testing/test_device.h"

namespace halyard::hal {
namespace {

// A model with many elements of each kind that has its own size.
Model largeModel() {
  Model model = testing::addModel(4);
  Operand channels;
  channels.type = OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL;
  channels.dimensions = {301, 1, 1, 3};
  channels.lifetime = Lifetime::CONSTANT_COPY;
  channels.extraParams = SymmPerChannelQuantParams{std::vector<float>(301, 0.5f), 0};
  Operand extension;
  extension.extraParams = std::vector<uint8_t>(1001);
  for (int i = 0; i < 200; ++i) {
    model.main.operands.push_back(channels);
    model.main.operands.push_back(extension);
    model.main.operations.push_back({OperationType::ADD, {0, 1, 2, 3, 4}, {5}});
    model.extensionNameToPrefix.push_back({"com.acme.things", 1});
  }
  model.referenced.assign(3, model.main);
  model.operandValues.resize(5003);
  return model;
}

TEST(WireModelTest, AMessageOfTheEstimatedSizeHasOneSegment) {
  for (const Model& model : {testing::addModel(4), largeModel()}) {
    const uint64_t words = estimateWords(model, nullptr);
    capnp::MallocMessageBuilder message(static_cast<unsigned>(words + 1));  // plus the root
    encodeModel(model, nullptr, message.initRoot<wire::Model>());
    const auto segments = message.getSegmentsForOutput();
    ASSERT_EQ(segments.size(), 1u);
    EXPECT_GT(segments[0].size() + 100, words * 9 / 10);
  }
}

}  // namespace
}  // namespace halyard::hal
