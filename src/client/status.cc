#include "client/status.h"

namespace halyard::client {

Status toStatus(const CallResult& result) {
  if (result.ok()) return okStatus();
  return Status(static_cast<ResultCode>(result.code()), result.text());
}

Result<std::vector<Device>> allDevices() {
  std::vector<Device> devices;
  HALYARD_RETURN_IF_FAILED(listDevices(devices));
  return devices;
}

Result<int64_t> driverProcessId(const ANeuralNetworksDevice* device) {
  int64_t pid = 0;
  HALYARD_RETURN_IF_FAILED(CallResult(halyard_deviceProcessId(device, &pid),
                                      "halyard_deviceProcessId", CallResult::Text::NONE));
  return pid;
}

}  // namespace halyard::client
