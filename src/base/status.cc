#include "halyard/driver/status.h"

#include <cstring>

namespace halyard {

std::string resultCodeName(ResultCode code) {
  switch (code) {
    case ResultCode::NO_ERROR:
      return "NO_ERROR";
    case ResultCode::OUT_OF_MEMORY:
      return "OUT_OF_MEMORY";
    case ResultCode::INCOMPLETE:
      return "INCOMPLETE";
    case ResultCode::UNEXPECTED_NULL:
      return "UNEXPECTED_NULL";
    case ResultCode::BAD_DATA:
      return "BAD_DATA";
    case ResultCode::OP_FAILED:
      return "OP_FAILED";
    case ResultCode::BAD_STATE:
      return "BAD_STATE";
    case ResultCode::UNMAPPABLE:
      return "UNMAPPABLE";
    case ResultCode::OUTPUT_INSUFFICIENT_SIZE:
      return "OUTPUT_INSUFFICIENT_SIZE";
    case ResultCode::UNAVAILABLE_DEVICE:
      return "UNAVAILABLE_DEVICE";
    case ResultCode::MISSED_DEADLINE_TRANSIENT:
      return "MISSED_DEADLINE_TRANSIENT";
    case ResultCode::MISSED_DEADLINE_PERSISTENT:
      return "MISSED_DEADLINE_PERSISTENT";
    case ResultCode::RESOURCE_EXHAUSTED_TRANSIENT:
      return "RESOURCE_EXHAUSTED_TRANSIENT";
    case ResultCode::RESOURCE_EXHAUSTED_PERSISTENT:
      return "RESOURCE_EXHAUSTED_PERSISTENT";
    case ResultCode::DEAD_OBJECT:
      return "DEAD_OBJECT";
  }
  return fmt::format("result code {}", static_cast<int>(code));
}

Status::Status(ResultCode code, std::string message)
    : rep_(std::make_unique<Rep>(Rep{code, std::move(message)})) {}

Status::Status(const Status& other)
    : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) rep_ = other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr;
  return *this;
}

std::string Status::message() const { return rep_ ? rep_->text : std::string(); }

std::string Status::toString() const {
  return rep_ ? resultCodeName(rep_->code) + ": " + rep_->text : std::string("OK");
}

Status& Status::annotate(std::string context) {
  if (rep_) rep_->text = std::move(context) + ": " + rep_->text;
  return *this;
}

Status Status::withCode(ResultCode code) const {
  return rep_ ? Status(code, rep_->text) : Status();
}

Status errnoStatus(ResultCode code, int error, std::string_view what) {
  char buffer[128];
  // The GNU version of the function returns the text, which may or may not be in `buffer`.
  return makeStatus(code, "{}: {} (errno {})", what, strerror_r(error, buffer, sizeof(buffer)),
                    error);
}

}  // namespace halyard
