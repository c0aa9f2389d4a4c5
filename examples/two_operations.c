// y = relu6((a + b) * c) on four numbers: two operations through the public C API.
//   cc two_operations.c $(pkg-config --cflags --libs halyard) -o two_operations
#include <android/NeuralNetworks.h>
#include <halyard/halyard.h>
#include <stdio.h>
#include <stdlib.h>

// Every NNAPI function returns a code; Halyard keeps the reason in words.
static void check(int code) {
  if (code == ANEURALNETWORKS_NO_ERROR) return;
  fprintf(stderr, "error %d: %s\n", code, halyard_lastErrorText());
  exit(1);
}

int main(void) {
  const uint32_t dims[] = {4};
  const ANeuralNetworksOperandType vector = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, dims, 0, 0};
  const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
  ANeuralNetworksModel* model;
  check(ANeuralNetworksModel_create(&model));
  // Operands: 0 a, 1 b, 2 c, 3 sum, 4 y; 5 and 6 are the fused activations.
  for (int i = 0; i < 5; ++i) check(ANeuralNetworksModel_addOperand(model, &vector));
  const int32_t activations[] = {ANEURALNETWORKS_FUSED_NONE, ANEURALNETWORKS_FUSED_RELU6};
  for (int i = 0; i < 2; ++i) {
    check(ANeuralNetworksModel_addOperand(model, &scalar));
    check(ANeuralNetworksModel_setOperandValue(model, 5 + i, &activations[i], sizeof(int32_t)));
  }
  const uint32_t add[] = {0, 1, 5}, sum[] = {3}, mul[] = {3, 2, 6}, y[] = {4};
  check(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, add, 1, sum));
  check(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_MUL, 3, mul, 1, y));
  const uint32_t inputs[] = {0, 1, 2};
  check(ANeuralNetworksModel_identifyInputsAndOutputs(model, 3, inputs, 1, y));
  check(ANeuralNetworksModel_finish(model));

  ANeuralNetworksCompilation* compilation;
  check(ANeuralNetworksCompilation_create(model, &compilation));
  check(ANeuralNetworksCompilation_finish(compilation));

  const float a[] = {1, 2, 3, 4}, b[] = {10, 20, 30, 40}, c[] = {0.1f, 0.1f, -1, 0.1f};
  float result[4];
  ANeuralNetworksExecution* execution;
  check(ANeuralNetworksExecution_create(compilation, &execution));
  check(ANeuralNetworksExecution_setInput(execution, 0, NULL, a, sizeof(a)));
  check(ANeuralNetworksExecution_setInput(execution, 1, NULL, b, sizeof(b)));
  check(ANeuralNetworksExecution_setInput(execution, 2, NULL, c, sizeof(c)));
  check(ANeuralNetworksExecution_setOutput(execution, 0, NULL, result, sizeof(result)));
  check(ANeuralNetworksExecution_compute(execution));
  printf("%g %g %g %g\n", result[0], result[1], result[2], result[3]);

  ANeuralNetworksExecution_free(execution);
  ANeuralNetworksCompilation_free(compilation);
  ANeuralNetworksModel_free(model);
  return 0;
}
