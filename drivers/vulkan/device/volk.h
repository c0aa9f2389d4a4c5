// Vulkan's functions, found at run time, so that the driver starts without a Vulkan library.
// Thread safety: as Vulkan. Ownership: none.
#pragma once

#define VK_NO_PROTOTYPES
#include <volk.h>
