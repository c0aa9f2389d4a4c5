# Halyard's own addition to the NN HAL: the first object of a connection to a driver's process.
@0xf9455f414b199165;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("halyard::wire_schema_1");
using T = import "types.capnp";
using V10 = import "v1_0.capnp";

interface IDriver {
  # On Android the service manager hands out devices; here the connection does.
  hello @0 (protocolVersion :UInt32) -> (status :T.ErrorStatus, message :Text,
                                         protocolVersion :UInt32, processId :Int64,
                                         halVersion :UInt16, device :V10.IDevice);
  # `halVersion`: 10 to 13 for HAL 1.0 to 1.3, the newest interface to which `device` may be cast.
  # A caller with another protocol version is answered `generalFailure` and no device.
}
