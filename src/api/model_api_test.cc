// Tests of ANeuralNetworksModel_*: states, arguments, and the text of each error.
#include <sys/mman.h>
#include <unistd.h>

#include "api/api_for_test.h"

namespace halyard::api::testing {
namespace {

TEST(ModelApi, NullArguments) {
  const auto model = newModel();
  EXPECT_NN_ERROR(ANeuralNetworksModel_create(nullptr), ANEURALNETWORKS_UNEXPECTED_NULL,
                  "ANeuralNetworksModel_create: model is null");
  EXPECT_NN_ERROR(ANeuralNetworksModel_finish(nullptr), ANEURALNETWORKS_UNEXPECTED_NULL,
                  "model is null");
  EXPECT_NN_ERROR(ANeuralNetworksModel_addOperand(model.get(), nullptr),
                  ANEURALNETWORKS_UNEXPECTED_NULL, "type is null");
  EXPECT_NN_ERROR(model.setOperandValue(0, nullptr, 4), ANEURALNETWORKS_UNEXPECTED_NULL,
                  "buffer is null, length 4");
  EXPECT_NN_ERROR(ANeuralNetworksModel_addOperation(model.get(), 0, 0, nullptr, 0, nullptr),
                  ANEURALNETWORKS_UNEXPECTED_NULL, "inputs is null");
  ANeuralNetworksModel_free(nullptr);
}

TEST(ModelApi, TheErrorTextIsThatOfTheLastCall) {
  const auto model = newModel();
  EXPECT_STREQ(halyard_lastErrorText(), "");
  EXPECT_NN_ERROR(model.addOperand(99), ANEURALNETWORKS_BAD_DATA, "unknown type 99");
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_INT32));
  EXPECT_STREQ(halyard_lastErrorText(), "");
  EXPECT_EQ(halyard_lastErrorCode(), ANEURALNETWORKS_NO_ERROR);
}

TEST(ModelApi, Operands) {
  const auto model = newModel();
  const uint32_t dims[] = {2};
  ANeuralNetworksOperandType type = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, nullptr, 0, 0};
  EXPECT_NN_ERROR(model.addOperand(type), ANEURALNETWORKS_BAD_DATA,
                  "1 dimensions with a null pointer");
  type = {ANEURALNETWORKS_TENSOR_FLOAT32, 0, dims, 0, 0};
  EXPECT_NN_ERROR(model.addOperand(type), ANEURALNETWORKS_BAD_DATA,
                  "0 dimensions with a real pointer");
  EXPECT_NN_ERROR(model.addOperand(ANEURALNETWORKS_INT32, {1}), ANEURALNETWORKS_BAD_DATA,
                  "operand #0: INT32 is a scalar");
  EXPECT_NN_ERROR(model.addOperand(-1), ANEURALNETWORKS_BAD_DATA, "operand #0");
  EXPECT_NN_ERROR(model.addOperand(ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, {2}, 0.F, 0),
                  ANEURALNETWORKS_BAD_DATA, "scale 0, expected more than 0");
  EXPECT_NN_ERROR(
      model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {5, 4, 4, 786433, 5, 3, 16777216, 4, 5}),
      ANEURALNETWORKS_BAD_DATA, "needs more than 4294967295 bytes");
}

TEST(ModelApi, Values) {
  const auto model = newModel();
  const float values[64] = {};
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {0}));
  EXPECT_NN_ERROR(model.setOperandValue(2, values, 8), ANEURALNETWORKS_BAD_DATA, "operand #2 of 2");
  EXPECT_NN_ERROR(model.setOperandValue(-1, values, 8), ANEURALNETWORKS_BAD_DATA,
                  "operand #4294967295 of 2");
  EXPECT_NN_ERROR(model.setOperandValue(0, values, 12), ANEURALNETWORKS_BAD_DATA,
                  "12 bytes for TENSOR_FLOAT32[2], which needs 8");
  EXPECT_NN_ERROR(model.setOperandValue(0, values, 0), ANEURALNETWORKS_BAD_DATA, "length 0");
  EXPECT_NN_ERROR(model.setOperandValue(1, values, 8), ANEURALNETWORKS_BAD_DATA,
                  "dimensions are not all known");
  EXPECT_NN_OK(model.setOperandValue(0, values, 8));
  EXPECT_NN_OK(model.setOperandValue(0, nullptr, 0));
}

TEST(ModelApi, ValuesFromMemory) {
  const auto model = newModel();
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
  const int fd = memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, 16), 0);
  client::Memory memory;
  ASSERT_NN_OK(memory.createFromFd(16, PROT_READ, fd, 0));
  close(fd);
  EXPECT_NN_OK(model.setOperandValueFromMemory(0, memory.get(), 8, 8));
  EXPECT_NN_ERROR(model.setOperandValueFromMemory(0, memory.get(), 12, 8), ANEURALNETWORKS_BAD_DATA,
                  "lie outside the memory of 16 bytes");
  EXPECT_NN_ERROR(model.setOperandValueFromMemory(0, memory.get(), SIZE_MAX, 8),
                  ANEURALNETWORKS_BAD_DATA, "lie outside");
  EXPECT_NN_ERROR(model.setOperandValueFromMemory(0, memory.get(), 0, 4), ANEURALNETWORKS_BAD_DATA,
                  "which needs 8");
  EXPECT_NN_ERROR(memory.createFromFd(16, PROT_READ, -1, 0), ANEURALNETWORKS_OP_FAILED,
                  "file descriptor -1");
  EXPECT_EQ(memory, nullptr);
}

TEST(ModelApi, PerChannelParameters) {
  const auto model = newModel();
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, {2, 3}));
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {2, 3}));
  const float scales[] = {0.5F, 0.25F, 0};
  const auto set = [&](int32_t index, uint32_t dim, uint32_t count, const float* values) {
    const ANeuralNetworksSymmPerChannelQuantParams params = {dim, count, values};
    return model.setOperandSymmPerChannelQuantParams(index, params);
  };
  EXPECT_NN_OK(set(0, 0, 2, scales));
  EXPECT_NN_ERROR(set(1, 0, 2, scales), ANEURALNETWORKS_BAD_DATA,
                  "operand #1 is TENSOR_FLOAT32, expected TENSOR_QUANT8_SYMM_PER_CHANNEL");
  EXPECT_NN_ERROR(set(0, 2, 2, scales), ANEURALNETWORKS_BAD_DATA, "channel dimension 2");
  EXPECT_NN_ERROR(set(0, 1, 2, scales), ANEURALNETWORKS_BAD_DATA,
                  "2 scales for channel dimension 1");
  EXPECT_NN_ERROR(set(0, 1, 3, scales), ANEURALNETWORKS_BAD_DATA, "scale 0 of channel 2");
  EXPECT_NN_ERROR(set(0, 0, 2, nullptr), ANEURALNETWORKS_BAD_DATA, "2 scales with a null pointer");
}

TEST(ModelApi, Operations) {
  const auto model = newModel();
  for (int i = 0; i < 2; ++i) {
    EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
  }
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_INT32));
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_INT32, {2}));
  EXPECT_NN_ERROR(model.addOperation(ANEURALNETWORKS_ADD, {0, 1, 4}, {1}), ANEURALNETWORKS_BAD_DATA,
                  "operation #0 ADD: input operand #4 of 4");
  EXPECT_NN_ERROR(model.addOperation(ANEURALNETWORKS_ADD, {0, 1}, {1}), ANEURALNETWORKS_BAD_DATA,
                  "operation #0 ADD: takes 3 inputs, has 2");
  EXPECT_NN_ERROR(model.addOperation(ANEURALNETWORKS_ADD, {0, 3, 2}, {1}), ANEURALNETWORKS_BAD_DATA,
                  "is TENSOR_INT32, expected TENSOR_FLOAT32");
  EXPECT_NN_ERROR(model.addOperation(106, {0, 1, 2}, {1}), ANEURALNETWORKS_BAD_DATA,
                  "unknown operation 106");
  EXPECT_NN_ERROR(model.addOperation(-1, {0, 1, 2}, {1}), ANEURALNETWORKS_BAD_DATA, "operation");
}

TEST(ModelApi, FinishedModelsDoNotChange) {
  const auto model = addModel({2}, {2}, {2});
  ASSERT_NN_OK(model.finish());
  const char* text = "the model is finished and cannot be changed any more";
  EXPECT_NN_ERROR(model.finish(), ANEURALNETWORKS_BAD_STATE, text);
  EXPECT_NN_ERROR(model.addOperand(ANEURALNETWORKS_INT32), ANEURALNETWORKS_BAD_STATE, text);
  EXPECT_NN_ERROR(model.addOperation(0, {0}, {1}), ANEURALNETWORKS_BAD_STATE, text);
  EXPECT_NN_ERROR(model.identifyInputsAndOutputs({0}, {1}), ANEURALNETWORKS_BAD_STATE, text);
  EXPECT_NN_ERROR(model.setOperandValue(0, nullptr, 0), ANEURALNETWORKS_BAD_STATE, text);
  EXPECT_NN_ERROR(model.relaxComputationFloat32toFloat16(true), ANEURALNETWORKS_BAD_STATE, text);
}

TEST(ModelApi, AFailedFinishIsForGood) {
  const auto empty = newModel();
  EXPECT_NN_ERROR(empty.finish(), ANEURALNETWORKS_BAD_DATA,
                  "inputs and outputs have not been identified");
  EXPECT_NN_ERROR(empty.finish(), ANEURALNETWORKS_BAD_STATE, "failed to finish");
  ANeuralNetworksCompilation* compilation = nullptr;
  EXPECT_NN_ERROR(ANeuralNetworksCompilation_create(empty.get(), &compilation),
                  ANEURALNETWORKS_BAD_STATE, "failed to finish");
}

TEST(ModelApi, CyclesAreFoundAtFinish) {
  const auto model = newModel();
  for (int i = 0; i < 4; ++i) {
    EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
  }
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_INT32));
  const int32_t none = 0;
  EXPECT_NN_OK(model.setOperandValue(4, &none, sizeof(none)));
  EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_ADD, {0, 2, 4}, {1}));
  EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_ADD, {1, 0, 4}, {2}));
  EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_ADD, {2, 0, 4}, {3}));
  EXPECT_NN_OK(model.identifyInputsAndOutputs({0}, {3}));
  EXPECT_NN_ERROR(model.finish(), ANEURALNETWORKS_BAD_DATA, "cycle");
}

TEST(ModelApi, OperationsMayComeInAnyOrder) {
  const auto model = newModel();
  for (int i = 0; i < 4; ++i) {
    EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {1}));
  }
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_INT32));
  const int32_t none = 0;
  EXPECT_NN_OK(model.setOperandValue(4, &none, sizeof(none)));
  EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_MUL, {1, 1, 4}, {2}));  // reads 1
  EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_ADD, {0, 0, 4}, {1}));  // writes 1
  EXPECT_NN_OK(model.identifyInputsAndOutputs({0}, {2}));
  // Operand 3 is never written.
  EXPECT_NN_ERROR(model.finish(), ANEURALNETWORKS_BAD_DATA,
                  "operand #3 (TEMPORARY_VARIABLE) is never written");
}

TEST(ModelApi, IdentifyingInputsAndOutputs) {
  const auto model = newModel();
  const float value[2] = {};
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
  EXPECT_NN_OK(model.setOperandValue(1, value, sizeof(value)));
  EXPECT_NN_ERROR(model.identifyInputsAndOutputs({1}, {0}), ANEURALNETWORKS_BAD_DATA,
                  "model input: operand #1 is already a CONSTANT_COPY");
  EXPECT_NN_ERROR(model.identifyInputsAndOutputs({0}, {0}), ANEURALNETWORKS_BAD_DATA,
                  "model output: operand #0 is already a SUBGRAPH_INPUT");
  EXPECT_NN_ERROR(model.identifyInputsAndOutputs({7}, {0}), ANEURALNETWORKS_BAD_DATA,
                  "operand #7 of 2");
  const uint32_t index = 0;
  EXPECT_NN_ERROR(ANeuralNetworksModel_identifyInputsAndOutputs(model.get(), 0, &index, 1, &index),
                  ANEURALNETWORKS_BAD_DATA, "the list of inputs is empty");
}

TEST(ModelApi, SupportedOperationsAreInTheApplicationsOrder) {
  const auto model = addModel({2}, {2}, {2});
  bool supported[1] = {false};
  const ANeuralNetworksDevice* cpu = deviceNamed(kCpuDevice);
  EXPECT_NN_ERROR(
      ANeuralNetworksModel_getSupportedOperationsForDevices(model.get(), &cpu, 1, supported),
      ANEURALNETWORKS_BAD_STATE, "not finished");
  ASSERT_NN_OK(model.finish());
  EXPECT_NN_OK(
      ANeuralNetworksModel_getSupportedOperationsForDevices(model.get(), &cpu, 1, supported));
  EXPECT_TRUE(supported[0]);
  const ANeuralNetworksDevice* twice[] = {cpu, cpu};
  EXPECT_NN_ERROR(
      ANeuralNetworksModel_getSupportedOperationsForDevices(model.get(), twice, 2, supported),
      ANEURALNETWORKS_BAD_DATA, "devices[0] and devices[1] are the same");
  const ANeuralNetworksDevice* withNull[] = {cpu, nullptr};
  EXPECT_NN_ERROR(
      ANeuralNetworksModel_getSupportedOperationsForDevices(model.get(), withNull, 2, supported),
      ANEURALNETWORKS_UNEXPECTED_NULL, "devices[1] is null");
}

}  // namespace
}  // namespace halyard::api::testing
