// The options that several programs have, each with one name and one description.
// Thread safety: pure functions. Ownership: borrows its arguments while the application parses.
#pragma once

#include <CLI/CLI.hpp>

namespace halyard::command_line {

// --allow-fp16 sets `allow`: devices may compute float32 with the range and precision of float16.
CLI::Option* addAllowFloat16Option(CLI::App& app, bool& allow);

}  // namespace halyard::command_line
