// Types of a vendor's extension in models of several partitions. Only their driver's description
// gives the size of such values. The runtime needs it for memory between two partitions. The driver
// is that of examples/extension_driver.
#include <android/NeuralNetworksExtensions.h>

#include <cmath>

#include "../examples/extension_driver/fused_extension.h"
#include "api/api_for_test.h"
#include "manifests_for_test.h"
#include "test_definitions.h"

namespace halyard::api::testing {
namespace {

constexpr uint32_t kRows = 2;
constexpr uint32_t kBlocks = 3;
constexpr uint32_t kColumns = kBlocks * FUSED_BLOCK_VALUES;
constexpr uint32_t kBytes = kRows * kColumns * sizeof(float);

class ExtensionPartitions : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static ::halyard::testing::Manifests manifests;
    manifests.add("example-fused", FUSED_DRIVER);
    manifests.add("test-relu", REFERENCE_DRIVER,
                  R"({"threads": 1, "supports": {"operations": ["RELU"]},
                      "capabilities": {"default": {"exec_time": 0.5, "power_usage": 0.5}}})");
    manifests.use();
    ::setenv("HALYARD_PARTITION_OVERHEAD", "off", 1);
    ::setenv("HALYARD_LOG", "quiet", 1);
  }

  static int32_t typeOf(ANeuralNetworksModel* model, uint16_t code) {
    int32_t type = 0;
    EXPECT_NN_OK(
        ANeuralNetworksModel_getExtensionOperandType(model, FUSED_EXTENSION_NAME, code, &type));
    return type;
  }
  static void addFused(ANeuralNetworksModel* model, uint16_t code, std::vector<uint32_t> inputs,
                       uint32_t output) {
    int32_t type = 0;
    EXPECT_NN_OK(
        ANeuralNetworksModel_getExtensionOperationType(model, FUSED_EXTENSION_NAME, code, &type));
    EXPECT_NN_OK(client::addOperation(model, type, std::move(inputs), {output}));
  }
  static void addFloats(ANeuralNetworksModel* model) {
    EXPECT_NN_OK(client::addOperand(model, ANEURALNETWORKS_TENSOR_FLOAT32, {kRows, kColumns}));
  }
  static void addBlocks(ANeuralNetworksModel* model) {
    EXPECT_NN_OK(
        client::addOperand(model, typeOf(model, FUSED_TENSOR_QUANT_BLOCK), {kRows, kBlocks}));
  }
  static void addParams(ANeuralNetworksModel* model, int32_t index, float beta) {
    const FusedSoftmaxParams params = {beta, 0};
    EXPECT_NN_OK(client::addOperand(model, typeOf(model, FUSED_SOFTMAX_PARAMS)));
    EXPECT_NN_OK(ANeuralNetworksModel_setOperandValue(model, index, &params, sizeof params));
  }

  // blocks -> softmax(beta * values)
  static client::Model softmaxOfBlocks(float beta) {
    auto model = newModel();
    addBlocks(model.get());
    addParams(model.get(), 1, beta);
    addFloats(model.get());
    addFused(model.get(), FUSED_SCALED_SOFTMAX, {0, 1}, 2);
    EXPECT_NN_OK(model.identifyInputsAndOutputs({0}, {2}));
    EXPECT_NN_OK(model.finish());
    return model;
  }
  static std::string reportOf(const client::Compilation& compilation) {
    std::string report;
    EXPECT_NN_OK(compilation.report(report));
    return report;
  }
  static client::Compilation compile(ANeuralNetworksModel* model) {
    ANeuralNetworksCompilation* made = nullptr;
    EXPECT_NN_OK(ANeuralNetworksCompilation_create(model, &made));
    EXPECT_NN_OK(ANeuralNetworksCompilation_finish(made));
    return client::Compilation(made);
  }
  // Values that blocks can hold exactly, up to rounding.
  static std::vector<float> inputs() {
    std::vector<float> values(kRows * kColumns);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(static_cast<int>(i * 7 % 23) - 11) / 8;
    }
    return values;
  }
  // To the precision of 8 bits.
  static void expectSoftmax(const std::vector<float>& in, float beta,
                            const std::vector<float>& out) {
    for (uint32_t row = 0; row < kRows; ++row) {
      double sum = 0;
      for (uint32_t i = 0; i < kColumns; ++i) {
        sum += std::exp(static_cast<double>(beta * in[row * kColumns + i]));
      }
      for (uint32_t i = 0; i < kColumns; ++i) {
        const double wanted = std::exp(static_cast<double>(beta * in[row * kColumns + i])) / sum;
        ASSERT_NEAR(out[row * kColumns + i], wanted, 0.05 * wanted) << row << ", " << i;
      }
    }
  }
};

// One partition makes blocks. Two others read them, before and after a branch that the runtime
// runs.
TEST_F(ExtensionPartitions, BlocksGoIntoABranch) {
  const auto flat = softmaxOfBlocks(0.5F);
  const auto steep = softmaxOfBlocks(2);
  const auto model = newModel();
  ANeuralNetworksModel* const m = model.get();
  addFloats(m);                                                            // 0: in
  addBlocks(m);                                                            // 1
  EXPECT_NN_OK(client::addOperand(m, ANEURALNETWORKS_TENSOR_BOOL8, {1}));  // 2: condition
  EXPECT_NN_OK(client::addOperand(m, ANEURALNETWORKS_MODEL));              // 3
  EXPECT_NN_OK(client::addOperand(m, ANEURALNETWORKS_MODEL));              // 4
  EXPECT_NN_OK(ANeuralNetworksModel_setOperandValueFromModel(m, 3, flat.get()));
  EXPECT_NN_OK(ANeuralNetworksModel_setOperandValueFromModel(m, 4, steep.get()));
  addFloats(m);  // 5
  addFloats(m);  // 6: out
  addFused(m, FUSED_QUANTIZE_BLOCKS, {0}, 1);
  EXPECT_NN_OK(client::addOperation(m, ANEURALNETWORKS_IF, {2, 3, 4, 1}, {5}));
  EXPECT_NN_OK(client::addOperation(m, ANEURALNETWORKS_RELU, {5}, {6}));
  EXPECT_NN_OK(client::identifyInputsAndOutputs(m, {0, 2}, {6}));
  ASSERT_NN_OK(ANeuralNetworksModel_finish(m));
  const auto compilation = compile(m);
  const std::string report = reportOf(compilation);
  EXPECT_THAT(report, ::testing::HasSubstr("operation #1 IF: then"));
  EXPECT_THAT(report, ::testing::HasSubstr("test-relu"));
  const std::vector<float> in = inputs();
  client::Burst burst;
  ASSERT_NN_OK(burst.create(compilation.get()));
  for (int run = 0; run < 6; ++run) {
    const bool isThen = run % 2 == 0;
    const uint8_t condition = isThen ? 1 : 0;
    std::vector<float> out(in.size(), -1);
    const auto execution = newExecution(compilation.get());
    EXPECT_NN_OK(execution.setInput(0, nullptr, in.data(), kBytes));
    EXPECT_NN_OK(execution.setInput(1, nullptr, &condition, 1));
    EXPECT_NN_OK(execution.setOutput(0, nullptr, out.data(), kBytes));
    if (run < 4) {
      ASSERT_NN_OK(execution.compute());
    } else {
      ASSERT_NN_OK(execution.burstCompute(burst.get()));
    }
    expectSoftmax(in, isThen ? 0.5F : 2, out);
  }
}

// Blocks that another partition reads are also an output of the model.
TEST_F(ExtensionPartitions, BlocksThatAreAnOutputToo) {
  const auto flat = softmaxOfBlocks(1);
  const auto steep = softmaxOfBlocks(2);
  const auto model = newModel();
  ANeuralNetworksModel* const m = model.get();
  addFloats(m);                                                            // 0: in
  addBlocks(m);                                                            // 1: out
  EXPECT_NN_OK(client::addOperand(m, ANEURALNETWORKS_TENSOR_BOOL8, {1}));  // 2: condition
  EXPECT_NN_OK(client::addOperand(m, ANEURALNETWORKS_MODEL));              // 3
  EXPECT_NN_OK(client::addOperand(m, ANEURALNETWORKS_MODEL));              // 4
  EXPECT_NN_OK(ANeuralNetworksModel_setOperandValueFromModel(m, 3, flat.get()));
  EXPECT_NN_OK(ANeuralNetworksModel_setOperandValueFromModel(m, 4, steep.get()));
  addFloats(m);  // 5: out
  addFloats(m);  // 6
  EXPECT_NN_OK(client::addOperation(m, ANEURALNETWORKS_RELU, {0}, {6}));
  addFused(m, FUSED_QUANTIZE_BLOCKS, {6}, 1);
  EXPECT_NN_OK(client::addOperation(m, ANEURALNETWORKS_IF, {2, 3, 4, 1}, {5}));
  EXPECT_NN_OK(client::identifyInputsAndOutputs(m, {0, 2}, {1, 5}));
  ASSERT_NN_OK(ANeuralNetworksModel_finish(m));
  const auto compilation = compile(m);
  std::vector<float> in = inputs();
  std::vector<FusedBlock> blocks(kRows * kBlocks);
  std::vector<float> out(in.size(), -1);
  const uint8_t condition = 1;
  const auto execution = newExecution(compilation.get());
  EXPECT_NN_OK(execution.setInput(0, nullptr, in.data(), kBytes));
  EXPECT_NN_OK(execution.setInput(1, nullptr, &condition, 1));
  EXPECT_NN_OK(execution.setOutput(0, nullptr, blocks.data(), blocks.size() * sizeof(FusedBlock)));
  EXPECT_NN_OK(execution.setOutput(1, nullptr, out.data(), kBytes));
  ASSERT_NN_OK(execution.compute());
  for (float& value : in) value = std::max(value, 0.0F);
  expectSoftmax(in, 1, out);
  for (size_t i = 0; i < in.size(); ++i) {
    const FusedBlock& block = blocks[i / FUSED_BLOCK_VALUES];
    const float value = block.scale * static_cast<float>(block.values[i % FUSED_BLOCK_VALUES]);
    ASSERT_NEAR(value, in[i], block.scale) << i;
  }
}

// Blocks in memory made from a descriptor: one compilation writes them, another one reads them.
TEST_F(ExtensionPartitions, BlocksInMemoryFromADescriptor) {
  const auto quantizer = newModel();
  addFloats(quantizer.get());
  addBlocks(quantizer.get());
  addFused(quantizer.get(), FUSED_QUANTIZE_BLOCKS, {0}, 1);
  EXPECT_NN_OK(quantizer.identifyInputsAndOutputs({0}, {1}));
  ASSERT_NN_OK(quantizer.finish());
  const auto softmax = softmaxOfBlocks(1);
  const auto writer = compile(quantizer.get());
  const auto reader = compile(softmax.get());
  ANeuralNetworksMemoryDesc* desc = nullptr;
  ASSERT_NN_OK(ANeuralNetworksMemoryDesc_create(&desc));
  EXPECT_NN_OK(ANeuralNetworksMemoryDesc_addOutputRole(desc, writer.get(), 0, 1));
  EXPECT_NN_OK(ANeuralNetworksMemoryDesc_addInputRole(desc, reader.get(), 0, 1));
  EXPECT_NN_OK(ANeuralNetworksMemoryDesc_finish(desc));
  ANeuralNetworksMemory* made = nullptr;
  EXPECT_NN_OK(ANeuralNetworksMemory_createFromDesc(desc, &made));
  ANeuralNetworksMemoryDesc_free(desc);
  const client::Memory blocks(made);
  ASSERT_NE(blocks, nullptr);
  const std::vector<float> in = inputs();
  std::vector<float> out(in.size(), -1);
  const auto first = newExecution(writer.get());
  EXPECT_NN_OK(first.setInput(0, nullptr, in.data(), kBytes));
  EXPECT_NN_OK(first.setOutputFromMemory(0, nullptr, blocks.get(), 0, 0));
  ASSERT_NN_OK(first.compute());
  const auto second = newExecution(reader.get());
  EXPECT_NN_OK(second.setInputFromMemory(0, nullptr, blocks.get(), 0, 0));
  EXPECT_NN_OK(second.setOutput(0, nullptr, out.data(), kBytes));
  ASSERT_NN_OK(second.compute());
  expectSoftmax(in, 1, out);
}

// Values that cross between partitions count by their real size, in the report and in the choice of
// devices.
TEST_F(ExtensionPartitions, BytesThatCross) {
  const auto model = newModel();
  ANeuralNetworksModel* const m = model.get();
  addFloats(m);
  addFloats(m);
  addBlocks(m);
  EXPECT_NN_OK(client::addOperation(m, ANEURALNETWORKS_RELU, {0}, {1}));
  addFused(m, FUSED_QUANTIZE_BLOCKS, {1}, 2);
  EXPECT_NN_OK(client::identifyInputsAndOutputs(m, {0}, {2}));
  ASSERT_NN_OK(ANeuralNetworksModel_finish(m));
  const auto compilation = compile(m);
  EXPECT_THAT(reportOf(compilation),
              ::testing::ContainsRegex(
                  fmt::format("\"bytes_out\": ?{}[^0-9]", kRows * kBlocks * sizeof(FusedBlock))));
}

// The CPU device cannot take over a value of an extension's type when its driver fails.
TEST_F(ExtensionPartitions, WithoutTheDriverThereIsAnError) {
  ::setenv("HALYARD_REQUIRE_DEVICE", "test-relu,nnapi-reference", 1);
  const auto model = softmaxOfBlocks(1);
  client::Compilation made;
  EXPECT_NN_OK(made.create(model.get()));
  EXPECT_NE(made.finish(), ANEURALNETWORKS_NO_ERROR);
  EXPECT_THAT(std::string(halyard_lastErrorText()),
              ::testing::HasSubstr("device nnapi-reference: it has no operations of vendors"));
  ::unsetenv("HALYARD_REQUIRE_DEVICE");
}

}  // namespace
}  // namespace halyard::api::testing
