#include "errors.h"

#include <nanobind/stl/string.h>

namespace halyard::python {
namespace nb = nanobind;

void raise(const Status& status) {
  const nb::object error =
      nb::module_::import_("halyard._errors")
          .attr("error_for")(static_cast<int>(status.code()), status.message());
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

}  // namespace halyard::python
