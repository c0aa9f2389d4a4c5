#include "tflite_delegate/live_node.h"

namespace halyard::tflite {
namespace {

std::vector<int32_t> copyOf(const IntArray* list) {
  if (list == nullptr) return {};
  return {list->values().begin(), list->values().end()};
}

}  // namespace

std::string LiveNode::operatorName() const {
  if (!customName.empty()) return customName;
  const auto code = static_cast<tfl::BuiltinOperator>(builtinCode);
  const std::string name = tfl::EnumNameBuiltinOperator(code);
  return name.empty() ? fmt::format("operator {}", builtinCode) : name;
}

Result<LiveNode> copyNode(LiteContext* context, int32_t index) {
  LiteNode* node = nullptr;
  LiteRegistration* registration = nullptr;
  if (context->getNode(context, index, &node, &registration) != LiteStatus::OK) {
    return badData("the interpreter does not give node {}", index);
  }
  LiveNode copy;
  copy.index = index;
  copy.builtinCode = registration->builtinCode;
  copy.version = registration->version;
  copy.inputs = copyOf(node->inputs);
  copy.outputs = copyOf(node->outputs);
  copy.intermediates = copyOf(node->intermediates);
  if (copy.builtinCode == kCustomOperator) {
    copy.hasKernel = registration->prepare != nullptr;
    if (registration->customName != nullptr) copy.customName = registration->customName;
    const auto* const data = static_cast<const uint8_t*>(node->customData);
    if (data != nullptr && node->customDataSize > 0) {
      copy.customData.assign(data, data + node->customDataSize);
    }
    return copy;
  }
  // The structure of a node that a delegate has replaced is the delegate's.
  if (copy.builtinCode == kDelegateOperator) return copy;
  HALYARD_ASSIGN_OR_RETURN(copy.options, optionsOf(copy.builtinCode, node->builtinData),
                           "operator {} of node {}", copy.operatorName(), index);
  copy.callees = calleesOf(copy.builtinCode, node->builtinData);
  return copy;
}

}  // namespace halyard::tflite
