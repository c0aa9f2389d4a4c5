// SingleOperator: a model of one operator, run on values, for tests of conversions.
// Thread safety: none needed.
// Ownership: values.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "import/tflite/run_imported_for_test.h"

namespace halyard::import {

class SingleOperator {
 public:
  using Type = tfl::TensorType;

  // Each function returns the new tensor's index.
  int32_t input(Type type, std::vector<int32_t> shape, std::vector<uint8_t> value) {
    const int32_t index = typed(type, std::move(shape));
    writer.inputs.push_back(index);
    values_.push_back(std::move(value));
    return index;
  }
  int32_t floats(std::vector<int32_t> shape, const std::vector<float>& value) {
    return input(Type::FLOAT32, std::move(shape), bytesOf(value));
  }
  int32_t ints(std::vector<int32_t> shape, const std::vector<int32_t>& value) {
    return input(Type::INT32, std::move(shape), bytesOf(value));
  }
  int32_t constant(Type type, std::vector<int32_t> shape, std::vector<uint8_t> data) {
    const int32_t index = typed(type, std::move(shape));
    writer.tensors[static_cast<size_t>(index)].data = std::move(data);
    return index;
  }
  int32_t intList(const std::vector<int32_t>& value) {
    return constant(Type::INT32, {static_cast<int32_t>(value.size())}, bytesOf(value));
  }
  int32_t output(Type type, std::vector<int32_t> shape = {}) {
    const int32_t index = typed(type, std::move(shape));
    writer.outputs.push_back(index);
    return index;
  }

  // Runs the model. A model that does not run fails the test, and gives empty outputs.
  std::vector<std::vector<uint8_t>> outputs() const {
    const RunResult result = runWith(importModel(writer), values_);
    EXPECT_TRUE(result.status.ok()) << result.status.toString();
    if (!result.status.ok()) return std::vector<std::vector<uint8_t>>(writer.outputs.size());
    return result.outputs;
  }
  std::vector<float> floatOutput() const { return as<float>(outputs()[0]); }
  std::vector<int32_t> intOutput() const { return as<int32_t>(outputs()[0]); }
  // Returns the reason why the importer refuses the model; empty if it does not.
  std::string refusal() const {
    const Result<ImportedModel> imported = importModel(writer);
    return imported.ok() ? std::string() : imported.status().toString();
  }

  ModelWriter writer;

 private:
  int32_t typed(Type type, std::vector<int32_t> shape) {
    TensorSpec spec;
    spec.name = "t" + std::to_string(writer.tensors.size());
    spec.type = type;
    spec.shape = std::move(shape);
    return writer.tensor(std::move(spec));
  }

  std::vector<std::vector<uint8_t>> values_;
};

}  // namespace halyard::import
