#include "shape_plans.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "late_compiler.h"

namespace halyard::cpudriver {
namespace {

// The dimensions of each input. Empty when the number of inputs is wrong, an input has no data, or
// its dimensions contradict the model's or leave its size unknown.
std::optional<std::vector<Shape>> dimsOf(const Subgraph& subgraph,
                                         std::span<const cpu::Argument> inputs) {
  if (inputs.size() != subgraph.inputIndexes.size()) return std::nullopt;
  std::vector<Shape> dims;
  dims.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Operand& operand = subgraph.operands[subgraph.inputIndexes[i]];
    Result<Shape> combined = cpu::combineDims(operand, inputs[i].dims);
    if (inputs[i].data == nullptr || !combined.ok() ||
        !knownByteSize(operand.type, *combined).has_value()) {
      return std::nullopt;
    }
    dims.push_back(std::move(*combined));
  }
  return dims;
}

std::string textOf(const std::vector<Shape>& dims) {
  std::string text;
  for (const Shape& shape : dims) text += (text.empty() ? "" : ", ") + shapeText(shape);
  return text;
}

}  // namespace

bool ShapePlans::mayHelp(const cpu::ExecutionPlan& open) {
  const Model& model = *open.model;
  return !model.main.inputIndexes.empty() && model.referenced.empty() &&
         cpu::mayHaveSteps(model.main);
}

ShapePlans::ShapePlans(std::shared_ptr<const cpu::ExecutionPlan> open,
                       const CompiledModel::Resources& resources, const Limits& limits)
    : open_(std::move(open)), resources_(resources.complete()), limits_(limits) {}

ShapePlans::~ShapePlans() {
  for (const Entry& entry : entries_) {
    if (entry.compiled != nullptr) entry.compiled->abandon();
  }
}

std::shared_ptr<CompiledModel> ShapePlans::get(std::span<const cpu::Argument> inputs) {
  const auto dims = dimsOf(open_->model->main, inputs);
  if (!dims) return nullptr;
  std::vector<std::shared_ptr<CompiledModel>> dropped;  // without the lock
  {
    const std::lock_guard lock(mutex_);
    if (const Entry* entry = find(*dims)) {
      trim(&dropped);
      return entry->compiled;
    }
  }
  // Other callers need not wait meanwhile. If two callers plan the same at the same time, one of
  // the plans is dropped.
  std::shared_ptr<CompiledModel> made = make(*dims);
  {
    const std::lock_guard lock(mutex_);
    if (const Entry* entry = find(*dims)) return entry->compiled;
    entries_.push_front({*dims, made});
    trim(&dropped);
  }
  if (made != nullptr && resources_.late != nullptr && !resources_.late->add(made)) {
    (void)made->complete();  // the runs report the error
  }
  return made;
}

void ShapePlans::giveUp(const std::shared_ptr<CompiledModel>& model, const Status& why) {
  const std::lock_guard lock(mutex_);
  const auto entry = std::ranges::find(entries_, model, &Entry::compiled);
  if (entry == entries_.end()) return;
  logWarning("inputs of {} are left to the executor: {}", textOf(entry->dims), why.message());
  entry->compiled.reset();
}

size_t ShapePlans::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::ranges::count_if(
      entries_, [](const Entry& entry) { return entry.compiled != nullptr; }));
}

const ShapePlans::Entry* ShapePlans::find(const std::vector<Shape>& dims) {
  const auto entry = std::ranges::find(entries_, dims, &Entry::dims);
  if (entry == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, entry);
  return &entries_.front();
}

std::shared_ptr<CompiledModel> ShapePlans::make(const std::vector<Shape>& dims) {
  Result<cpu::ExecutionPlan> plan = cpu::ExecutionPlan::forInputs(open_, dims);
  std::string why = "its sizes do not all follow from those of its inputs";
  if (plan.ok()) {
    if (auto made = CompiledModel::compileLater(std::move(*plan), resources_)) return made;
  } else {
    why = plan.status().message();
  }
  logInfo("inputs of {} are left to the executor: {}", textOf(dims), why);
  return nullptr;
}

void ShapePlans::trim(std::vector<std::shared_ptr<CompiledModel>>* dropped) {
  // A model that has only been planned needs the constants that others have packed.
  const CompiledModel* const last = entries_.front().compiled.get();
  const bool countsBytes = last == nullptr || last->isComplete();
  size_t bytes = 0;
  size_t plans = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const CompiledModel* const compiled = entry->compiled.get();
    if (compiled != nullptr) bytes += compiled->ownBytes();
    ++plans;
    const bool isTooMuch = plans > limits_.plans || (countsBytes && bytes > limits_.bytes);
    if (isTooMuch && entry != entries_.begin()) {
      dropped->push_back(std::move(entry->compiled));
      entry = entries_.erase(entry);
    } else {
      ++entry;
    }
  }
}

}  // namespace halyard::cpudriver
