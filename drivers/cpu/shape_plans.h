// ShapePlans: a model whose sizes only an execution knows, compiled for those that executions come
// with, of which the last few are kept.
// Thread safety: all methods may be called from any thread.
// Ownership: shares the model's plan, and each compiled model with whoever has got it, so that it
// outlives its place here; borrows the resources.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "compiled_model.h"
#include "cpu/execution_plan.h"
#include "shared_packing.h"

namespace halyard::cpudriver {

class ShapePlans {
 public:
  // What is kept. The bytes are those of temporaries, and of packed constants that no other sizes
  // have in common; the one that was used last is kept however many it has.
  struct Limits {
    size_t plans = 8;
    size_t bytes = size_t{256} << 20;
  };

  // Whether nothing but sizes of inputs keeps a model from being compiled, as far as that can be
  // seen without them.
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

  // The model for executions with inputs of these sizes: planned now where it is not here, its
  // steps deferred (CompiledModel::compileLater). Null where it cannot be compiled, and where
  // the arguments are not the model's: what is wrong with them the executor says. Throws
  // WorkAbandoned as checkWorkLimit, and std::bad_alloc.
  std::shared_ptr<CompiledModel> get(std::span<const cpu::Argument> inputs);
  // The model has failed, with `why`: for these sizes there is none from now on.
  void giveUp(const std::shared_ptr<CompiledModel>& model, const Status& why);

  // How many models are kept.
  size_t size() const;

 private:
  struct Entry {
    std::vector<Shape> dims;                  // by input
    std::shared_ptr<CompiledModel> compiled;  // null: there is none
  };

  // The entry, as the one that was used last; null if there is none.
  const Entry* find(const std::vector<Shape>& dims);
  std::shared_ptr<CompiledModel> make(const std::vector<Shape>& dims);
  void trim(std::vector<std::shared_ptr<CompiledModel>>* dropped);

  const std::shared_ptr<const cpu::ExecutionPlan> open_;
  const CompiledModel::Resources resources_;
  const Limits limits_;
  const std::shared_ptr<PackedPieces> pieces_ = std::make_shared<PackedPieces>();
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the one that was used last comes first
};

}  // namespace halyard::cpudriver
