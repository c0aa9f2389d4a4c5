// Fuzzer of the importer. Any bytes give an error, or a valid model that can be dumped. In four of
// five cases, it mutates an input that is a model at the level of the model.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "import/tflite/importer.h"
#include "import/tflite/model_mutator.h"
#include "model/dump.h"
#include "model/validation/validation.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize,
                                          unsigned seed) {
  if (seed % 5 == 0) return LLVMFuzzerMutate(data, size, maxSize);
  const std::vector<uint8_t> mutated =
      halyard::import::mutateModel({data, size}, seed / 5, [](std::span<uint8_t> bytes, uint32_t) {
        if (!bytes.empty()) (void)LLVMFuzzerMutate(bytes.data(), bytes.size(), bytes.size());
      });
  if (mutated.empty() || mutated.size() > maxSize) return LLVMFuzzerMutate(data, size, maxSize);
  std::ranges::copy(mutated, data);
  return mutated.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using halyard::import::ExtensionUse;
  using halyard::import::ImportedModel;
  using halyard::import::OperandNames;
  for (const ExtensionUse extension :
       {ExtensionUse::NONE, ExtensionUse::WHERE_NEEDED, ExtensionUse::PREFERRED}) {
    const halyard::Result<ImportedModel> imported = halyard::import::importTflite(
        std::span<const uint8_t>(data, size),
        {.names = OperandNames::KEPT,
         .extension = extension,
         .keepsOpenDimensions = extension == ExtensionUse::WHERE_NEEDED,
         .states = extension == ExtensionUse::PREFERRED ? halyard::import::StateUse::ALL
                                                        : halyard::import::StateUse::FIRST_VALUES});
    if (!imported.ok()) {
      if (imported.status().message().empty()) std::abort();
      continue;
    }
    if (!halyard::validateModel(imported->model).ok()) std::abort();
    if (halyard::modelText(imported->model, imported->operandNames).empty()) std::abort();
    if (halyard::modelGraphviz(imported->model, imported->operandNames).empty()) std::abort();
  }
  return 0;
}
