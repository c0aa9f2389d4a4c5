#include "command_line/shared_options.h"

namespace halyard::command_line {

CLI::Option* addAllowFloat16Option(CLI::App& app, bool& allow) {
  return app.add_flag("--allow-fp16", allow,
                      "Float32 may be computed with the range and precision of float16");
}

}  // namespace halyard::command_line
