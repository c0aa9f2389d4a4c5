// Helpers of the checks of the C API: the process's devices, and models of a sum.
// Thread safety: one thread.
// Ownership: handles free their objects; models borrow nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/nnapi.h"
#include "client/sum_model.h"
#include "halyard/driver/unique_fd.h"
#include "validation/kit/check.h"
#include "validation/kit/target.h"

namespace halyard::validation {

using client::Dims;

// OP_FAILED unless `actual` is `expected`. Also OP_FAILED for an error without a text.
Status expectCode(int actual, int expected, std::string_view call);

#define HALYARD_EXPECT_CODE(call, code) \
  HALYARD_RETURN_IF_ERROR(::halyard::validation::expectCode((call), (code), #call))
#define HALYARD_EXPECT_OK(call) HALYARD_EXPECT_CODE(call, ANEURALNETWORKS_NO_ERROR)
#define HALYARD_EXPECT(condition) \
  if (!(condition)) return ::halyard::opFailed("expected {}", #condition)

// The devices of this process. One of them is under test.
class ApiWorld {
 public:
  // The world of the process. The first call decides which drivers the process has.
  static Result<ApiWorld*> of(Target& target);

  const ANeuralNetworksDevice* device() const { return device_; }
  const ANeuralNetworksDevice* cpu() const { return cpu_; }
  // The feature level of the device.
  int64_t level() const { return level_; }
  bool isCpu() const { return device_ == cpu_; }
  // The type of tensors that the device adds: float32, otherwise unsigned 8 bits of scale 1. INT32
  // when it adds neither.
  int32_t sumType() const { return sumType_; }
  size_t elementSize() const { return sumType_ == ANEURALNETWORKS_TENSOR_FLOAT32 ? 4 : 1; }
  // Values as elements of the sum's type.
  std::vector<uint8_t> elements(std::initializer_list<int> values) const;
  std::vector<uint8_t> elements(size_t count, int value) const;

  // An operand of the sum's type.
  ANeuralNetworksOperandType tensor(const Dims& dims) const;
  // The finished model out = a + b. Sizes may be open.
  Result<client::Model> sum(const Dims& a, const Dims& b, const Dims& out) const;
  // Whether the device takes all operations of a finished model. `operations`: their number.
  Result<bool> takes(const client::Model& model, size_t operations) const;
  // The finished compilation for the device alone.
  Result<client::Compilation> compile(const client::Model& model) const;

 private:
  Result<bool> adds(int32_t type);

  const ANeuralNetworksDevice* device_ = nullptr;
  const ANeuralNetworksDevice* cpu_ = nullptr;
  int64_t level_ = 0;
  int32_t sumType_ = ANEURALNETWORKS_INT32;
};

// A sum of two tensors, compiled.
struct CompiledSum {
  client::Model model;
  client::Compilation compilation;

  static Result<CompiledSum> make(const ApiWorld& world, const Dims& dims = {4});
  Result<client::Execution> execution() const;
};

// The result of a check that needs a newer HAL than the device's.
CheckResult tooOld(std::string_view hal);

// A memory of a file without a name.
inline constexpr size_t kFileMemorySize = 4096;
struct FileMemory {
  UniqueFd fd;
  client::Memory memory;

  static Result<FileMemory> make(size_t size = kFileMemorySize);
  Status write(const std::vector<uint8_t>& bytes, size_t at) const;
  Result<std::vector<uint8_t>> read(size_t size, size_t at) const;
};

Result<client::Model> newModel();

// Collects the checks of the area.
class ApiChecks {
 public:
  using Run = std::function<CheckResult(ApiWorld&)>;
  explicit ApiChecks(bool full) : full_(full) {}

  bool full() const { return full_; }
  // Adds a check that needs no operation of the device.
  Check& addAny(std::string name, std::string what, Run run);
  // Adds a check that needs a device with ADD. Other devices skip it.
  Check& add(std::string name, std::string what, Run run);
  std::vector<Check> take() { return std::move(checks_); }

 private:
  const bool full_;
  std::vector<Check> checks_;
};

void listIntrospectionChecks(ApiChecks& checks);
void listMisuseChecks(ApiChecks& checks);
void listDimensionChecks(ApiChecks& checks);
void listUnspecifiedChecks(ApiChecks& checks);
void listDefaultArgumentChecks(ApiChecks& checks);
void listExecutionChecks(ApiChecks& checks);
void listModelChecks(ApiChecks& checks);
void listOperationChecks(ApiChecks& checks);
void listMemoryChecks(ApiChecks& checks);
void listCompilationChecks(ApiChecks& checks);

}  // namespace halyard::validation
