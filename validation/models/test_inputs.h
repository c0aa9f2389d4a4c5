// TestInputs: what a model is to compute for the kit. Pictures where there are some for it, random
// numbers otherwise.
// Thread safety: none. Ownership: owns what is read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "import/tflite/importer.h"
#include "measure/test_pictures.h"
#include "validation/kit/check.h"

namespace halyard::validation {

class TestInputs {
 public:
  // The pictures of the plan's data set if it names one; for models that classify Fashion-MNIST its
  // test images where they are installed, or the few that come with Halyard and numbers at random
  // behind them. Models that take no picture, and those that there is none for, get numbers at
  // random, by the plan's seed.
  static Result<TestInputs> open(const import::ImportedModel& model, const Plan& plan);

  std::string name() const;  // "fashion-mnist", "images and random numbers", "random numbers"
  bool arePictures() const { return pictures_ != nullptr; }
  // How many there are; random numbers never end.
  size_t most() const;

  struct Input {
    std::vector<std::vector<uint8_t>> bytes;  // of each of the model's inputs
    std::optional<size_t> right;              // the class
  };
  // The n-th of `count`.
  Result<Input> get(size_t n, size_t count) const;

 private:
  TestInputs(const import::ImportedModel& model, uint64_t seed)
      : ports_(model.inputs), seed_(seed) {}

  std::vector<import::ModelPort> ports_;
  uint64_t seed_ = 0;
  std::unique_ptr<measure::TestPictures> pictures_;  // null: random
  size_t numbersBehind_ = 0;                         // inputs of random numbers behind the pictures
};

}  // namespace halyard::validation
