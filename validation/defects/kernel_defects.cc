// Changed kernels: operations with wrong or slightly wrong results.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "validation/defects/defect.h"

namespace halyard::defects {
namespace {

using enum OperandType;

// Changes every operation of the type, except those of referenced subgraphs.
void forEach(Model& model, OperationType type, void (*change)(Model&, Operation&)) {
  for (Operation& operation : model.main.operations) {
    if (operation.type == type) change(model, operation);
  }
}

// The constant of an input, as numbers that can be changed. Empty if the input is not constant.
template <typename T>
std::span<T> constant(Model& model, const Operation& operation, size_t input) {
  if (input >= operation.inputs.size()) return {};
  const Operand& operand = model.main.operands[operation.inputs[input]];
  if (operand.lifetime != Lifetime::CONSTANT_COPY) return {};
  return {reinterpret_cast<T*>(model.operandValues.data() + operand.location.offset),
          operand.location.length / sizeof(T)};
}

template <typename T>
void set(Model& model, const Operation& operation, size_t input, T value) {
  const std::span<T> numbers = constant<T>(model, operation, input);
  if (numbers.size() == 1) numbers[0] = value;
}

void eachActivation(Model& model, int32_t (*change)(int32_t)) {
  for (Operation& operation : model.main.operations) {
    const bool isBinary = operation.type == OperationType::ADD ||
                          operation.type == OperationType::MUL ||
                          operation.type == OperationType::SUB;
    const std::span<int32_t> activation =
        constant<int32_t>(model, operation, isBinary ? 2 : operation.inputs.size());
    if (activation.size() == 1) activation[0] = change(activation[0]);
  }
}

void retype(Model& model, OperationType from, OperationType to) {
  for (Operation& operation : model.main.operations) {
    if (operation.type == from) operation.type = to;
  }
}

template <typename T>
void eachNumber(Computed& computed, OperandType type, T (*change)(T, size_t i)) {
  const Subgraph& main = computed.model.main;
  for (size_t o = 0; o < computed.outputs.size(); ++o) {
    if (main.operands[main.outputIndexes[o]].type != type) continue;
    auto* const bytes = static_cast<uint8_t*>(computed.outputs[o].data);
    for (size_t i = 0; (i + 1) * sizeof(T) <= computed.outputBytes[o]; ++i) {
      T value;
      std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
      value = change(value, i);
      std::memcpy(bytes + i * sizeof(T), &value, sizeof(T));
    }
  }
}

bool has(const Model& model, OperationType type) {
  return std::any_of(model.main.operations.begin(), model.main.operations.end(),
                     [&](const Operation& operation) { return operation.type == type; });
}

const Defect kKernelDefects[] = {
    {.name = "ignored-activation",
     .what = "the activation fused into ADD, SUB and MUL is left out",
     .check = "conformance/add/plain",
     .model = [](Model& m) { eachActivation(m, [](int32_t) { return 0; }); }},
    {.name = "relu6-unbounded",
     .what = "a fused RELU6 is computed as RELU",
     .check = "conformance/add/plain",
     .model = [](Model& m) { eachActivation(m, [](int32_t a) { return a == 3 ? 1 : a; }); }},
    {.name = "swapped-operands",
     .what = "SUB subtracts its first input from its second",
     .check = "conformance/sub/plain",
     .model =
         [](Model& m) {
           forEach(m, OperationType::SUB,
                   [](Model&, Operation& o) { std::swap(o.inputs[0], o.inputs[1]); });
         }},
    {.name = "off-by-one-padding",
     .what = "explicit padding of CONV_2D is one column to the left",
     .check = "conformance/conv_2d/plain",
     .model =
         [](Model& m) {
           forEach(m, OperationType::CONV_2D, [](Model& model, Operation& o) {
             const auto left = constant<int32_t>(model, o, 3);
             const auto right = constant<int32_t>(model, o, 4);
             if (o.inputs.size() < 10 || left.empty() || right.empty()) return;
             if (right[0] > 0) {
               ++left[0];
               --right[0];
             } else if (left[0] > 0) {
               --left[0];
               ++right[0];
             }
           });
         }},
    {.name = "swapped-strides",
     .what = "the pools take the stride of the width for the height",
     .check = "conformance/average_pool_2d/plain",
     .model =
         [](Model& m) {
           for (const OperationType type :
                {OperationType::AVERAGE_POOL_2D, OperationType::MAX_POOL_2D}) {
             forEach(m, type, [](Model&, Operation& o) {
               if (o.inputs.size() >= 10) std::swap(o.inputs[7], o.inputs[8]);
             });
           }
         }},
    {.name = "swapped-axes",
     .what = "TRANSPOSE permutes the other way round",
     .check = "conformance/transpose/plain",
     .model =
         [](Model& m) {
           forEach(m, OperationType::TRANSPOSE, [](Model& model, Operation& o) {
             const auto permutation = constant<int32_t>(model, o, 1);
             std::vector<int32_t> inverse(permutation.begin(), permutation.end());
             for (size_t i = 0; i < inverse.size(); ++i) {
               inverse[static_cast<size_t>(permutation[i])] = static_cast<int32_t>(i);
             }
             std::copy(inverse.begin(), inverse.end(), permutation.begin());
           });
         }},
    {.name = "wrong-rounding",
     .what = "CAST to integers rounds instead of cutting",
     .check = "conformance/cast/plain",
     .computed =
         [](Computed& c) {
           if (!has(c.model, OperationType::CAST) || c.inputs.empty()) return;
           const Operand& from = c.model.main.operands[c.model.main.inputIndexes[0]];
           if (from.type != TENSOR_FLOAT32) return;
           const auto* const in = static_cast<const float*>(c.inputs[0].data);
           const Operand& to = c.model.main.operands[c.model.main.outputIndexes[0]];
           if (to.type != TENSOR_INT32 || in == nullptr) return;
           auto* const out = static_cast<int32_t*>(c.outputs[0].data);
           for (size_t i = 0; i < c.outputBytes[0] / sizeof(int32_t); ++i) {
             if (std::abs(in[i]) < 1e6f) out[i] = static_cast<int32_t>(std::lround(in[i]));
           }
         }},
    {.name = "ignored-beta",
     .what = "SOFTMAX leaves out its factor",
     .check = "conformance/softmax/plain",
     .model =
         [](Model& m) {
           forEach(m, OperationType::SOFTMAX,
                   [](Model& model, Operation& o) { set<float>(model, o, 1, 1.0f); });
         }},
    {.name = "argmax-is-argmin",
     .what = "ARGMAX finds the smallest element",
     .check = "conformance/argmax/plain",
     .model = [](Model& m) { retype(m, OperationType::ARGMAX, OperationType::ARGMIN); }},
    {.name = "less-equal-is-less",
     .what = "LESS_EQUAL is false of equal elements",
     .check = "conformance/less_equal/plain",
     .model = [](Model& m) { retype(m, OperationType::LESS_EQUAL, OperationType::LESS); }},
    {.name = "maximum-is-minimum",
     .what = "MAXIMUM gives the smaller element",
     .check = "conformance/maximum/plain",
     .model = [](Model& m) { retype(m, OperationType::MAXIMUM, OperationType::MINIMUM); }},
    {.name = "average-is-maximum",
     .what = "AVERAGE_POOL_2D gives the largest element",
     .check = "conformance/average_pool_2d/plain",
     .model =
         [](Model& m) { retype(m, OperationType::AVERAGE_POOL_2D, OperationType::MAX_POOL_2D); }},
    {.name = "concatenated-backwards",
     .what = "CONCATENATION puts its first input behind its second",
     .check = "conformance/concatenation/plain",
     .model =
         [](Model& m) {
           forEach(m, OperationType::CONCATENATION, [](Model&, Operation& o) {
             if (o.inputs.size() > 2) std::swap(o.inputs[0], o.inputs[1]);
           });
         }},
    {.name = "ignored-zero-point",
     .what = "DEQUANTIZE leaves out the zero point",
     .check = "conformance/dequantize/plain",
     .model =
         [](Model& m) {
           forEach(m, OperationType::DEQUANTIZE, [](Model& model, Operation& o) {
             model.main.operands[o.inputs[0]].zeroPoint = 0;
           });
         }},
    {.name = "ignored-pad-value",
     .what = "PAD_V2 pads with zeros",
     .check = "conformance/pad_v2/plain",
     .model =
         [](Model& m) {
           forEach(m, OperationType::PAD_V2, [](Model& model, Operation& o) {
             set<float>(model, o, 2, 0.0f);
             set<int32_t>(model, o, 2, 0);
           });
         }},
    {.name = "accuracy-1-percent",
     .what = "float results are 1 % too large",
     .check = "conformance/abs/plain",
     .computed =
         [](Computed& c) {
           eachNumber<float>(c, TENSOR_FLOAT32, [](float x, size_t) { return x * 1.01f; });
         }},
    {.name = "quant8-off-by-two",
     .what = "quantised results are two units too large",
     .check = "conformance/add/plain",
     .computed =
         [](Computed& c) {
           eachNumber<uint8_t>(c, TENSOR_QUANT8_ASYMM, [](uint8_t x, size_t) {
             return static_cast<uint8_t>(x < 250 ? x + 2 : x);
           });
         }},
    {.name = "last-element-missing",
     .what = "the last element of a float result is not written",
     .check = "conformance/add/plain",
     .computed =
         [](Computed& c) {
           for (size_t o = 0; o < c.outputs.size(); ++o) {
             if (c.outputBytes[o] < 8) continue;
             std::memset(static_cast<uint8_t*>(c.outputs[o].data) + c.outputBytes[o] - 4, 0, 4);
           }
         }},
    {.name = "rotated-result",
     .what = "FULLY_CONNECTED gives the elements of its result in another order",
     .check = "conformance/fully_connected/plain",
     .computed =
         [](Computed& c) {
           if (!has(c.model, OperationType::FULLY_CONNECTED) || c.outputBytes.empty()) return;
           if (c.outputBytes[0] < 8) return;
           auto* const bytes = static_cast<uint8_t*>(c.outputs[0].data);
           std::rotate(bytes, bytes + 4, bytes + c.outputBytes[0] / 4 * 4);
         }},
    {.name = "bool-inverted",
     .what = "LOGICAL_NOT leaves its input as it is",
     .check = "conformance/logical_not/plain",
     .computed =
         [](Computed& c) {
           if (!has(c.model, OperationType::LOGICAL_NOT)) return;
           eachNumber<uint8_t>(c, TENSOR_BOOL8,
                               [](uint8_t x, size_t) { return static_cast<uint8_t>(x == 0); });
         }},
    // The error is within the tolerance of single vectors.
    {.name = "quant8-biased",
     .what = "quantised results are one unit too large, each",
     .check = "random-graphs/operation/DEPTH_TO_SPACE",
     .computed =
         [](Computed& c) {
           eachNumber<uint8_t>(c, TENSOR_QUANT8_ASYMM, [](uint8_t x, size_t) {
             return static_cast<uint8_t>(x < 255 ? x + 1 : x);
           });
         }},
    {.name = "reused-temporary",
     .what =
         "models of more than six operations share memory between temporaries that live at once",
     .check = "random-graphs/graphs/11-20",
     .computed =
         [](Computed& c) {
           if (c.model.main.operations.size() <= 6 || c.outputBytes.empty()) return;
           auto* const bytes = static_cast<uint8_t*>(c.outputs[0].data);
           for (size_t i = 0; i < c.outputBytes[0]; ++i) bytes[i] = static_cast<uint8_t>(~bytes[i]);
         }},
    {.name = "forgotten-output",
     .what = "of a model with several outputs the last is not computed",
     .check = "random-graphs/operation/LSTM",
     .computed =
         [](Computed& c) {
           if (c.outputs.size() < 3) return;
           std::memset(c.outputs.back().data, 0, c.outputBytes.back());
         }},
    {.name = "float16-precision",
     .what = "computes float32 as float16",
     .check = "random-graphs/operation/ADD",
     .computed =
         [](Computed& c) {
           eachNumber<float>(c, TENSOR_FLOAT32, [](float x, size_t) {
             int exponent = 0;
             const float mantissa = std::frexp(x, &exponent);
             return std::ldexp(std::round(mantissa * 2048.0f) / 2048.0f, exponent);
           });
         }},
};

}  // namespace

std::span<const Defect> kernelDefects() { return kKernelDefects; }

}  // namespace halyard::defects
