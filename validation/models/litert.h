// LiteRt: runs a model in LiteRT, so that its figures can be read beside Halyard's. It uses the
// worker of bench/peers, a Python process in the environment that HALYARD_PEERS_VENV names.
// Thread safety: one thread.
// Ownership: the process ends with the object.
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
  // Starts the worker and loads the model. Null without an environment, without a worker below
  // `prefix`, or if the model is not a file. `inputs`: bytes for each of the model's inputs.
  // OP_FAILED with LiteRT's text when it does not take the model.
  static Result<std::unique_ptr<LiteRt>> start(const std::filesystem::path& prefix,
                                               const std::string& model,
                                               const import::ImportedModel& imported,
                                               const std::vector<std::vector<uint8_t>>& inputs);
  ~LiteRt();
  LiteRt(const LiteRt&) = delete;
  LiteRt& operator=(const LiteRt&) = delete;

  // The median time of executions during `seconds`, with as many threads as there are processors.
  Result<double> medianMilliseconds(double seconds);
  // The best class of each input, for models with one input. `bytes` contains the inputs one after
  // the other.
  Result<std::vector<size_t>> classes(const std::vector<uint8_t>& bytes);

 private:
  LiteRt() = default;

  Result<std::string> ask(const std::string& command);

  std::filesystem::path folder_;  // for files; removed with the object
  pid_t pid_ = 0;
  UniqueFd socket_;
  std::string received_;
};

}  // namespace halyard::validation
