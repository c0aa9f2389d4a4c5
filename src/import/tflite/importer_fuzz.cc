// Fuzzer of the importer: any bytes give a model that is valid and can be shown, or an error.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "import/tflite/importer.h"
#include "model/dump.h"
#include "model/validation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using halyard::import::ImportedModel;
  const halyard::Result<ImportedModel> imported =
      halyard::import::importTflite(std::span<const uint8_t>(data, size));
  if (!imported.ok()) {
    if (imported.status().message().empty()) std::abort();
    return 0;
  }
  if (!halyard::validateModel(imported->model).ok()) std::abort();
  if (halyard::modelText(imported->model, imported->operandNames).empty()) std::abort();
  if (halyard::modelGraphviz(imported->model, imported->operandNames).empty()) std::abort();
  return 0;
}
