#include "client/status.h"

#include <halyard/halyard.h>

#include <memory>

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

Result<std::string> devicesJson() {
  HALYARD_RETURN_IF_ERROR(allDevices().takeStatus());
  char* made = nullptr;
  const int code = halyard_devicesJson(&made);
  const std::unique_ptr<char, decltype(&halyard_free)> text(made, &halyard_free);
  if (code == ANEURALNETWORKS_NO_ERROR) return std::string(text.get());
  return Status(static_cast<ResultCode>(code), "the runtime did not list its devices");
}

Result<int64_t> driverProcessId(const ANeuralNetworksDevice* device) {
  int64_t pid = 0;
  HALYARD_RETURN_IF_FAILED(CallResult(halyard_deviceProcessId(device, &pid),
                                      "halyard_deviceProcessId", CallResult::Text::NONE));
  return pid;
}

}  // namespace halyard::client
