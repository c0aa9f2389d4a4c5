// TestInputs: the inputs on which the kit computes a model. They are pictures where a data set
// fits, and random numbers otherwise.
// Thread safety: one thread.
// Ownership: owns the data that it reads.
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
  // Uses the pictures of the plan's data set if it names one. Models that classify Fashion-MNIST
  // get its test images if they are installed. Otherwise they get the few pictures that come with
  // Halyard, followed by random numbers. Models that take no picture, or without a data set, get
  // random numbers. The plan's seed determines these.
  static Result<TestInputs> open(const import::ImportedModel& model, const Plan& plan);

  std::string name() const;  // "fashion-mnist", "images and random numbers", "random numbers"
  bool arePictures() const { return pictures_ != nullptr; }
  // The number of inputs. Random numbers have no end.
  size_t most() const;

  struct Input {
    std::vector<std::vector<uint8_t>> bytes;  // of each of the model's inputs
    std::optional<size_t> right;              // the class
  };
  // Input `n` of `count`.
  Result<Input> get(size_t n, size_t count) const;

 private:
  TestInputs(const import::ImportedModel& model, uint64_t seed)
      : ports_(model.inputs), seed_(seed) {}

  std::vector<import::ModelPort> ports_;
  uint64_t seed_ = 0;
  std::unique_ptr<measure::TestPictures> pictures_;  // null: random
  size_t numbersBehind_ = 0;                         // inputs of random numbers after the pictures
};

}  // namespace halyard::validation
