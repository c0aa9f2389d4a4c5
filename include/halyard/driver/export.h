// HALYARD_EXPORT: marks what libhalyard_driver has for drivers; everything else in it is hidden.
// Thread safety, ownership: nothing to say of a macro.
#pragma once

#define HALYARD_EXPORT [[gnu::visibility("default")]]
