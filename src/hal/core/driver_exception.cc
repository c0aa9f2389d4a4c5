#include "hal/core/driver_exception.h"

#include <exception>
#include <new>

namespace halyard::hal {

Status statusOfException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, "the driver is out of memory");
  } catch (const std::exception& exception) {
    return opFailed("the driver failed: {}", exception.what());
  } catch (...) {
    return opFailed("the driver failed with an exception of its own kind");
  }
}

}  // namespace halyard::hal
