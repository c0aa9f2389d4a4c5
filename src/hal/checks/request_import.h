// Imports a request from another process for the driver: checks it, and makes computing with it
// safe.
// Thread safety: one thread uses an ImportedRequest.
// Ownership: owns private copies of arguments; its request points to them.
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "hal/checks/pool_mapping.h"
#include "hal/core/quota.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// The decoded form of the wire: arguments of Kind::POOL or NO_VALUE, without pools; nothing is
// checked.
struct DecodedRequest {
  Request request;
  // One per pool: the index among the received memories, or the token of a buffer.
  struct Token {
    uint32_t token;
  };
  std::vector<std::variant<size_t, Token>> pools;
  // The sender's charge for the memory; kept as long as the imported request.
  Quota::Charge memory;
  Quota::Charge descriptors;
};
// Charges `quota` for the decoded request, before the request waits for a thread. The import adds
// the memory that it copies.
Status chargeRequest(Quota& quota, DecodedRequest& decoded,
                     const std::vector<PoolDescription>& memories);

class ImportedRequest {
 public:
  // Returns BAD_DATA when the request does not match the model. `version`: the version of the
  // calling method. Tokens stay unchanged: the session knows whether they belong to buffers. The
  // driver may trust the result. Inputs small enough to be parameters, unaligned arguments, and
  // arguments in files that could shrink are in private memory.
  static Result<ImportedRequest> create(const Model& model, DecodedRequest decoded,
                                        std::vector<PoolDescription> memories, HalVersion version);
  // The same in two steps, for inputs that are not ready yet. bind checks everything, but reads
  // nothing. load is called once, before the execution.
  static Result<ImportedRequest> bind(const Model& model, DecodedRequest decoded,
                                      std::vector<PoolDescription> memories, HalVersion version);
  Status load(const Model& model);

  // The same for a request with open pools, one for each. Only the tokens in its own list of pools
  // are used, where `pools` has none. `memory`: grows with each copied byte.
  static Result<ImportedRequest> createFromPools(const Model& model, Request request,
                                                 std::vector<std::optional<ReceivedPool>> pools,
                                                 HalVersion version, Quota::Charge memory = {});
  // Called before a repetition of the request. Reads its private inputs from their pools again.
  Status repeat();

  const Request& request() const { return request_; }
  // Called after an execution with `result`. Copies outputs from private memory to their pools.
  // Adds the bytes that the import has copied for the execution to `result`.
  Status writeBack(const Model& model, ExecutionResult& result) const;

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  using Buffer = std::unique_ptr<uint8_t, Free>;
  struct PrivateArgument {
    size_t index;  // index among the inputs or outputs
    size_t pool;   // index in pools_
    uint64_t offset;
  };

  Status check(const Model& model, HalVersion version);
  Status bindPools(DecodedRequest& decoded, std::vector<PoolDescription> memories);
  Status checkAccess(RequestArgument& argument, bool isOutput) const;
  Status privatise(const Operand& operand, RequestArgument& argument, bool isOutput, size_t index);
  Result<uint8_t*> allocate(uint64_t size);
  void dropUnusedPools();

  Request request_;
  std::vector<std::optional<ReceivedPool>> pools_;  // in the order of the request; none for a token
  std::vector<Buffer> buffers_;
  std::vector<PrivateArgument> privateInputs_;
  std::vector<PrivateArgument> privateOutputs_;
  uint64_t allocated_ = 0;
  Quota::Charge memory_;
  Quota::Charge descriptors_;
};

// Returns the number of bytes of an output that an execution has written. It uses the reported
// shape, else the shape of the request or the model, and never exceeds the buffer.
size_t writtenBytes(const Operand& operand, const RequestArgument& argument,
                    const OutputShape* shape);

}  // namespace halyard::hal
