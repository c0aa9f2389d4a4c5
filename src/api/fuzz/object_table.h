// ObjectTable: the NNAPI objects that a fuzzed sequence of calls has made, and the objects on which
// each depends.
// Thread safety: one thread.
// Ownership: frees all objects, dependents first. Keeps every buffer that the API got until then.
#pragma once

#include <android/NeuralNetworks.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/testing/byte_source.h"

namespace halyard::api::fuzz {

using halyard::fuzz::ByteSource;

// Ends the process with a text when the API breaks a promise.
[[noreturn]] void fail(const char* what, int code = 0);

// Checks that a call's answer is a ResultCode, and that an error has a text. True for NO_ERROR.
// With HALYARD_FUZZ_ERRORS in the environment, errors are written to standard error.
bool check(int code);

struct ModelObject {
  ANeuralNetworksModel* handle = nullptr;
  std::vector<int32_t> types;                 // of its operands
  std::vector<std::vector<uint32_t>> shapes;  // of its operands
  std::vector<uint32_t> inputs, outputs;      // as identified
  uint32_t operations = 0;
  bool finished = false;
  bool small = true;  // its executions cannot take long, nor much memory
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
  size_t size = 0;  // 0: the memory was made from a descriptor
};

class ObjectTable {
 public:
  ObjectTable() = default;
  ~ObjectTable();
  ObjectTable(const ObjectTable&) = delete;
  ObjectTable& operator=(const ObjectTable&) = delete;

  // An element of a list, chosen by the next byte. Null when the list is empty, and sometimes
  // otherwise.
  template <typename T>
  static T* pick(const std::vector<std::unique_ptr<T>>& list, ByteSource& bytes) {
    const uint8_t choice = bytes.byte();
    if (list.empty() || choice == 0xff) return nullptr;
    return list[choice % list.size()].get();
  }
  // Bytes that live as long as the table. The buffer has exactly this size, so that a sanitizer
  // sees an access beyond it.
  uint8_t* buffer(size_t size);
  // The same, filled from the input.
  uint8_t* buffer(size_t size, ByteSource& bytes);

  // Frees an object and its dependents.
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
  int executed = 0;                                // runs that have succeeded

 private:
  std::vector<std::unique_ptr<uint8_t[]>> buffers_;
};

}  // namespace halyard::api::fuzz
