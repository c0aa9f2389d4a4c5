// Graph: a finished model of the C API with its inputs and outputs, from a file or from a Builder.
// Thread safety: immutable; any thread.
// Ownership: owns the objects of the API, and the constants that they refer to.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/canonical_model.h"
#include "client/nnapi.h"
#include "halyard/driver/status.h"
#include "import/tflite/importer.h"

namespace halyard::python {

using Devices = std::vector<const ANeuralNetworksDevice*>;

struct Description {
  std::vector<import::ModelPort> inputs;
  std::vector<import::ModelPort> outputs;
  size_t operationCount = 0;
  // The first values of states, which are the last inputs and the last outputs.
  std::vector<std::vector<uint8_t>> firstValues = {};
};

class Graph {
 public:
  virtual ~Graph() = default;
  const Description& description() const { return description_; }
  // An unfinished compilation for these devices, or for all devices if the list is empty. The graph
  // must outlive it.
  virtual Result<client::Compilation> createCompilation(const Devices& devices) const = 0;
  // Whether the device can run each operation.
  virtual Result<std::vector<bool>> supportedOperations(
      const ANeuralNetworksDevice* device) const = 0;

 protected:
  explicit Graph(Description description) : description_(std::move(description)) {}

 private:
  const Description description_;
};

// The model of a .tflite file. Without `path`, `bytes` are its contents.
struct GraphSource {
  std::string path;
  std::span<const uint8_t> bytes;
  bool keepsOpenDimensions = false;
  std::vector<import::InputShape> shapes = {};
  bool hasStates = false;  // values that the file keeps between executions are inputs and outputs
  bool allowFloat16 = false;  // float32 may be computed as float16
};

// Reads the file, with the operations of Halyard's extension that suit these devices (for all
// devices if the list is empty).
Result<std::shared_ptr<const Graph>> importGraph(const GraphSource& source, const Devices& devices);

// Checks the file, and reads its inputs and outputs, without a look at any device.
Result<Description> describeFile(const GraphSource& source);

}  // namespace halyard::python
