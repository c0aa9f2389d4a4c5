// The table of Vulkan's functions.
#define VOLK_IMPLEMENTATION
#include "device/volk.h"
