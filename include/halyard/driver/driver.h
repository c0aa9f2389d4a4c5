// Everything that a driver needs: one include for authors. docs/write_a_driver.md shows its use.
// Thread safety and ownership: as each header says.
#pragma once

#include "halyard/driver/blob_cache.h"
#include "halyard/driver/capabilities_file.h"
#include "halyard/driver/compile_cache.h"
#include "halyard/driver/constants.h"
#include "halyard/driver/deadline.h"
#include "halyard/driver/device.h"
#include "halyard/driver/device_memory.h"
#include "halyard/driver/driver_library.h"
#include "halyard/driver/driver_main.h"
#include "halyard/driver/hal_types.h"
#include "halyard/driver/hardware_buffer.h"
#include "halyard/driver/mapped_request.h"
#include "halyard/driver/model.h"
#include "halyard/driver/model_bytes.h"
#include "halyard/driver/nnapi_types.h"
#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"
#include "halyard/driver/sync_fence.h"
#include "halyard/driver/trace.h"
#include "halyard/driver/unique_fd.h"
