// The options that several programs have, each with one name and one description, and the checks of
// their values.
// Thread safety: pure functions. Ownership: borrows its arguments while the application parses.
#pragma once

#include <CLI/CLI.hpp>

namespace halyard::command_line {

// --allow-fp16 sets `allow`: devices may compute float32 with the range and precision of float16.
CLI::Option* addAllowFloat16Option(CLI::App& app, bool& allow);

// Makes an empty value of any option or argument a misuse, also in the commands of `app`. Call it
// after all options are added.
void refuseEmptyValues(CLI::App& app);

// The check of an option whose value is a whole number from 0 to the largest uint64_t.
CLI::Validator isWholeNumber();

}  // namespace halyard::command_line
