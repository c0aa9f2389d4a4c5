// Provides benchmarks with models, by the names on their command lines, and memory for executions.
// Thread safety: pure functions. Ownership: models are shared, Buffers own their memory.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cpu/executor.h"
#include "halyard/driver/device.h"
#include "import/tflite/importer.h"
#include "workloads/workloads.h"

namespace halyard::bench {

// Memory of zeros, for one request at a time. Outputs of unknown size get 64 KiB.
struct Buffers {
  std::vector<std::vector<uint8_t>> memory;
  hal::Request request;
  std::vector<cpu::Argument> inputs;
  std::vector<cpu::Argument> outputs;

  explicit Buffers(const Model& model) {
    const auto add = [&](const std::vector<uint32_t>& indexes,
                         std::vector<hal::RequestArgument>* arguments,
                         std::vector<cpu::Argument>* pointers) {
      for (const uint32_t index : indexes) {
        const Operand& operand = model.main.operands[index];
        memory.emplace_back(knownByteSize(operand.type, operand.dimensions).value_or(65536));
        hal::RequestArgument argument;
        argument.kind = hal::RequestArgument::Kind::POINTER;
        argument.pointer = memory.back().data();
        argument.length = static_cast<uint32_t>(memory.back().size());
        arguments->push_back(argument);
        pointers->push_back({argument.pointer, argument.length, {}, false});
      }
    };
    memory.reserve(model.main.inputIndexes.size() + model.main.outputIndexes.size());
    add(model.main.inputIndexes, &request.inputs, &inputs);
    add(model.main.outputIndexes, &request.outputs, &outputs);
  }
};

// Loads a .tflite file or a built-in model. v1, v2, v1-u8, v2-u8, v1-s8 and v2-s8 are MobileNet for
// images of 224 x 224 with random weights; lstm is an acoustic model. Errors as importTfliteFile.
inline Result<std::shared_ptr<const Model>> findModel(const std::string& name) {
  using workloads::Numbers;
  const std::pair<const char*, Numbers> kinds[] = {
      {"", Numbers::FLOAT32}, {"-u8", Numbers::QUANT8}, {"-s8", Numbers::QUANT8_SIGNED}};
  for (const auto& [suffix, numbers] : kinds) {
    if (name == std::string("v1") + suffix) return workloads::mobileNetV1(numbers);
    if (name == std::string("v2") + suffix) return workloads::mobileNetV2(numbers);
  }
  if (name == "lstm") return workloads::acousticLstm(Numbers::FLOAT32);
  // As for a driver that has the extension halyard.tflite.
  HALYARD_ASSIGN_OR_RETURN(
      import::ImportedModel imported,
      import::importTfliteFile(name, {.extension = import::ExtensionUse::PREFERRED}));
  return std::make_shared<const Model>(std::move(imported.model));
}

}  // namespace halyard::bench
