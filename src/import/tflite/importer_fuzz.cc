// Fuzzer of the importer: any bytes give a model that is valid and can be shown, or an error. What
// is a model is mutated as one, four times out of five.
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
         .keepsOpenDimensions = extension == ExtensionUse::WHERE_NEEDED});
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
