// The prepared models that the CPU driver returns. A model is compiled at once, or, if only an
// execution knows its sizes, compiled for these sizes then.
// Thread safety: as hal::PreparedModel.
// Ownership: they share the model, their compiled models, and the resources that these borrow.
#pragma once

#include <memory>

#include "compiled_model.h"
#include "driver_resources.h"
#include "halyard/driver/device.h"
#include "halyard/driver/mapped_request.h"
#include "shape_plans.h"

namespace halyard::cpudriver {

// Has all sizes.
class CompiledPreparedModel final : public hal::PreparedModel {
 public:
  // `resources` has what `compiled` borrows.
  CompiledPreparedModel(std::shared_ptr<const Model> model,
                        std::shared_ptr<DriverResources> resources,
                        std::shared_ptr<CompiledModel> compiled)
      : model_(std::move(model)),
        resources_(std::move(resources)),
        compiled_(std::move(compiled)) {}
  ~CompiledPreparedModel() override { compiled_->abandon(); }
  CompiledPreparedModel(const CompiledPreparedModel&) = delete;
  CompiledPreparedModel& operator=(const CompiledPreparedModel&) = delete;

  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& options) override;
  Result<std::unique_ptr<hal::ReusableExecution>> createReusableExecution(
      const hal::Request& request) override;

 private:
  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<DriverResources> resources_;
  const std::shared_ptr<CompiledModel> compiled_;
};

// Is compiled for the sizes of each execution. The executor computes a model that cannot be
// compiled.
class OpenPreparedModel final : public hal::PreparedModel {
 public:
  // `resources` has what `plans` borrow; `executor` has the same model prepared.
  OpenPreparedModel(std::shared_ptr<const Model> model, std::shared_ptr<DriverResources> resources,
                    std::unique_ptr<ShapePlans> plans, std::shared_ptr<hal::PreparedModel> executor)
      : model_(std::move(model)),
        resources_(std::move(resources)),
        plans_(std::move(plans)),
        executor_(std::move(executor)) {}

  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& options) override;
  // It keeps the model that was compiled for its sizes, even if others are executed meanwhile.
  Result<std::unique_ptr<hal::ReusableExecution>> createReusableExecution(
      const hal::Request& request) override;

 private:
  class Repeated;

  std::shared_ptr<CompiledModel> planFor(const hal::MappedRequest& mapped);
  // Whether it is the executor that has to answer, after `result` of a run of `compiled`.
  bool isLeftOver(const hal::ExecutionResult& result,
                  const std::shared_ptr<CompiledModel>& compiled);

  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<DriverResources> resources_;
  const std::unique_ptr<ShapePlans> plans_;
  const std::shared_ptr<hal::PreparedModel> executor_;
};

}  // namespace halyard::cpudriver
