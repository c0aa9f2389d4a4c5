// Status: the outcome of an operation; OK, or an NNAPI result code with a text and its story.
// Thread safety: a Status is a value; one object must not be changed from two threads at once.
// Ownership: pointer-sized; OK is a null pointer, an error owns its text.
//
// An error starts where it is found and gains context on its way up:
//
//   return badData("filter has depth_in {}, input has {}", 3, 4);
//   ...
//   HALYARD_RETURN_IF_ERROR(check(op), "operation #{} {}", index, name);
//
// reads "BAD_DATA: operation #12 CONV_2D: filter has depth_in 3, input has 4".
#pragma once

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "halyard/driver/export.h"

namespace halyard {

// The NNAPI result codes (ANEURALNETWORKS_*), same values.
enum class ResultCode : int {
  NO_ERROR = 0,
  OUT_OF_MEMORY = 1,    // An allocation failed. The caller may free something and try again.
  INCOMPLETE = 2,       // Inside the library only: a value needed is not known yet.
  UNEXPECTED_NULL = 3,  // A pointer argument was null: a bug of the caller.
  BAD_DATA = 4,         // A bad argument, model or request: repeating cannot help.
  OP_FAILED = 5,        // An execution or a driver failed; another device may succeed.
  BAD_STATE = 6,        // The object is in the wrong state for the call: a bug of the caller.
  UNMAPPABLE = 7,       // A file descriptor or hardware buffer cannot be mapped.
  OUTPUT_INSUFFICIENT_SIZE = 8,  // An output buffer is too small; its real shape is reported.
  UNAVAILABLE_DEVICE = 9,        // The driver answers that it cannot serve now.
  MISSED_DEADLINE_TRANSIENT = 10,
  MISSED_DEADLINE_PERSISTENT = 11,
  RESOURCE_EXHAUSTED_TRANSIENT = 12,
  RESOURCE_EXHAUSTED_PERSISTENT = 13,
  DEAD_OBJECT = 14,  // The driver's process ended; the device may come back.
};

// Name without the ANEURALNETWORKS_ prefix; "result code N" for an unknown value.
HALYARD_EXPORT std::string resultCodeName(ResultCode code);

class [[nodiscard]] HALYARD_EXPORT Status {
 public:
  Status() = default;  // OK
  // `code` must not be NO_ERROR.
  Status(ResultCode code, std::string message);
  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  bool ok() const { return rep_ == nullptr; }
  ResultCode code() const { return rep_ ? rep_->code : ResultCode::NO_ERROR; }
  // The whole story without the code: annotations from the outermost in, then the first message.
  std::string message() const;
  // "CODE: message", or "OK".
  std::string toString() const;

  // Adds context in front of the text; does nothing to OK.
  [[gnu::cold]] Status& annotate(std::string context);
  // The same story under another code (for example a driver's BAD_DATA that is the driver's own
  // failure for the application). Does nothing to OK.
  Status withCode(ResultCode code) const;

 private:
  struct Rep {
    ResultCode code;
    std::string text;
  };
  std::unique_ptr<Rep> rep_;
};

inline Status okStatus() { return Status(); }

// Errors are rare: the code that makes one lies apart from the usual path.
template <typename... Args>
[[gnu::cold]] Status makeStatus(ResultCode code, fmt::format_string<Args...> format,
                                Args&&... args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
[[gnu::cold]] Status badData(fmt::format_string<Args...> format, Args&&... args) {
  return Status(ResultCode::BAD_DATA, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
[[gnu::cold]] Status badState(fmt::format_string<Args...> format, Args&&... args) {
  return Status(ResultCode::BAD_STATE, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
[[gnu::cold]] Status opFailed(fmt::format_string<Args...> format, Args&&... args) {
  return Status(ResultCode::OP_FAILED, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
[[gnu::cold]] Status unexpectedNull(fmt::format_string<Args...> format, Args&&... args) {
  return Status(ResultCode::UNEXPECTED_NULL, fmt::format(format, std::forward<Args>(args)...));
}

// "text (errno name and meaning)" for the current value of `error`.
[[gnu::cold]] HALYARD_EXPORT Status errnoStatus(ResultCode code, int error, std::string_view what);

// A T, or the reason for its absence.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  Status takeStatus() { return std::move(status_); }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

namespace internal {
[[gnu::cold]] inline Status annotated(Status status) { return status; }
template <typename... Args>
[[gnu::cold]] Status annotated(Status status, fmt::format_string<Args...> format, Args&&... args) {
  status.annotate(fmt::format(format, std::forward<Args>(args)...));
  return status;
}
}  // namespace internal

}  // namespace halyard

#define HALYARD_CONCAT_INNER(a, b) a##b
#define HALYARD_CONCAT(a, b) HALYARD_CONCAT_INNER(a, b)

// Returns from the function when `expr` (a Status) is an error; the optional format and its
// arguments are added as context, and evaluated only then.
#define HALYARD_RETURN_IF_ERROR(expr, ...)                                                        \
  do {                                                                                            \
    ::halyard::Status halyardStatus = (expr);                                                     \
    if (!halyardStatus.ok()) [[unlikely]]                                                         \
      return ::halyard::internal::annotated(std::move(halyardStatus) __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)

// `lhs` = the value of `expr` (a Result), or return its error with context.
#define HALYARD_ASSIGN_OR_RETURN(lhs, expr, ...) \
  HALYARD_ASSIGN_OR_RETURN_INNER(HALYARD_CONCAT(halyardResult, __LINE__), lhs, expr, __VA_ARGS__)
#define HALYARD_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr, ...)                             \
  auto tmp = (expr);                                                                    \
  if (!tmp.ok()) [[unlikely]]                                                           \
    return ::halyard::internal::annotated(tmp.takeStatus() __VA_OPT__(, ) __VA_ARGS__); \
  lhs = std::move(tmp).value()
