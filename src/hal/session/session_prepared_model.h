// SessionPreparedModel: a prepared model of a ClientSession.
// Thread safety: as hal::PreparedModel. Ownership: shares the session's state and the driver's
// prepared model.
#pragma once

#include <memory>

#include "hal/session/session_state.h"

namespace halyard::hal {

class SessionPreparedModel final : public PreparedModel {
 public:
  SessionPreparedModel(std::shared_ptr<SessionState> session, std::shared_ptr<const Model> model,
                       std::shared_ptr<PreparedModel> driver, const PrepareOptions& options);

  ExecutionResult executeSynchronously(const Request& request,
                                       const ExecuteOptions& options) override;

  const Model& model() const { return *model_; }
  const SessionState& session() const { return *session_; }

 private:
  const std::shared_ptr<SessionState> session_;
  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<PreparedModel> driver_;
  const Priority priority_;
};

}  // namespace halyard::hal
