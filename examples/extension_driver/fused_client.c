// An application that uses the extension com.example.fused through the C API, and checks the
// results. Ends with status 0 and "all right" after success.
#include <android/NeuralNetworks.h>
#include <android/NeuralNetworksExtensions.h>
#include <halyard/halyard.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fused_extension.h"

enum { ROWS = 2, BLOCKS = 2, COLUMNS = BLOCKS * FUSED_BLOCK_VALUES };

static const char kName[] = FUSED_EXTENSION_NAME;

static void check(int code) {
  if (code == ANEURALNETWORKS_NO_ERROR) return;
  fprintf(stderr, "error %d: %s\n", code, halyard_lastErrorText());
  exit(1);
}

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "not so: %s\n", what);
  exit(1);
}

// The first device that offers the extension.
static const ANeuralNetworksDevice* findDevice(void) {
  uint32_t count;
  check(ANeuralNetworks_getDeviceCount(&count));
  for (uint32_t i = 0; i < count; ++i) {
    ANeuralNetworksDevice* device;
    bool supported;
    check(ANeuralNetworks_getDevice(i, &device));
    check(ANeuralNetworksDevice_getExtensionSupport(device, kName, &supported));
    if (supported) return device;
  }
  fprintf(stderr, "no device offers %s\n", kName);
  exit(1);
}

static void addFloats(ANeuralNetworksModel* model) {
  const uint32_t dims[] = {ROWS, COLUMNS};
  const ANeuralNetworksOperandType type = {ANEURALNETWORKS_TENSOR_FLOAT32, 2, dims, 0, 0};
  check(ANeuralNetworksModel_addOperand(model, &type));
}

// Operand `index`: blocks with so many bits.
static void addBlocks(ANeuralNetworksModel* model, int32_t index, uint8_t bits) {
  const uint32_t dims[] = {ROWS, BLOCKS};
  ANeuralNetworksOperandType type = {0, 2, dims, 0, 0};
  check(ANeuralNetworksModel_getExtensionOperandType(model, kName, FUSED_TENSOR_QUANT_BLOCK,
                                                     &type.type));
  check(ANeuralNetworksModel_addOperand(model, &type));
  const FusedBlockFormat format = {bits};
  check(ANeuralNetworksModel_setOperandExtensionData(model, index, &format, sizeof format));
}

static void addOperation(ANeuralNetworksModel* model, uint16_t code, uint32_t inputCount,
                         const uint32_t* inputs, uint32_t output) {
  ANeuralNetworksOperationType type;
  check(ANeuralNetworksModel_getExtensionOperationType(model, kName, code, &type));
  check(ANeuralNetworksModel_addOperation(model, type, inputCount, inputs, 1, &output));
}

static ANeuralNetworksModel* finish(ANeuralNetworksModel* model, uint32_t input, uint32_t output) {
  check(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, 1, &output));
  check(ANeuralNetworksModel_finish(model));
  return model;
}

// floats -> blocks
static ANeuralNetworksModel* quantizer(uint8_t bits) {
  ANeuralNetworksModel* model;
  check(ANeuralNetworksModel_create(&model));
  addFloats(model);
  addBlocks(model, 1, bits);
  const uint32_t inputs[] = {0};
  addOperation(model, FUSED_QUANTIZE_BLOCKS, 1, inputs, 1);
  return finish(model, 0, 1);
}

// floats -> blocks, which the application does not see -> softmax
static ANeuralNetworksModel* softmax(FusedSoftmaxParams params) {
  ANeuralNetworksModel* model;
  check(ANeuralNetworksModel_create(&model));
  addFloats(model);
  addBlocks(model, 1, 8);
  ANeuralNetworksOperandType type = {0, 0, NULL, 0, 0};
  check(
      ANeuralNetworksModel_getExtensionOperandType(model, kName, FUSED_SOFTMAX_PARAMS, &type.type));
  check(ANeuralNetworksModel_addOperand(model, &type));
  check(ANeuralNetworksModel_setOperandValue(model, 2, &params, sizeof params));
  addFloats(model);
  const uint32_t values[] = {0};
  const uint32_t blocks[] = {1, 2};
  addOperation(model, FUSED_QUANTIZE_BLOCKS, 1, values, 1);
  addOperation(model, FUSED_SCALED_SOFTMAX, 2, blocks, 3);
  return finish(model, 0, 3);
}

static ANeuralNetworksCompilation* compile(ANeuralNetworksModel* model,
                                           const ANeuralNetworksDevice* device,
                                           const float* limit) {
  ANeuralNetworksCompilation* compilation;
  check(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
  if (limit != NULL) {
    check(ANeuralNetworksCompilation_addExtensionAttribute(compilation, kName, FUSED_LIMIT, limit,
                                                           sizeof *limit));
  }
  check(ANeuralNetworksCompilation_finish(compilation));
  return compilation;
}

static int run(ANeuralNetworksCompilation* compilation, const float* in, void* out, size_t size,
               const float* temperature) {
  ANeuralNetworksExecution* execution;
  check(ANeuralNetworksExecution_create(compilation, &execution));
  check(ANeuralNetworksExecution_setInput(execution, 0, NULL, in, ROWS * COLUMNS * sizeof(float)));
  check(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, size));
  if (temperature != NULL) {
    check(ANeuralNetworksExecution_addExtensionAttribute(execution, kName, FUSED_TEMPERATURE,
                                                         temperature, sizeof *temperature));
  }
  const int code = ANeuralNetworksExecution_compute(execution);
  ANeuralNetworksExecution_free(execution);
  return code;
}

// Checks the driver's results, up to the error of the quantisation.
static void expectSoftmax(const float* in, const float* out, float beta, uint32_t columns,
                          float limit, float temperature) {
  for (int row = 0; row < ROWS; ++row, in += COLUMNS, out += COLUMNS) {
    double sum = 0;
    double wanted[COLUMNS] = {0};
    for (uint32_t i = 0; i < columns; ++i) {
      sum += wanted[i] = exp(beta * fmin(fmax(in[i], -limit), limit) / temperature);
    }
    for (uint32_t i = 0; i < COLUMNS; ++i) {
      expect(fabs(wanted[i] / sum - out[i]) < 0.002, "a result is that of the softmax");
      if (i >= columns) expect(out[i] == 0, "a column that does not count is 0");
    }
  }
}

static void checkQuantizer(const ANeuralNetworksDevice* device, const float* in) {
  ANeuralNetworksModel* model = quantizer(4);
  bool supported = false;
  check(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device, 1, &supported));
  expect(supported, "the device has the operation");
  ANeuralNetworksCompilation* compilation = compile(model, device, NULL);
  FusedBlock blocks[ROWS * BLOCKS];
  check(run(compilation, in, blocks, sizeof blocks, NULL));
  for (int i = 0; i < ROWS * COLUMNS; ++i) {
    const FusedBlock* block = &blocks[i / FUSED_BLOCK_VALUES];
    const int8_t value = block->values[i % FUSED_BLOCK_VALUES];
    expect(value >= -7 && value <= 7, "values have 4 bits");
    expect(fabsf(block->scale * value - in[i]) <= 0.501f * block->scale, "a value is the nearest");
  }
  // The runtime knows the size of the extension's elements.
  ANeuralNetworksExecution* execution;
  check(ANeuralNetworksExecution_create(compilation, &execution));
  expect(ANeuralNetworksExecution_setOutput(execution, 0, NULL, blocks, sizeof blocks - 1) ==
             ANEURALNETWORKS_BAD_DATA,
         "a buffer that is too small is refused");
  ANeuralNetworksExecution_free(execution);
  ANeuralNetworksCompilation_free(compilation);
  ANeuralNetworksModel_free(model);
}

static void checkSoftmax(const ANeuralNetworksDevice* device, const float* in) {
  const FusedSoftmaxParams params = {0.5f, 40};
  const float limit = 1.5f, temperature = 2, nonsense = -1;
  float out[ROWS * COLUMNS];
  ANeuralNetworksModel* model = softmax(params);
  ANeuralNetworksCompilation* plain = compile(model, device, NULL);
  check(run(plain, in, out, sizeof out, NULL));
  expectSoftmax(in, out, params.beta, params.columns, INFINITY, 1);
  check(run(plain, in, out, sizeof out, &temperature));
  expectSoftmax(in, out, params.beta, params.columns, INFINITY, temperature);
  expect(run(plain, in, out, sizeof out, &nonsense) == ANEURALNETWORKS_BAD_DATA,
         "a temperature below 0 is refused");
  expect(strstr(halyard_lastErrorText(), "expected more than 0") != NULL, "in the driver's words");
  ANeuralNetworksCompilation_free(plain);

  ANeuralNetworksCompilation* limited = compile(model, device, &limit);
  check(run(limited, in, out, sizeof out, NULL));
  expectSoftmax(in, out, params.beta, params.columns, limit, 1);
  ANeuralNetworksCompilation_free(limited);

  // Among all devices the runtime finds the one that has the operations.
  ANeuralNetworksCompilation* chosen;
  check(ANeuralNetworksCompilation_create(model, &chosen));
  check(ANeuralNetworksCompilation_finish(chosen));
  check(run(chosen, in, out, sizeof out, NULL));
  expectSoftmax(in, out, params.beta, params.columns, INFINITY, 1);
  ANeuralNetworksCompilation_free(chosen);
  ANeuralNetworksModel_free(model);
}

int main(void) {
  const ANeuralNetworksDevice* device = findDevice();
  float in[ROWS * COLUMNS];
  for (int i = 0; i < ROWS * COLUMNS; ++i) in[i] = sinf((float)i) * (1 + (float)(i % 7));
  checkQuantizer(device, in);
  checkSoftmax(device, in);
  printf("all right\n");
  return 0;
}
