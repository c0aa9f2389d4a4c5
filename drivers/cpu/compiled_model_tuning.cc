// The ways in which a compiled model's steps are computed: measured, or as they were measured once.
#include <algorithm>
#include <map>

#include "compiled_model.h"
#include "cpu/block_pool.h"
#include "halyard/driver/trace.h"

namespace halyard::cpudriver {
namespace {

// Memory for inputs or outputs.
class Arguments {
 public:
  void add(const ops::Tensor& tensor) {
    const size_t bytes = cpu::byteSizeOf(tensor);
    memory_.push_back(Packing::make(bytes, [](std::byte*) {}));
    // What is made here is nobody else's.
    arguments_.push_back({const_cast<std::byte*>(memory_.back().get()), bytes, tensor.dims, false});
  }
  const std::vector<cpu::Argument>& list() const { return arguments_; }

 private:
  std::vector<Packing::Bytes> memory_;
  std::vector<cpu::Argument> arguments_;
};

// What tells apart steps that take different times.
std::string kindOf(const Step& step, const cpu::SubgraphPlan& plan) {
  constexpr size_t kScalarBytes = 8;
  std::string text =
      fmt::format("{}", static_cast<int>(plan.subgraph->operations[step.operation].type));
  const auto add = [&](uint32_t operand, bool withValue) {
    const ops::Tensor& tensor = plan.tensors[operand];
    text += fmt::format(" {}:{}", static_cast<int>(tensor.type), fmt::join(tensor.dims, ","));
    if (!withValue || tensor.omitted || tensor.data == nullptr) return;
    const size_t bytes = cpu::byteSizeOf(tensor);
    if (bytes > kScalarBytes) return;
    const auto* const values = static_cast<const uint8_t*>(tensor.data);
    text += fmt::format("={}", fmt::join(values, values + bytes, "."));
  };
  for (const uint32_t operand : step.inputs) add(operand, isScalarType(plan.tensors[operand].type));
  text += " ->";
  for (const uint32_t operand : step.outputs) add(operand, false);
  return text + fmt::format(" {}", step.kernel == nullptr ? 0 : step.kernel->ways());
}

}  // namespace

class CompiledModel::Subject final : public TuningSubject {
 public:
  Subject(CompiledModel& model, std::chrono::nanoseconds longestRun,
          std::optional<hal::TimePoint> end)
      : model_(model), longestRun_(longestRun), end_(end) {
    for (size_t i = 0; i < model.plan_.main.subgraph->inputIndexes.size(); ++i) {
      inputs_.add(model.input(i));
    }
    for (size_t i = 0; i < model.plan_.main.subgraph->outputIndexes.size(); ++i) {
      outputs_.add(model.output(i));
    }
    std::map<std::string, size_t> kinds;
    for (const Step& step : model.steps_) {
      kinds_.push_back(
          kinds.try_emplace(kindOf(step, model.plan_.main), kinds.size()).first->second);
    }
  }

  size_t steps() const override { return model_.steps_.size(); }
  size_t ways(size_t step) const override { return model_.waysOf(step); }
  size_t kind(size_t step) const override { return kinds_[step]; }
  bool divides() const override {
    ThreadShare* const threads = model_.resources_.threads;
    return threads != nullptr && threads->pool().threads() > 1;
  }
  void choose(size_t step, StepChoice choice) override { model_.takeChoice(step, choice); }
  bool run(std::vector<std::chrono::nanoseconds>* times) override {
    ThreadShare* const threads = model_.resources_.threads;
    if (threads != nullptr && !threads->isIdle()) return false;
    hal::ExecuteOptions options;
    options.deadline = hal::Clock::now() + longestRun_;
    if (end_) options.deadline = std::min(*options.deadline, *end_);
    return model_.run(inputs_.list(), outputs_.list(), options, times).status.ok();
  }

 private:
  CompiledModel& model_;
  const std::chrono::nanoseconds longestRun_;
  const std::optional<hal::TimePoint> end_;
  Arguments inputs_;
  Arguments outputs_;
  std::vector<size_t> kinds_;
};

Tuning CompiledModel::tune(std::chrono::nanoseconds budget, std::optional<hal::TimePoint> end) {
  const trace::Scope mark(trace::Layer::DRIVER, trace::Phase::COMPILATION, "tune");
  Subject subject(*this, 2 * budget, end);
  choices_.assign(steps_.size(), {});
  Tuning tuning = cpudriver::tune(subject, budget);
  if (!tuning.complete) choices_.clear();
  return tuning;
}

Status CompiledModel::choose(std::span<const StepChoice> choices) {
  if (choices.size() != steps_.size()) {
    return opFailed("choices for {} steps, expected {}", choices.size(), steps_.size());
  }
  choices_.assign(steps_.size(), {});
  for (size_t step = 0; step < steps_.size(); ++step) {
    if (choices[step].way >= waysOf(step)) {
      return opFailed("way {} of step {}, which has {}", choices[step].way, step, waysOf(step));
    }
    takeChoice(step, choices[step]);
  }
  return okStatus();
}

void CompiledModel::takeChoice(size_t step, StepChoice choice) {
  choices_[step] = choice;
  mayDivide_ = true;
  if (steps_[step].kernel != nullptr) steps_[step].kernel->chooseWay(choice.way);
}

size_t CompiledModel::waysOf(size_t step) const {
  const Kernel* const kernel = steps_[step].kernel.get();
  return kernel == nullptr ? 1 : kernel->ways();
}

std::string CompiledModel::wayOf(size_t step) const {
  if (choices_.empty() || choices_[step] == StepChoice()) return {};
  const StepChoice choice = choices_[step];
  const Kernel* const kernel = steps_[step].kernel.get();
  if (choice.way == 0) return "finer";
  const std::string_view name = kernel->wayName(choice.way);
  return choice.finer ? fmt::format("{}, finer", name) : std::string(name);
}

std::string CompiledModel::markOf(size_t step) const {
  const OperationType type = plan_.main.subgraph->operations[steps_[step].operation].type;
  const std::string way = wayOf(step);
  return way.empty() ? operationTypeName(type)
                     : fmt::format("{} ({})", operationTypeName(type), way);
}

}  // namespace halyard::cpudriver
