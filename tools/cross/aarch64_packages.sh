#!/usr/bin/env bash
# aarch64_packages.sh FOLDER: unpacks the arm64 packages that the project links into FOLDER, for
# cmake --preset aarch64. It needs no root, and does not change the system's packages and apt lists:
# apt works with separate lists from the system's sources. Quick when the folder has the packages
# already.
set -euo pipefail
[ $# = 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
folder=$1

# Headers, static and shared libraries. The C library and the compiler's libraries come with
# g++-aarch64-linux-gnu.
packages=(
  libcapnp-dev libcapnp-0.9.2 libssl-dev libssl3  # Cap'n Proto's CMake package asks for OpenSSL
  libseccomp-dev libseccomp2
  libsqlite3-dev libsqlite3-0 nettle-dev libnettle8
  libflatbuffers-dev libflatbuffers2
  libfmt-dev libfmt9 zlib1g-dev zlib1g
  nlohmann-json3-dev libcli11-dev libstb-dev
  libgtest-dev libgmock-dev
)
wanted="${packages[*]}"
if [ -f "$folder/.packages" ] && [ "$(cat "$folder/.packages")" = "$wanted" ]; then
  echo "aarch64_packages: $folder has all ${#packages[@]} packages"
  exit 0
fi

rm -rf "$folder"
mkdir -p "$folder/apt/state/lists/partial" "$folder/apt/cache/archives/partial" "$folder/apt/packages"
folder=$(cd "$folder" && pwd)
touch "$folder/apt/state/status"
cat >"$folder/apt/apt.conf" <<CONF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Acquire::Languages "none";
Dir::State "$folder/apt/state";
Dir::State::status "$folder/apt/state/status";
Dir::Cache "$folder/apt/cache";
CONF
export APT_CONFIG=$folder/apt/apt.conf
apt-get update -qq
(cd "$folder/apt/packages" && apt-get download -qq "${packages[@]}")
for package in "$folder"/apt/packages/*.deb; do dpkg-deb -x "$package" "$folder"; done
rm -rf "$folder/apt"
find "$folder" -type l -lname '/*' -printf '%p %l\n' | while read -r link target; do
  ln -sfn "$folder$target" "$link"
done

# CMake packages name the schema compiler beside their libraries; this machine's compiler must run.
mkdir -p "$folder/usr/bin"
for tool in capnp capnpc-c++ capnpc-capnp; do ln -sf "$(command -v "$tool")" "$folder/usr/bin/"; done
echo "$wanted" >"$folder/.packages"
echo "aarch64_packages: ${#packages[@]} packages in $folder"
