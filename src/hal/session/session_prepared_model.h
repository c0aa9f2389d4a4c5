// SessionPreparedModel: a prepared model of a ClientSession.
// Thread safety: that of hal::PreparedModel. Ownership: shares the state of the session and the
// prepared model of the driver.
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
  // Does the same for a request whose memory comes into this process only in `run`, after the
  // fences are signalled. Checks `request`. `run` must call executeSynchronously.
  FencedResult executeFenced(const Request& request, std::span<const int> waitFor,
                             const ExecuteOptions& options,
                             std::optional<std::chrono::nanoseconds> duration,
                             std::function<ExecutionResult(const ExecuteOptions&)> run);
  Status saveToCache(int modelCache, int dataCache, const Token& token) override;
  Result<std::unique_ptr<Burst>> configureBurst() override;

  const Model& model() const { return *model_; }
  const SessionState& session() const { return *session_; }
  // The driver's own object.
  const std::shared_ptr<PreparedModel>& ofDriver() const { return driver_; }
  // The number of the model in the session. It is unique in the session.
  uint64_t id() const { return id_; }
  // Sets the context of its executions in the trace of the client.
  void setTraceContext(uint64_t context) { traceContext_ = context; }

 private:
  class Reusable;
  class ReusableWithBuffers;

  // The request has memory in place of tokens.
  ExecutionResult executeOnDriver(const Request& request, const ExecuteOptions& options);
  // Waits for the turn of the execution, calls `work(options)`, and checks the results of the
  // driver.
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
