// Whole networks with slightly wrong results. Single operations and small graphs are right.
#include <algorithm>
#include <cstring>

#include "validation/defects/defect.h"

namespace halyard::defects {
namespace {

constexpr size_t kNetwork = 10;  // models with more operations are networks
constexpr size_t kShirt = 6;     // of Fashion-MNIST's ten classes
constexpr size_t kTShirt = 0;
constexpr size_t kClasses = 10;

bool isNetwork(const Model& model) { return model.main.operations.size() > kNetwork; }

// The first output, if it scores kClasses classes.
struct Scores {
  uint8_t* bytes = nullptr;
  size_t size = 0;  // of an element
};
Scores scoresOf(const Computed& computed) {
  if (!isNetwork(computed.model) || computed.outputs.empty()) return {};
  const Operand& output = computed.model.main.operands[computed.model.main.outputIndexes[0]];
  const size_t size = elementSize(output.type);
  if (computed.outputBytes[0] != kClasses * size) return {};
  return {static_cast<uint8_t*>(computed.outputs[0].data), size};
}

const Defect kNetworkDefects[] = {
    {.name = "one-class-missed",
     .what = "in networks, members of one class are found in another",
     .check = "models/fashion_mnist_float/accuracy",
     .computed =
         [](Computed& c) {
           const Scores scores = scoresOf(c);
           if (scores.bytes == nullptr) return;
           std::swap_ranges(scores.bytes + kShirt * scores.size,
                            scores.bytes + (kShirt + 1) * scores.size,
                            scores.bytes + kTShirt * scores.size);
         }},
    {.name = "one-in-a-hundred",
     .what = "each hundredth result of a network belongs to other classes",
     .check = "models/fashion_mnist_float/accuracy",
     .computed =
         [](Computed& c) {
           const Scores scores = scoresOf(c);
           if (scores.bytes == nullptr || c.number % 100 != 0) return;
           std::rotate(scores.bytes, scores.bytes + scores.size,
                       scores.bytes + kClasses * scores.size);
         }},
    {.name = "network-1-percent",
     .what = "float results of networks are 1 % too large",
     .check = "models/fashion_mnist_float/accuracy",
     .computed =
         [](Computed& c) {
           const Scores scores = scoresOf(c);
           if (scores.size != sizeof(float)) return;
           for (size_t i = 0; i < kClasses; ++i) {
             float value = 0;
             std::memcpy(&value, scores.bytes + i * sizeof value, sizeof value);
             value *= 1.01f;
             std::memcpy(scores.bytes + i * sizeof value, &value, sizeof value);
           }
         }},
    {.name = "score-of-4-bits",
     .what = "in networks of 8 bits, scores have four",
     .check = "models/fashion_mnist_int8/accuracy",
     .computed =
         [](Computed& c) {
           const Scores scores = scoresOf(c);
           if (scores.size != 1) return;
           // Signed or unsigned: keeps the upper four bits, rounded down.
           for (size_t i = 0; i < kClasses; ++i) scores.bytes[i] &= 0xf0;
         }},
};

}  // namespace

std::span<const Defect> networkDefects() { return kNetworkDefects; }

}  // namespace halyard::defects
