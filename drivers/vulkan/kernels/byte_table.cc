#include "kernels/byte_table.h"

#include "ops/inline_services.h"

namespace halyard::vulkandriver {

Result<std::vector<uint8_t>> byteTable(const Site& site, size_t tensors) {
  const uint32_t entries = tensors == 1 ? 256 : 65536;
  std::vector<std::vector<uint8_t>> bytes(tensors, std::vector<uint8_t>(entries));
  for (uint32_t i = 0; i < entries; ++i) {
    bytes.back()[i] = static_cast<uint8_t>(i);
    if (tensors == 2) bytes[0][i] = static_cast<uint8_t>(i >> 8);
  }
  std::vector<ops::Tensor> inputs;
  for (size_t i = 0; i < site.context.inputCount(); ++i) {
    inputs.push_back(site.input(i));
    if (i >= tensors) continue;
    if (inputs[i].channelQuant != nullptr) return badData("input {} has scales by channel", i);
    inputs[i].dims = {entries};
    inputs[i].data = bytes[i].data();
  }
  std::vector<uint8_t> table(size_t{entries} * elementSize(site.output(0).type));
  std::vector<ops::Tensor> outputs = {site.output(0)};
  outputs[0].data = table.data();
  ops::InlineServices services;
  ops::OperationContext context(inputs, outputs, &services);
  const ops::OperationDefinition& definition = *ops::definitionOf(site.type);
  HALYARD_RETURN_IF_ERROR(ops::inferShapes(definition, context));
  HALYARD_RETURN_IF_ERROR(ops::runReference(definition, context));
  return table;
}

}  // namespace halyard::vulkandriver
