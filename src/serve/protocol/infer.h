// Requests and answers of inference, in the form that all protocols of the server share.
// Thread safety: plain data.
// Ownership: the bytes of an input belong to its message or to the input itself. The message must
// live until the answer comes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "serve/protocol/datatype.h"
#include "serve/protocol/outcome.h"

namespace halyard::serve {

using Clock = std::chrono::steady_clock;

// The description of an input or output; -1 is a variable dimension.
struct TensorInfo {
  std::string name;
  Datatype datatype = Datatype::FP32;
  std::vector<int64_t> shape;
  float scale = 0;  // of quantised values; 0: they are not quantised
  int32_t zeroPoint = 0;
};

// A place in a region of shared memory that takes the place of bytes in the message.
struct RegionPart {
  std::string region;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// It can be moved, but not copied, since `bytes` may refer to `own`.
struct InputTensor {
  InputTensor() = default;
  InputTensor(InputTensor&&) = default;
  InputTensor& operator=(InputTensor&&) = default;

  std::string name;
  Datatype datatype = Datatype::FP32;
  std::vector<int64_t> shape;
  std::span<const uint8_t> bytes;  // little endian, row major; in `own` or in the message
  std::vector<uint8_t> own;        // the values of a JSON array or of a region
  std::optional<RegionPart> region;
};

struct WantedOutput {
  std::string name;
  std::optional<bool> binary;  // nullopt: as the request says
  uint32_t classes = 0;        // more than 0: that many best classes in place of the values
  std::optional<RegionPart> region;
};

struct InferRequest {
  std::string model;
  std::string version;    // empty: the newest one that is ready
  std::string id;         // echoed
  uint32_t priority = 0;  // 1 is the highest; 0 is the model's default
  std::optional<Clock::time_point> deadline;
  std::vector<InputTensor> inputs;
  std::vector<WantedOutput> outputs;  // empty: all, in the model's order
  bool binaryOutputs = false;         // for outputs that do not say
  bool mayComputeHere = true;         // whether the thread that submits it may compute it
  std::string trace;                  // of the client, see traceOf; empty: none
  // Whether its client has gone. Any thread may ask until the answer. Empty: it has not.
  std::function<bool()> isAbandoned;
};

struct OutputTensor {
  std::string name;
  Datatype datatype = Datatype::FP32;
  std::vector<int64_t> shape;
  std::string bytes;  // as in InputTensor; elements of BYTES have a length of 32 bits before them
};

struct InferAnswer {
  Outcome outcome;
  std::string version;                // the version that has computed
  std::vector<OutputTensor> outputs;  // in the order of the request; empty after a failure
};
// Called exactly once for each request, in any thread. It must not block.
using AnswerFunction = std::function<void(InferAnswer)>;

}  // namespace halyard::serve
