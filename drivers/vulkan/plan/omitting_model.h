// OmittingModel: a prepared model whose executions may omit inputs. A command buffer is recorded
// for given inputs. Each set of omitted inputs therefore gets a prepared model of its own, at its
// first use.
// Thread safety: as hal::PreparedModel.
// Ownership: shares the model and the prepared models.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "halyard/driver/device.h"

namespace halyard::vulkandriver {

class OmittingModel final : public hal::PreparedModel {
 public:
  // Prepares a model whose omitted operands have no value.
  using Prepare =
      std::function<Result<std::shared_ptr<hal::PreparedModel>>(std::shared_ptr<const Model>)>;

  // `whole` is the prepared model for executions that omit nothing.
  OmittingModel(std::shared_ptr<const Model> model, std::shared_ptr<hal::PreparedModel> whole,
                Prepare prepare)
      : model_(std::move(model)), whole_(std::move(whole)), prepare_(std::move(prepare)) {}

  // OP_FAILED with the reason where the device cannot compute the model without these inputs.
  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& options) override;
  Result<std::unique_ptr<hal::ReusableExecution>> createReusableExecution(
      const hal::Request& request) override;

 private:
  using Positions = std::vector<size_t>;  // among the model's inputs, ascending
  struct Variant {
    Positions omitted;
    std::shared_ptr<hal::PreparedModel> prepared;
  };

  Result<std::shared_ptr<hal::PreparedModel>> without(const Positions& omitted);

  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<hal::PreparedModel> whole_;
  const Prepare prepare_;
  std::mutex mutex_;
  std::deque<Variant> variants_;  // the oldest first
};

}  // namespace halyard::vulkandriver
