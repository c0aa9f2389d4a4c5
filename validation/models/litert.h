// LiteRt: LiteRT beside Halyard, for figures to be read side by side. It is the worker of
// bench/peers, a Python process in the environment that HALYARD_PEERS_VENV names. Thread safety:
// none. Ownership: the process ends with the object.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "halyard/driver/unique_fd.h"
#include "import/tflite/importer.h"

namespace halyard::validation {

class LiteRt {
 public:
  // With the model loaded. Null where there is no environment, no worker below `prefix`, or the
  // model is no file. `inputs`: bytes for each of the model's inputs. OP_FAILED with LiteRT's text
  // when it does not take the model.
  static Result<std::unique_ptr<LiteRt>> start(const std::filesystem::path& prefix,
                                               const std::string& model,
                                               const import::ImportedModel& imported,
                                               const std::vector<std::vector<uint8_t>>& inputs);
  ~LiteRt();
  LiteRt(const LiteRt&) = delete;
  LiteRt& operator=(const LiteRt&) = delete;

  // Of executions for so long, with as many threads as there are processors.
  Result<double> medianMilliseconds(double seconds);
  // The best class of each of the inputs that lie behind one another in `bytes`; for models with
  // one input.
  Result<std::vector<size_t>> classes(const std::vector<uint8_t>& bytes);

 private:
  LiteRt() = default;

  Result<std::string> ask(const std::string& command);

  std::filesystem::path folder_;  // for files, and gone with the object
  pid_t pid_ = 0;
  UniqueFd socket_;
  std::string received_;
};

}  // namespace halyard::validation
