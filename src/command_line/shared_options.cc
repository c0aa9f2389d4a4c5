#include "command_line/shared_options.h"

#include <charconv>
#include <cstdint>

namespace halyard::command_line {

CLI::Option* addAllowFloat16Option(CLI::App& app, bool& allow) {
  return app.add_flag("--allow-fp16", allow,
                      "Float32 may be computed with the range and precision of float16");
}

void refuseEmptyValues(CLI::App& app) {
  const CLI::Validator isNotEmpty(
      [](const std::string& value) {
        return value.empty() ? std::string("the value is empty") : std::string();
      },
      "");
  for (CLI::Option* option : app.get_options({})) {
    if (option->get_type_size() > 0) option->check(isNotEmpty);
  }
  for (CLI::App* command : app.get_subcommands({})) refuseEmptyValues(*command);
}

CLI::Validator isWholeNumber() {
  const auto check = [](const std::string& value) {
    uint64_t number = 0;
    const char* const end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, number);
    if (error == std::errc() && rest == end) return std::string();
    return "'" + value + "', expected a whole number from 0 to " + std::to_string(UINT64_MAX);
  };
  return {check, ""};
}

}  // namespace halyard::command_line
