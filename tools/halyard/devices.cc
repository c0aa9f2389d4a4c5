// halyard devices: lists the devices of this machine, and the drivers that failed to start.
#include <halyard/halyard.h>

#include <memory>
#include <string>

#include "client/status.h"
#include "tools/halyard/command.h"
#include "tools/halyard/device_table.h"
#include "tools/halyard/terminal.h"

namespace halyard::cli {
namespace {

struct FreeText {
  void operator()(char* text) const { halyard_free(text); }
};

Status showDevices(bool json) {
  // libhalyard reports on the runtime after the first NNAPI call. This call also makes the runtime
  // find the drivers.
  HALYARD_RETURN_IF_ERROR(client::allDevices().takeStatus());
  char* created = nullptr;
  const int code = halyard_devicesJson(&created);
  const std::unique_ptr<char, FreeText> text(created);
  if (code != ANEURALNETWORKS_NO_ERROR) {
    return Status(static_cast<ResultCode>(code), "the runtime did not list its devices");
  }
  if (json) {
    print("{}\n", text.get());
    return okStatus();
  }
  HALYARD_ASSIGN_OR_RETURN(const std::string table, deviceTable(text.get()));
  writeOutput(table);
  return okStatus();
}

}  // namespace

Command addDevicesCommand(CLI::App& parent) {
  auto json = std::make_shared<bool>(false);
  CLI::App* app = parent.add_subcommand("devices", "List the devices and where they come from");
  app->footer(
      "FLOAT32, QUANT8 and RELAXED are the driver's own estimates of execution time / power, as\n"
      "ratios to the reference CPU (smaller is better); RELAXED is for float32 computed as "
      "float16.\n"
      "Drivers are found by their manifests, see HALYARD_DRIVER_FILES and\n"
      "HALYARD_ADD_DRIVER_FILES; those that could not be used are listed with the reason.");
  app->add_flag("--json", *json, "The same as JSON");
  return {app, [json] { return CommandResult{showDevices(*json), false}; }};
}

}  // namespace halyard::cli
