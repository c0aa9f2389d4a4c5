// Model files for tests of the server, and requests to them.
// Thread safety: pure functions. Ownership: results are values.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "import/tflite/model_writer.h"
#include "serve/protocol/infer.h"

namespace halyard::serve {

// y = x + [10, 20, 30] for float [1,3].
inline import::ModelWriter additionModel() {
  import::ModelWriter w;
  const int32_t x = w.floats("x", {1, 3});
  const int32_t c = w.floatConstant("c", {3}, {10, 20, 30});
  const int32_t y = w.floats("y", {1, 3});
  w.node(import::tfl::BuiltinOperator::ADD, {x, c}, {y}, import::tfl::BuiltinOptions::AddOptions,
         [](flatbuffers::FlatBufferBuilder& b) { return import::tfl::CreateAddOptions(b); });
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

// y = x + the sum over the first dimension. So the elements of a batch are not independent.
inline import::ModelWriter mixingModel() {
  import::ModelWriter w;
  const int32_t x = w.floats("x", {1, 3});
  const int32_t axis = w.intConstant("axis", {0});
  const int32_t sum = w.floats("sum", {1, 3});
  const int32_t y = w.floats("y", {1, 3});
  w.node(import::tfl::BuiltinOperator::SUM, {x, axis}, {sum},
         import::tfl::BuiltinOptions::ReducerOptions, [](flatbuffers::FlatBufferBuilder& b) {
           return import::tfl::CreateReducerOptions(b, /*keep_dims=*/true);
         });
  w.node(import::tfl::BuiltinOperator::ADD, {x, sum}, {y}, import::tfl::BuiltinOptions::AddOptions,
         [](flatbuffers::FlatBufferBuilder& b) { return import::tfl::CreateAddOptions(b); });
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

// y = x[index] in each batch, for float [1,3] and an INT32 [1,1].
inline import::ModelWriter pickingModel() {
  import::ModelWriter w;
  const int32_t x = w.floats("x", {1, 3});
  import::TensorSpec spec;
  spec.name = "index";
  spec.type = import::tfl::TensorType::INT32;
  spec.shape = {1, 1};
  const int32_t index = w.tensor(std::move(spec));
  const int32_t y = w.floats("y", {1, 1});
  w.node(import::tfl::BuiltinOperator::GATHER, {x, index}, {y},
         import::tfl::BuiltinOptions::GatherOptions, [](flatbuffers::FlatBufferBuilder& b) {
           return import::tfl::CreateGatherOptions(b, /*axis=*/1, /*batch_dims=*/1);
         });
  w.inputs = {x, index};
  w.outputs = {y};
  return w;
}

inline void writeFile(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

inline void writeText(const std::string& path, const std::string& text) {
  writeFile(path, {text.begin(), text.end()});
}

// A request with one input "x" of `rows` times three floats.
inline InferRequest requestFor(const std::string& model, const std::vector<float>& values) {
  InferRequest request;
  request.model = model;
  InputTensor& input = request.inputs.emplace_back();
  input.name = "x";
  input.datatype = Datatype::FP32;
  input.shape = {static_cast<int64_t>(values.size() / 3), 3};
  input.own = import::bytesOf(values);
  input.bytes = input.own;
  return request;
}

inline std::vector<float> floatsOf(const OutputTensor& output) {
  std::vector<float> values(output.bytes.size() / sizeof(float));
  std::memcpy(values.data(), output.bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace halyard::serve
