// SessionPreparedModel: a prepared model of a ClientSession.
// Thread safety: as hal::PreparedModel. Ownership: shares the session's state and the driver's
// prepared model.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "hal/checks/operand_sizes.h"
#include "hal/session/session_state.h"

namespace halyard::hal {

class SessionPreparedModel final : public PreparedModel,
                                   public std::enable_shared_from_this<SessionPreparedModel> {
 public:
  SessionPreparedModel(std::shared_ptr<SessionState> session, std::shared_ptr<const Model> model,
                       std::shared_ptr<PreparedModel> driver, const PrepareOptions& options,
                       Quota::Charge charge);

  ExecutionResult executeSynchronously(const Request& request,
                                       const ExecuteOptions& options) override;
  Result<std::unique_ptr<ReusableExecution>> createReusableExecution(
      const Request& request) override;
  FencedResult executeFenced(const Request& request, std::span<const int> waitFor,
                             const ExecuteOptions& options,
                             std::optional<std::chrono::nanoseconds> duration) override;
  // The same for a request that only `run` can bring into this process, when the fences have
  // signalled: `request` is checked, and `run` is to call executeSynchronously.
  FencedResult executeFenced(const Request& request, std::span<const int> waitFor,
                             const ExecuteOptions& options,
                             std::optional<std::chrono::nanoseconds> duration,
                             std::function<ExecutionResult(const ExecuteOptions&)> run);
  Status saveToCache(int modelCache, int dataCache, const Token& token) override;
  Result<std::unique_ptr<Burst>> configureBurst() override;

  const Model& model() const { return *model_; }
  const SessionState& session() const { return *session_; }
  // Its number in the session, never that of another prepared model.
  uint64_t id() const { return id_; }
  // What its executions are known by in the client's trace.
  void setTraceContext(uint64_t context) { traceContext_ = context; }

 private:
  class Reusable;

  // With memory in the place of tokens.
  ExecutionResult executeOnDriver(const Request& request, const ExecuteOptions& options);
  // When it is the execution's turn, `work(options)`, and looks at what the driver reports.
  template <typename Work>
  ExecutionResult takeTurn(const Request& request, const ExecuteOptions& options, Work work);

  const std::shared_ptr<SessionState> session_;
  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<PreparedModel> driver_;
  const Priority priority_;
  const uint64_t id_;
  const OperandSizes sizes_;
  const Quota::Charge charge_;
  std::atomic<uint64_t> traceContext_ = 0;
};

}  // namespace halyard::hal
