// ObjectTable: the NNAPI objects of a fuzzed sequence of calls, with their dependencies.
// Thread safety: one thread at a time.
// Ownership: frees all objects, each one before the objects on which it depends. It keeps all
// buffers that were passed to the API until then.
#pragma once

#include <android/NeuralNetworks.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/testing/byte_source.h"

namespace halyard::api::fuzz {

using halyard::fuzz::ByteSource;

// Ends the process with a text, because the API has broken a rule.
[[noreturn]] void fail(const char* what, int code = 0);

// Checks the code that a call has returned: it must be a ResultCode, and an error must have a text.
// True for NO_ERROR. With HALYARD_FUZZ_ERRORS in the environment, errors are written to standard
// error.
bool check(int code);

struct ModelObject {
  ANeuralNetworksModel* handle = nullptr;
  std::vector<int32_t> types;                 // of the operands
  std::vector<std::vector<uint32_t>> shapes;  // of the operands
  std::vector<uint32_t> inputs, outputs;      // as in identifyInputsAndOutputs
  uint32_t operations = 0;
  bool finished = false;
  bool small = true;  // its executions take little time and memory
};

struct CompilationObject {
  ANeuralNetworksCompilation* handle = nullptr;
  const ModelObject* model = nullptr;
  bool forOneDevice = false;
};

struct ExecutionObject {
  ANeuralNetworksExecution* handle = nullptr;
  const CompilationObject* compilation = nullptr;
  std::vector<ANeuralNetworksEvent*> events;  // of its runs
};

struct BurstObject {
  ANeuralNetworksBurst* handle = nullptr;
  const CompilationObject* compilation = nullptr;
};

struct MemoryObject {
  ANeuralNetworksMemory* handle = nullptr;
  size_t size = 0;  // 0: made from a descriptor
};

class ObjectTable {
 public:
  ObjectTable() = default;
  ~ObjectTable();
  ObjectTable(const ObjectTable&) = delete;
  ObjectTable& operator=(const ObjectTable&) = delete;

  // An element of the list, chosen by the next byte. Null if the list is empty, and for the byte
  // 0xff.
  template <typename T>
  static T* pick(const std::vector<std::unique_ptr<T>>& list, ByteSource& bytes) {
    const uint8_t choice = bytes.byte();
    if (list.empty() || choice == 0xff) return nullptr;
    return list[choice % list.size()].get();
  }
  // Bytes that exist as long as the table. A sanitizer detects accesses beyond `size` bytes.
  uint8_t* buffer(size_t size);
  // The same, filled from the input.
  uint8_t* buffer(size_t size, ByteSource& bytes);

  // Each frees an object and the objects that depend on it.
  void drop(const ExecutionObject* execution);
  void drop(const BurstObject* burst);
  void drop(const CompilationObject* compilation);

  std::vector<std::unique_ptr<ModelObject>> models;
  std::vector<std::unique_ptr<CompilationObject>> compilations;
  std::vector<std::unique_ptr<ExecutionObject>> executions;
  std::vector<std::unique_ptr<BurstObject>> bursts;
  std::vector<std::unique_ptr<MemoryObject>> memories;
  std::vector<ANeuralNetworksMemoryDesc*> descriptors;
  std::vector<ANeuralNetworksEvent*> looseEvents;  // of fences, not of executions
  int executed = 0;                                // successful runs

 private:
  std::vector<std::unique_ptr<uint8_t[]>> buffers_;
};

}  // namespace halyard::api::fuzz
