# SPDX-License-Identifier: GPL-2.0
# Not tried: it was parsed, and never built. `nix-build packaging/nix` builds both; the module for another kernel:
#	nix-build packaging/nix -A module --arg kernel '(import <nixpkgs> { }).linux_latest'
# NixOS keeps what `pamsctl up` would write to /etc:
#	boot.extraModulePackages = [ (import ./packaging/nix { inherit pkgs; kernel = config.boot.kernelPackages.kernel; }).module ];
#	boot.kernelModules = [ "mptcp_pams" ];
#	boot.kernel.sysctl."net.mptcp.scheduler" = "minfct";
{ pkgs ? import <nixpkgs> { }, kernel ? pkgs.linux }:

let
  version = "0.1.0";
  src = pkgs.lib.cleanSource ../..;
  meta = {
    description = "Packet schedulers for Multipath TCP";
    homepage = "https://example.org/mptcp-pams";
    license = pkgs.lib.licenses.gpl2Only;
    platforms = [ "x86_64-linux" "aarch64-linux" ];
  };
in
{
  # The types come out of the kernel's vmlinux, which its -dev output has.
  module = pkgs.stdenv.mkDerivation {
    pname = "mptcp-pams-module";
    inherit version src meta;
    nativeBuildInputs = kernel.moduleBuildDependencies ++ [ pkgs.python3 ];
    hardeningDisable = [ "pic" ];
    makeFlags = [
      "KDIR=${kernel.dev}/lib/modules/${kernel.modDirVersion}/build"
      "BTF=${kernel.dev}/vmlinux"
      "PAMS_VERSION=${version}"
      "PYTHON=python3"
    ];
    installFlags = [ "DESTDIR=$(out)" ];
  };

  # pamsctl, pamsd, pams-predict and pamsplit, and libpams
  tools = pkgs.stdenv.mkDerivation {
    pname = "mptcp-pams";
    inherit version src meta;
    nativeBuildInputs = [ pkgs.pkg-config ];
    buildInputs = with pkgs; [
      dbus expat jansson kmod libbpf libconfuse libevent libmnl libnetfilter_queue libnl libseccomp libsodium ncurses nftables
    ];
    postPatch = ''
      patchShebangs tools
      echo ${version} >VERSION
    '';
    makeFlags = [ "-C" "tools" "WERROR=" "PREFIX=$(out)" ];
    # not for root, and without an /etc
    installFlags = [ "DESTDIR=$(NIX_BUILD_TOP)/stage" ];
    postInstall = ''
      mkdir -p "$out"
      cp -r "$NIX_BUILD_TOP/stage$out/." "$out"
    '';
  };
}
