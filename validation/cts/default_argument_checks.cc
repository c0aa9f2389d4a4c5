// RemoveDefaultArguments: trailing inputs may be left out where they have their default values.
// Each operation of the signatures' tables that has such inputs is run without, and with ever more.
#include "accuracy/accuracy.h"
#include "tools/halyard/api_session.h"
#include "validation/cts/api_world.h"
#include "validation/random_graphs/generator.h"

namespace halyard::validation {
namespace {

using random_graphs::Choice;

// A number of inputs that the form may have.
std::vector<size_t> lengthsBeyond(const ops::Form& form, size_t least) {
  std::vector<size_t> lengths;
  for (const ops::CountRule& rule : form.counts) {
    if (rule.count > least) lengths.push_back(rule.count);
  }
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

const ops::Form& formOf(const Choice& choice) {
  return choice.definition->signature.forms[choice.variant.form];
}

// The choices with the fewest inputs, of forms that may have more.
std::vector<Choice> shortChoices() {
  std::vector<Choice> found;
  for (const Choice& choice : random_graphs::allChoices()) {
    if (choice.definition->controlFlow != ops::ControlFlow::NONE) continue;
    const ops::Form& form = formOf(choice);
    if (form.counts.empty() || form.repeated >= 0) continue;
    const bool isShortest = std::none_of(
        form.counts.begin(), form.counts.end(),
        [&](const ops::CountRule& rule) { return rule.count < choice.variant.inputs; });
    if (isShortest && !lengthsBeyond(form, choice.variant.inputs).empty()) found.push_back(choice);
  }
  return found;
}

// The default of a trailing input. BAD_DATA when nothing is known of it.
Result<Operand> defaultOf(const ops::OperandSpec& spec, Model& model) {
  Operand operand;
  operand.type = spec.fixed;
  if (spec.omittable) {
    operand.lifetime = Lifetime::NO_VALUE;
    return operand;
  }
  operand.lifetime = Lifetime::CONSTANT_COPY;
  if (spec.column == -1 && spec.fixed == OperandType::BOOL) {
    const uint8_t no = 0;
    operand.location = appendConstant(model, &no, sizeof no);
    return operand;
  }
  const bool isAxis = spec.name.find("axis") != std::string_view::npos;
  const bool isDilation = spec.name.find("dilation") != std::string_view::npos;
  if (spec.column == -1 && spec.fixed == OperandType::INT32 && (isAxis || isDilation)) {
    const int32_t value = isAxis ? -1 : 1;
    operand.location = appendConstant(model, &value, sizeof value);
    return operand;
  }
  return badData("no default is known of the input '{}'", spec.name);
}

// The case with so many inputs of its operation; those added have their defaults.
Status lengthen(Model& model, const Choice& choice, size_t inputs) {
  Operation& operation = model.main.operations[0];
  while (operation.inputs.size() < inputs) {
    const size_t position = operation.inputs.size();
    const ops::OperandSpec& spec = formOf(choice).inputs[position];
    HALYARD_ASSIGN_OR_RETURN(Operand operand, defaultOf(spec, model));
    if (spec.column >= 0) {
      ops::testing::Variant longer = choice.variant;
      longer.inputs = inputs;
      operand.type = ops::testing::tableType(choice.definition->signature, longer, true, position);
    }
    operation.inputs.push_back(static_cast<uint32_t>(model.main.operands.size()));
    model.main.operands.push_back(std::move(operand));
  }
  return okStatus();
}

// Whether the device takes it; then its results must be those of the case.
Result<bool> tryLength(const ApiWorld& world, const conformance::VectorCase& graph,
                       std::shared_ptr<const Model> model) {
  HALYARD_ASSIGN_OR_RETURN(const auto session, cli::ApiSession::create(model), "model");
  HALYARD_ASSIGN_OR_RETURN(const std::vector<bool> takes,
                           session->supportedOperations(world.device()));
  if (takes != std::vector<bool>{true}) return false;
  HALYARD_RETURN_IF_ERROR(session->compile(world.device()), "compilation");
  std::vector<cli::ApiInput> inputs;
  for (const auto& input : graph.inputs) inputs.push_back({input.bytes, {}, input.bytes.empty()});
  HALYARD_ASSIGN_OR_RETURN(const cli::ApiExecution execution, session->execute(inputs),
                           "execution");
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (graph.outputs[i].ignored) continue;
    const OperandType type = model->main.operands[model->main.outputIndexes[i]].type;
    if (execution.outputs[i].dimensions != graph.outputs[i].dims) {
      return opFailed("output {} has dimensions {}, expected {}", i,
                      shapeText(execution.outputs[i].dimensions), shapeText(graph.outputs[i].dims));
    }
    const auto criteria = accuracy::criteriaFor(type, accuracy::scopeOf(*model), graph.relaxed);
    const auto compared =
        accuracy::compareValues(type, criteria, graph.outputs[i].bytes, execution.outputs[i].bytes);
    if (compared.failed) return opFailed("output {}: {}", i, compared.text);
  }
  return true;
}

CheckResult tryOperation(const ApiWorld& world, const std::vector<Choice>& choices,
                         uint64_t seeds) {
  size_t runs = 0;
  for (const Choice& choice : choices) {
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      const auto graph = random_graphs::generateGraph({seed, 1, {choice}});
      if (!graph.ok()) continue;  // the line of the tables has no legal case
      std::vector<size_t> lengths = lengthsBeyond(formOf(choice), choice.variant.inputs);
      lengths.insert(lengths.begin(), choice.variant.inputs);
      for (const size_t length : lengths) {
        auto model = std::make_shared<Model>(graph->model);
        HALYARD_RETURN_IF_ERROR(lengthen(*model, choice, length));
        HALYARD_ASSIGN_OR_RETURN(const bool ran, tryLength(world, *graph, model),
                                 "{} with {} of {} inputs, {}, seed {}",
                                 operationTypeName(choice.definition->type), length, lengths.back(),
                                 operandTypeName(choice.mainType()), seed);
        runs += ran;
      }
    }
  }
  if (runs == 0) return CheckResult::skipped("the device does not take the operation");
  return CheckResult::passed(fmt::format("{} executions", runs));
}

}  // namespace

void listDefaultArgumentChecks(ApiChecks& checks) {
  const std::vector<Choice> choices = shortChoices();
  const uint64_t seeds = checks.full() ? 10 : 1;
  for (size_t i = 0; i < choices.size();) {
    size_t end = i;
    while (end < choices.size() && choices[end].definition == choices[i].definition) ++end;
    Check& check = checks.addAny(
        fmt::format("default_arguments/{}", operationTypeName(choices[i].definition->type)),
        "trailing inputs with their default values, and none, give the same results",
        [own = std::vector<Choice>(choices.begin() + static_cast<ptrdiff_t>(i),
                                   choices.begin() + static_cast<ptrdiff_t>(end)),
         seeds](ApiWorld& world) { return tryOperation(world, own, seeds); });
    check.requirements = {"ND-052"};
    check.expectedSeconds = 0.01 * static_cast<double>(end - i);
    i = end;
  }
}

}  // namespace halyard::validation
