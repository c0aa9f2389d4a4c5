#include "runtime/report/diagnostics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cpu/model_for_test.h"
#include "runtime/testing/fake_devices_for_test.h"

namespace halyard::runtime {
namespace {

using cpu::testing::TestModel;
using enum OperationType;

// out = in + constant
Model sumModel(float constant, const Shape& shape = {2}) {
  TestModel model;
  const uint32_t other =
      model.constant<float>(OperandType::TENSOR_FLOAT32, {1}, std::vector<float>{constant});
  const uint32_t in = model.input(shape);
  model.add(in, other, model.output(shape));
  return model.model();
}

TEST(ArchitectureHashTest, ConstantsDoNotCount) {
  EXPECT_EQ(architectureHash(sumModel(1)), architectureHash(sumModel(2)));
}

TEST(ArchitectureHashTest, EachPartOfTheArchitectureCounts) {
  const Digest original = architectureHash(sumModel(1));
  EXPECT_NE(architectureHash(sumModel(1, {3})), original);
  const auto changed = [&](auto change) {
    Model model = sumModel(1);
    change(model);
    return architectureHash(model) != original;
  };
  EXPECT_TRUE(changed([](Model& m) { m.main.operands[0].type = OperandType::TENSOR_INT32; }));
  EXPECT_TRUE(changed([](Model& m) { m.main.operands[0].scale = 0.5F; }));
  EXPECT_TRUE(changed([](Model& m) { m.main.operands[0].zeroPoint = -1; }));
  EXPECT_TRUE(changed([](Model& m) { m.main.operands[0].lifetime = Lifetime::SUBGRAPH_INPUT; }));
  EXPECT_TRUE(changed([](Model& m) {
    m.main.operands[0].extraParams = SymmPerChannelQuantParams{{0.5F}, 0};
  }));
  EXPECT_TRUE(changed([](Model& m) { m.main.operations[0].type = MUL; }));
  EXPECT_TRUE(changed(
      [](Model& m) { std::swap(m.main.operations[0].inputs[0], m.main.operations[0].inputs[1]); }));
  EXPECT_TRUE(changed([](Model& m) { m.main.inputIndexes.push_back(0); }));
  EXPECT_TRUE(changed([](Model& m) { m.main.outputIndexes.push_back(0); }));
  EXPECT_TRUE(changed([](Model& m) { m.referenced.push_back(m.main); }));
}

TEST(ArchitectureHashTest, AnExtensionCountsByItsName) {
  const auto hashWith = [](const std::string& name, uint16_t prefix, uint16_t code) {
    Model model = sumModel(1);
    model.extensionNameToPrefix = {{"other.extension", 9}, {name, prefix}};
    model.main.operations[0].type = static_cast<OperationType>(uint32_t{prefix} << 16 | code);
    return architectureHash(model);
  };
  const Digest original = hashWith("com.acme", 1, 5);
  EXPECT_EQ(hashWith("com.acme", 2, 5), original);
  EXPECT_NE(hashWith("com.acme", 1, 6), original);
  EXPECT_NE(hashWith("com.acmf", 1, 5), original);
}

TEST(DataClassTest, OneClassOrSeveral) {
  Subgraph subgraph;
  for (const OperandType type :
       {OperandType::TENSOR_FLOAT32, OperandType::TENSOR_FLOAT16, OperandType::TENSOR_QUANT8_ASYMM,
        OperandType::TENSOR_QUANT16_SYMM, OperandType::INT32}) {
    subgraph.operands.emplace_back().type = type;
  }
  const auto classOf = [&](std::vector<uint32_t> operands) {
    return dataClassOf(subgraph, operands);
  };
  EXPECT_EQ(classOf({0, 4, 0}), DataClass::FLOAT32);
  EXPECT_EQ(classOf({1}), DataClass::FLOAT16);
  EXPECT_EQ(classOf({4, 2, 3}), DataClass::QUANT);
  EXPECT_EQ(classOf({4}), DataClass::OTHER);
  EXPECT_EQ(classOf({0, 2, 2}), DataClass::MIXED);
  EXPECT_EQ(classOf({0, 1, 1, 4}), DataClass::MIXED);
}

TEST(DeviceIdsTest, AreSorted) {
  testing::FakeDevices devices;
  devices.add("b");
  devices.add("a");
  const std::string version = devices.list()[0]->info().versionString;
  EXPECT_EQ(deviceIds(devices.list(false)), "a=" + version + ",b=" + version);
}

}  // namespace
}  // namespace halyard::runtime
