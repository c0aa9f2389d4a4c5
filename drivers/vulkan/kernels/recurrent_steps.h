// RecurrentSteps: the dispatches that recurrent networks share. States and sums are float32.
// Thread safety: belongs to one thread. Ownership: borrows the site and the recording.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "kernels/recording.h"
#include "ops/recurrent_activation.h"
#include "ops/sequence.h"

namespace halyard::vulkandriver {

// Longer sequences would need too many dispatches.
inline constexpr size_t kMostSteps = 1024;
// BAD_DATA for a sequence with more steps.
Status checkSteps(size_t steps);

// The order of a sequence of shape `dims`.
ops::SequenceOrder sequenceOrder(const Shape& dims, bool timeMajor, bool backward);

// One summand of the gates' sums: rows of values times the matrices [cells][depth] of the gates.
struct GateTerm {
  Place values;
  bool isSingle = false;  // float32 for any type of the model
  size_t first = 0;       // element of the first row
  size_t stride = 0;      // elements between rows
  size_t depth = 0;
  std::vector<Place> weights;  // at most four
};

// The destination of one result's rows in a tensor of the model.
struct ResultRows {
  Place tensor;
  size_t first = 0;
  size_t stride = 0;
};

// The LSTM cell. Gates are in the order of ops::Gate; without an input gate its entries are absent.
struct LstmCell {
  std::array<std::optional<Place>, 4> bias;
  std::array<std::optional<Place>, 4> peephole;
  std::array<std::optional<Place>, 4> layerNorm;
  size_t gates = 4;
  size_t cells = 0;
  ops::RecurrentActivation activation = ops::RecurrentActivation::TANH;
  float clip = 0;
};

class RecurrentSteps {
 public:
  RecurrentSteps(const Site& site, Recording& recording);

  // Memory for float32 values, beside the model's tensors.
  Place scratch(size_t values);
  // A copy of input `i`, which may change.
  Place stateOf(size_t i);
  // Stores a state in output `i`.
  void storeState(Place state, size_t i);
  // Fills output `i` with zeros.
  void clear(size_t i);

  // sums[row][gate][cell] = the sum of all terms.
  void multiply(Place sums, size_t rows, size_t gates, size_t cells,
                const std::vector<GateTerm>& terms);
  // Updates `state` and writes `gated`, the output before its projection, from the gates' sums.
  void lstmCell(const LstmCell& cell, size_t rows, Place sums, Place state, Place gated);
  // state = limit(activation(source + bias)), and the same in the tensor.
  void store(Place source, size_t rows, size_t width, std::optional<Place> bias,
             ops::RecurrentActivation activation, float limit, Place state,
             const ResultRows& result);
  // An error if a work item of one of these steps has more rounds than checkRounds() takes.
  Status check() const { return checkRounds(mostRounds_); }

  // The memories and sums of SVDF: newest values [rows][units * rank].
  void svdf(Place newest, size_t rows, size_t units, size_t rank, size_t memory,
            ops::RecurrentActivation activation);

 private:
  void normalize(const LstmCell& cell, size_t gate, size_t rows, Place sums, Place state);
  void updateCell(const LstmCell& cell, size_t rows, Place sums, Place state, Place gated,
                  bool updates, bool writes);
  void add(int32_t function, std::vector<Parameter> parameters, size_t count, int32_t option = 0);
  void copy(Place from, ElementKind fromKind, Place to, ElementKind toKind, size_t count);

  const Site& site_;
  Recording& recording_;
  ElementKind kind_ = ElementKind::FLOAT32;  // of the model's tensors
  uint64_t mostRounds_ = 0;
};

}  // namespace halyard::vulkandriver
