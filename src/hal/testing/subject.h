// Subject: a driver as a caller of one HAL version meets it, in this process or over RPC; for tests
// of what the HAL's tables say.
// Thread safety: one thread. Ownership: owns its driver and what it has prepared.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hal/types.capnp.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal::testing {

// Values as on the wire: ErrorStatus of HAL 1.3.
using Code = wire::ErrorStatus;

// A change of the message itself, for what no C++ object can say.
using ModelEdit = std::function<void(wire::Model::Builder)>;
using RequestEdit = std::function<void(wire::Request::Builder)>;

// What prepareModel came to. Without a launch of its own, `launch` is `callback`.
struct Preparation {
  Code launch = Code::NONE;
  std::optional<Code> callback;  // nullopt: it was not called
  bool hasModel = false;
  std::string message;
};
struct SupportedAnswer {
  Code status = Code::NONE;
  size_t values = 0;
  std::string message;
};
struct ExecutionAnswer {
  Code launch = Code::NONE;  // as in Preparation
  Code status = Code::NONE;
  std::vector<OutputShape> shapes;
  Timing timing;
  std::string message;
};
enum class Path : uint8_t { ASYNCHRONOUS, SYNCHRONOUS };

class Subject {
 public:
  virtual ~Subject() = default;

  // "HAL 1.1 method of a HAL 1.3 driver over RPC".
  virtual std::string name() const = 0;
  // Of the methods that are called.
  virtual HalVersion version() const = 0;
  // Whether messages can be edited.
  virtual bool onTheWire() const = 0;
  // Whether a model that is newer than `version` is adapted before the driver sees it.
  virtual bool adapts() const = 0;
  // The ways that the version has to execute.
  virtual std::vector<Path> paths() const = 0;

  virtual SupportedAnswer supported(const Model& model, const ModelEdit& edit) = 0;
  // Numbers may be none of the enum's. The model that comes of it is what `execute` runs.
  virtual Preparation prepare(const Model& model, int preference, int priority,
                              std::optional<TimePoint> deadline, const ModelEdit& edit) = 0;
  Preparation prepare(const Model& model, const ModelEdit& edit = nullptr) {
    return prepare(model, 1, 1, std::nullopt, edit);
  }
  virtual ExecutionAnswer execute(Path path, const Request& request, const ExecuteOptions& options,
                                  const RequestEdit& edit) = 0;
};

// Every sort of driver, with every HAL version: the class in this process, a driver of the version
// and one of HAL 1.3 over RPC with calls made by hand, and a RemoteDevice with a driver's process.
// All are TestDevices.
const std::vector<std::unique_ptr<Subject>>& allSubjects();

}  // namespace halyard::hal::testing
