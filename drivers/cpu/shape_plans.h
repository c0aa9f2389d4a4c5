// ShapePlans: a model whose sizes only an execution knows, compiled for the sizes of executions.
// The last few of these compiled models are kept.
// Thread safety: all methods may be called from any thread.
// Ownership: shares the model's plan. Shares each compiled model with its users, so that it may
// outlive its place here. Borrows the resources.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "compiled_model.h"
#include "cpu/execution_plan.h"

namespace halyard::cpudriver {

class ShapePlans {
 public:
  // Limits of the models that are kept. The bytes are those of packed constants that no other sizes
  // share. The model that was used last is kept even if it has more.
  struct Limits {
    size_t plans = 8;
    size_t bytes = size_t{256} << 20;
  };

  // Whether only the sizes of inputs keep a model from being compiled, as far as this is known
  // without them.
  static bool mayHelp(const cpu::ExecutionPlan& open);

  // `open` has all constants (ConstantReading::ALL).
  ShapePlans(std::shared_ptr<const cpu::ExecutionPlan> open,
             const CompiledModel::Resources& resources)
      : ShapePlans(std::move(open), resources, Limits{}) {}
  ShapePlans(std::shared_ptr<const cpu::ExecutionPlan> open,
             const CompiledModel::Resources& resources, const Limits& limits);
  // As CompiledModel::abandon().
  ~ShapePlans();
  ShapePlans(const ShapePlans&) = delete;
  ShapePlans& operator=(const ShapePlans&) = delete;

  // The model for executions with inputs of these sizes. If it is not kept here, it is planned now,
  // with its steps deferred (CompiledModel::compileLater). Null where it cannot be compiled, and
  // where the arguments contradict the model: the executor then reports the error. Throws
  // WorkAbandoned as checkWorkLimit, and std::bad_alloc.
  std::shared_ptr<CompiledModel> get(std::span<const cpu::Argument> inputs);
  // The model has failed with `why`: from now on no compiled model exists for these sizes.
  void giveUp(const std::shared_ptr<CompiledModel>& model, const Status& why);

  // How many models are kept.
  size_t size() const;

 private:
  struct Entry {
    std::vector<Shape> dims;                  // by input
    std::shared_ptr<CompiledModel> compiled;  // null: not compilable
  };

  // Finds the entry and marks it as used last. Null if no entry has these sizes.
  const Entry* find(const std::vector<Shape>& dims);
  std::shared_ptr<CompiledModel> make(const std::vector<Shape>& dims);
  void trim(std::vector<std::shared_ptr<CompiledModel>>* dropped);

  const std::shared_ptr<const cpu::ExecutionPlan> open_;
  const CompiledModel::Resources resources_;
  const Limits limits_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the one that was used last comes first
};

}  // namespace halyard::cpudriver
