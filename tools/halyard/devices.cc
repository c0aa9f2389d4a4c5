// halyard devices: lists the devices of this machine, and the drivers that failed to start.
#include <memory>
#include <string>

#include "client/status.h"
#include "tools/halyard/command.h"
#include "tools/halyard/device_table.h"
#include "tools/halyard/terminal.h"

namespace halyard::cli {
namespace {

Status showDevices(bool json) {
  HALYARD_ASSIGN_OR_RETURN(const std::string document, client::devicesJson());
  if (json) {
    print("{}\n", document);
    return okStatus();
  }
  HALYARD_ASSIGN_OR_RETURN(const std::string table, deviceTable(document));
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
