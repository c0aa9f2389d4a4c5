// Writes a case as JSON.
#include <nlohmann/json.hpp>

#include "conformance/base64.h"
#include "conformance/vectors.h"

namespace halyard::conformance {
namespace {

using OrderedJson = nlohmann::ordered_json;

Result<OrderedJson> describeConstant(const Model& model, const Operand& operand) {
  const DataLocation& at = operand.location;
  if (operand.lifetime == Lifetime::CONSTANT_COPY) {
    return OrderedJson(
        encodeBase64(std::span<const uint8_t>(model.operandValues).subspan(at.offset, at.length)));
  }
  HALYARD_ASSIGN_OR_RETURN(const Mapping mapping, model.pools[at.poolIndex]->map());
  const auto* const bytes = static_cast<const uint8_t*>(mapping.data());
  return OrderedJson(encodeBase64({bytes + at.offset, at.length}));
}

Result<OrderedJson> describeOperand(const Model& model, const Operand& operand) {
  OrderedJson json;
  // The API's MODEL has another name in the HAL.
  json["type"] = operand.type == OperandType::MODEL ? "SUBGRAPH" : operandTypeName(operand.type);
  json["dims"] = operand.dimensions;
  json["lifetime"] = lifetimeName(operand.lifetime);
  if (operand.scale != 0) json["scale"] = operand.scale;
  if (operand.zeroPoint != 0) json["zero_point"] = operand.zeroPoint;
  if (const auto* channels = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams)) {
    json["channel_quant"] = {{"dim", channels->channelDim}, {"scales", channels->scales}};
  }
  switch (operand.lifetime) {
    case Lifetime::CONSTANT_COPY:
    case Lifetime::CONSTANT_REFERENCE: {
      HALYARD_ASSIGN_OR_RETURN(json["data"], describeConstant(model, operand));
      break;
    }
    case Lifetime::SUBGRAPH: {
      const auto* const index = reinterpret_cast<const uint8_t*>(&operand.location.offset);
      json["data"] = encodeBase64({index, sizeof(operand.location.offset)});
      break;
    }
    case Lifetime::SUBGRAPH_INPUT:
    case Lifetime::SUBGRAPH_OUTPUT:
      json["data"] = "";  // of the main subgraph; filled in later
      break;
    case Lifetime::TEMPORARY_VARIABLE:
    case Lifetime::NO_VALUE:
      break;
  }
  return json;
}

Result<OrderedJson> describeSubgraph(const Model& model, const Subgraph& subgraph) {
  OrderedJson operands = OrderedJson::array();
  for (const Operand& operand : subgraph.operands) {
    HALYARD_ASSIGN_OR_RETURN(operands.emplace_back(), describeOperand(model, operand),
                             "operand #{}", operands.size() - 1);
  }
  OrderedJson operations = OrderedJson::array();
  for (const Operation& operation : subgraph.operations) {
    operations.push_back({{"type", operationTypeName(operation.type)},
                          {"inputs", operation.inputs},
                          {"outputs", operation.outputs}});
  }
  return OrderedJson({{"operands", std::move(operands)},
                      {"operations", std::move(operations)},
                      {"inputs", subgraph.inputIndexes},
                      {"outputs", subgraph.outputIndexes}});
}

}  // namespace

Result<std::string> vectorLine(const VectorCase& vectorCase) {
  const Model& model = vectorCase.model;
  OrderedJson json;
  json["name"] = vectorCase.name;
  if (!vectorCase.hal.empty()) json["hal"] = vectorCase.hal;
  json["relaxed"] = vectorCase.relaxed;
  json["expect_failure"] = vectorCase.expectFailure;
  if (vectorCase.multinomialTolerance > 0) {
    json["multinomial_tolerance"] = vectorCase.multinomialTolerance;
  }
  HALYARD_ASSIGN_OR_RETURN(OrderedJson main, describeSubgraph(model, model.main), "main");
  for (size_t i = 0; i < vectorCase.inputs.size(); ++i) {
    const VectorInput& input = vectorCase.inputs[i];
    main["operands"][model.main.inputIndexes[i]]["data"] =
        input.omitted ? "" : encodeBase64(input.bytes);
  }
  for (size_t i = 0; i < vectorCase.outputs.size(); ++i) {
    const VectorOutput& output = vectorCase.outputs[i];
    OrderedJson& operand = main["operands"][model.main.outputIndexes[i]];
    operand["dims"] = output.dims;
    operand["data"] = encodeBase64(output.bytes);
    if (output.ignored) operand["ignored"] = true;
  }
  json["main"] = std::move(main);
  OrderedJson referenced = OrderedJson::array();
  for (const Subgraph& subgraph : model.referenced) {
    HALYARD_ASSIGN_OR_RETURN(referenced.emplace_back(), describeSubgraph(model, subgraph),
                             "referenced[{}]", referenced.size() - 1);
  }
  json["referenced"] = std::move(referenced);
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace halyard::conformance
