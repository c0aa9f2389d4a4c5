// Makes random models for tests of the whole system: several families of operations and types,
// branches, control flow and unknown dimensions. Some models have operations of any kind beside
// them. Thread safety: pure functions. Ownership: values.
#pragma once

#include <random>
#include <vector>

#include "cpu/model_for_test.h"

namespace halyard::runtime::random_models {

struct Tensor {
  Shape dims;                  // the actual ones
  std::vector<uint8_t> bytes;  // of inputs
};

struct RandomModel {
  Model model;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;  // without bytes
  bool isOpen = false;          // some dimensions are not known before an execution
};

// The same model for the same seed.
RandomModel randomModel(uint32_t seed);

}  // namespace halyard::runtime::random_models
