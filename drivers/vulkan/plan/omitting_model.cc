#include "plan/omitting_model.h"

#include <algorithm>

#include "halyard/driver/mapped_request.h"

namespace halyard::vulkandriver {
namespace {

// Each holds the model's memory. An application uses one set, rarely two.
constexpr size_t kMostVariants = 4;

template <typename T>
void eraseAt(std::vector<T>& values, const std::vector<size_t>& positions) {
  for (size_t i = positions.size(); i > 0; --i) {
    values.erase(values.begin() + static_cast<ptrdiff_t>(positions[i - 1]));
  }
}

std::vector<size_t> omittedInputs(const hal::Request& request) {
  std::vector<size_t> omitted;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.inputs[i].kind == hal::RequestArgument::Kind::NO_VALUE) omitted.push_back(i);
  }
  return omitted;
}

}  // namespace

Result<std::shared_ptr<hal::PreparedModel>> OmittingModel::without(const Positions& omitted) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(variants_, omitted, &Variant::omitted);
  if (found != variants_.end()) return found->prepared;
  auto changed = std::make_shared<Model>(*model_);
  for (const size_t i : omitted) {
    changed->main.operands[model_->main.inputIndexes[i]].lifetime = Lifetime::NO_VALUE;
  }
  eraseAt(changed->main.inputIndexes, omitted);
  HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::PreparedModel> prepared,
                           prepare_(std::move(changed)));
  if (variants_.size() == kMostVariants) variants_.pop_front();
  variants_.push_back({omitted, prepared});
  return prepared;
}

Result<std::unique_ptr<hal::ReusableExecution>> OmittingModel::createReusableExecution(
    const hal::Request& request) {
  if (omittedInputs(request).empty()) return whole_->createReusableExecution(request);
  return hal::PreparedModel::createReusableExecution(request);
}

hal::ExecutionResult OmittingModel::executeSynchronously(const hal::Request& request,
                                                         const hal::ExecuteOptions& options) {
  const Positions omitted = omittedInputs(request);
  if (omitted.empty()) return whole_->executeSynchronously(request, options);
  if (request.inputs.size() != model_->main.inputIndexes.size()) {
    return {badData("{} inputs, the model has {}", request.inputs.size(),
                    model_->main.inputIndexes.size()),
            {},
            {}};
  }
  const Result<std::shared_ptr<hal::PreparedModel>> variant = without(omitted);
  if (!variant.ok()) {
    const Status& status = variant.status();
    // Only models and requests are bad data, not executions.
    const ResultCode code =
        status.code() == ResultCode::BAD_DATA ? ResultCode::OP_FAILED : status.code();
    return {
        makeStatus(code, "inputs {} are omitted: {}", fmt::join(omitted, ", "), status.message()),
        {},
        {}};
  }
  hal::Request given = request;
  eraseAt(given.inputs, omitted);
  return (*variant)->executeSynchronously(given, options);
}

}  // namespace halyard::vulkandriver
