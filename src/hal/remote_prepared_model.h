// RemotePreparedModel: a prepared model in a driver's process.
// Thread safety: as hal::PreparedModel.
// Ownership: keeps its driver running; its destruction frees the model in the driver.
#pragma once

#include <memory>

#include "hal/argument_packer.h"
#include "hal/driver_connection.h"
#include "halyard/driver/device.h"

namespace halyard::hal {

class RemotePreparedModel final : public PreparedModel {
 public:
  // `id`: its key in DriverConnection::Side::preparedModels. `version`: of the methods to use.
  RemotePreparedModel(std::shared_ptr<DriverConnection> connection, uint64_t id,
                      std::shared_ptr<const Model> model, HalVersion version);
  ~RemotePreparedModel() override;

  ExecutionResult executeSynchronously(const Request& request,
                                       const ExecuteOptions& options) override;
  Status saveToCache(int modelCache, int dataCache, const Token& token) override;

  const std::shared_ptr<DriverConnection>& connection() const { return connection_; }
  uint64_t id() const { return id_; }

 private:
  Result<ExecutionResult> executeRemotely(const Request& request, const ExecuteOptions& options);

  const std::shared_ptr<DriverConnection> connection_;
  const uint64_t id_;
  const std::shared_ptr<const Model> model_;
  const HalVersion version_;
  ArgumentPacker packer_;
};

}  // namespace halyard::hal
