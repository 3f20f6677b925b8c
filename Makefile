# SPDX-License-Identifier: GPL-2.0
# mptcp_pams: packet schedulers for Multipath TCP.
#
# The module is built outside the source tree, in build/RELEASE, so that
# several kernels can be built for side by side.

ifneq ($(words $(CURDIR)),1)
$(error this folder's path has a space in it, which the kernel's build cannot read: move it)
endif

RUNNING := $(shell uname -r)
KDIR ?= /lib/modules/$(RUNNING)/build
PYTHON ?= /usr/bin/python3
KVER ?= 6.12
# a user's PATH lacks what debootstrap, modinfo and depmod are in
export PATH := $(PATH):/usr/sbin:/sbin
# W=1 and C=2 go through to the kernel's build

RELEASE := $(shell cat '$(KDIR)/include/config/kernel.release' 2>/dev/null)
OUT ?= build/$(or $(RELEASE),none)
SOURCES := Kbuild $(wildcard net/mptcp_pams/*.[ch] net/mptcp_pams/Kbuild) \
	   $(shell find include -name '*.h')
COPIES := $(addprefix $(OUT)/,$(SOURCES))
LAYOUT := $(OUT)/net/mptcp_pams/mptcp_layout.h
DESTDIR ?=
AS_ROOT := $(if $(DESTDIR),,$(if $(filter-out 0,$(shell id -u)),sudo))
# What modinfo says.
PAMS_VERSION ?= $(or $(shell sh tools/version 2>/dev/null),unknown)

# A kernel that exports the scheduler's symbols is linked with directly.
EXPORTED := $(shell grep -sqw mptcp_register_scheduler \
	      '$(KDIR)/Module.symvers' && echo -DPAMS_SYMBOLS_EXPORTED)

# One that takes struct_ops of modules takes schedulers in BPF.
STRUCT_OPS := $(shell grep -sqw __register_bpf_struct_ops \
		'$(KDIR)/Module.symvers' && echo -DPAMS_STRUCT_OPS)

# They need the module's BTF, which the kernel's build makes with pahole; where its vmlinux is but pahole isn't, it would fail.
NO_BTF := $(if $(shell command -v '$(or $(PAHOLE),pahole)' 2>/dev/null),,CONFIG_DEBUG_INFO_BTF_MODULES=)

KBUILD_ARGS = -C '$(KDIR)' M='$(abspath $(OUT))' PAMS_VERSION='$(PAMS_VERSION)' $(NO_BTF) \
	      PAMS_CFLAGS='-I$(abspath $(OUT))/include $(EXPORTED) $(STRUCT_OPS)'

.PHONY: module
module: $(OUT)/mptcp_pams.ko

$(OUT)/mptcp_pams.ko: $(LAYOUT) $(COPIES) $(OUT)/kernel
	@$(MAKE) --no-print-directory $(KBUILD_ARGS) modules
	@cp $(OUT)/net/mptcp_pams/mptcp_pams.ko $@
	@[ -z '$(STRUCT_OPS)' ] || readelf -SW $@ | grep -q ' \.BTF ' || \
		echo "mptcp_pams is built without BTF, which schedulers in BPF need: it takes pahole, and the vmlinux of the kernel's headers" >&2

# A module in the folder BESIDE that includes our headers, for tests.
.PHONY: beside
beside: module
	@$(MAKE) --no-print-directory -C '$(KDIR)' M='$(abspath $(BESIDE))' \
		KCFLAGS='-I$(abspath $(OUT))/include -I$(abspath $(OUT))/net/mptcp_pams' modules

$(OUT)/%: %
	@mkdir -p $(@D)
	@cp $< $@

$(LAYOUT): $(wildcard tools/layout/*.py tools/layout/fields.toml) \
	   $(wildcard $(KDIR)/vmlinux $(KDIR)/.config) $(wildcard $(BTF)) \
	   $(OUT)/kernel $(if $(BTF)$(MPTCP_SRC),$(OUT)/types)
	@$(PYTHON) tools/layout/layout.py --kdir '$(KDIR)' \
		$(if $(BTF),--btf '$(BTF)') \
		$(if $(MPTCP_SRC),--mptcp-src '$(MPTCP_SRC)') -o $@

$(COPIES): | $(LAYOUT)

# What the module was built for and with. If that changes it is built anew; if neither BTF nor
# MPTCP_SRC is given, as with `make install`, what was given before holds.
$(OUT)/kernel: WHAT = $(KDIR) $(EXPORTED) $(STRUCT_OPS)
$(OUT)/types: WHAT = $(BTF) $(MPTCP_SRC)
$(OUT)/kernel $(OUT)/types: FORCE
	@mkdir -p $(@D)
	@echo '$(WHAT)' | cmp -s - $@ || { rm -f $(OUT)/net/mptcp_pams/*.o; echo '$(WHAT)' >$@; }

.PHONY: FORCE
FORCE:

# What the build for later kernels needs of the source of one without BTF.
.PHONY: keep
keep:
	$(if $(MPTCP_SRC),,$(error what is to be kept? Give the kernel's full source with MPTCP_SRC=DIR))
	@$(AS_ROOT) $(PYTHON) -B tools/layout/layout.py --kdir '$(KDIR)' --mptcp-src '$(MPTCP_SRC)' --keep -o /dev/null

.PHONY: all
all: module tools

# Where the module is, or would be; without headers, that of the running kernel.
ifneq ($(RELEASE)$(filter file,$(origin KDIR)),)
INSTALLED := $(DESTDIR)/lib/modules/$(or $(RELEASE),$(RUNNING))
endif

# The debug information, most of the file, stays in build/.
.PHONY: install
install: module
	@! ls '$(INSTALLED)'/updates/dkms/mptcp_pams.ko* 2>/dev/null || { \
		echo 'dkms has installed this one, which depmod may prefer: first apt remove mptcp-pams-dkms, or dkms remove' >&2; exit 1; }
	$(CROSS_COMPILE)strip --strip-debug -o $(OUT)/mptcp_pams.ko.stripped $(OUT)/mptcp_pams.ko
	$(AS_ROOT) install -D -m 644 $(OUT)/mptcp_pams.ko.stripped \
		'$(INSTALLED)/updates/mptcp_pams.ko'
	$(if $(DESTDIR),,$(AS_ROOT) depmod $(RELEASE))

.PHONY: uninstall
uninstall:
	$(if $(INSTALLED),,$(error $(KDIR) holds no configured kernel: whose module is to go?))
	@if [ -e '$(INSTALLED)/updates/mptcp_pams.ko' ]; then \
		$(AS_ROOT) rm -fv '$(INSTALLED)/updates/mptcp_pams.ko'; \
		[ -n '$(DESTDIR)' ] || $(AS_ROOT) depmod '$(notdir $(INSTALLED))'; \
	else \
		echo "no mptcp_pams.ko in $(INSTALLED)/updates: nothing to do"; \
	fi

# The programs, into build/tools.
.PHONY: tools
tools:
	@$(MAKE) --no-print-directory -C tools

.PHONY: install-tools
install-tools: tools
	@$(MAKE) --no-print-directory -C tools install

.PHONY: uninstall-tools
uninstall-tools:
	@$(MAKE) --no-print-directory -C tools uninstall

# What follows, but for selftests and clean, installs the Debian packages it lacks and says so.

.PHONY: demo
demo:
	@echo 'demo: the first time some 15 minutes, and 2.2 GB in ~/.cache/mptcp-pams, which "rm -rf" takes away again'
	@tools/setup.sh demo
	@tools/lab/lab demo

.PHONY: check
check:
	@tools/setup.sh um stock cross tools check
	@$(PYTHON) selftests/check

# The Debian packages, for the release that this machine runs, and their tests.
.PHONY: deb
deb:
	@$(if $(SUITE),packaging/deb --check-only $(SUITE))
	@$(if $(PUBLISH),packaging/publisher check)
	@tools/setup.sh package
	@DEB_OUT=build/deb packaging/deb $(SUITE)

# A signed apt repository of them, in build/apt.
.PHONY: apt-repo
apt-repo:
	$(if $(and $(SUITE),$(KEY)),,$(error which release, and signed by whom? Give SUITE=trixie KEY=ID))
	@packaging/publisher check
	@tools/setup.sh package apt-repo
	@DEB_OUT=build/deb packaging/deb $(SUITE)
	@packaging/apt-repo $(SUITE) '$(KEY)' build/deb build/apt

.PHONY: package-check
package-check:
	@selftests/package/run --check-only $(ROOTS)
	@tools/setup.sh package-check apt-repo stock
	@selftests/package/run $(ROOTS)

# In a fresh Debian and a user's closed home; what STAGES doesn't name is left out.
.PHONY: fresh-check
fresh-check:
	@tools/setup.sh package
	@selftests/fresh $(STAGES)

.PHONY: check-all
check-all:
	@tools/setup.sh um stock cross tools check
	@$(PYTHON) selftests/check --all
	@selftests/matrix write

# KVER=6.12 ARCH=arm64, or KVER=rpi, KVER=debug
VM_KERNEL = $(KVER)$(addprefix -,$(filter-out amd64,$(ARCH)))
.PHONY: vm-check
vm-check:
	@selftests/vm/run --check-only '$(VM_KERNEL)' $(TESTS)
	@tools/setup.sh $(if $(filter 6.12 7 %-generic %-rt,$(VM_KERNEL)),stock,cross)
	@$(if $(TESTS),,MATRIX=vm-check )selftests/vm/run '$(VM_KERNEL)' $(TESTS)
	@selftests/matrix write

.PHONY: upstream-check
upstream-check:
	@tools/setup.sh um upstream
	@selftests/upstream/run $(TESTS)

.PHONY: debug-check
debug-check:
	@selftests/vm/run --check-only um-debug $(TESTS)
	@tools/setup.sh um tools
	@$(MAKE) --no-print-directory tools
	@selftests/vm/run um-debug $(TESTS)

.PHONY: selftests
selftests:
	@$(MAKE) --no-print-directory -C selftests/mptcp_pams run_tests TESTS='$(TESTS)'

.PHONY: unit
unit:
	@tools/setup.sh unit
	@$(PYTHON) selftests/check unit

.PHONY: style
style:
	@tools/setup.sh um stock tools check
	@$(PYTHON) selftests/check style

.PHONY: bench
bench:
	@tools/setup.sh um tools
	@tools/lab/lab bench

# For clangd: how each file was compiled, in the newest build.
.PHONY: compile-commands
compile-commands:
	@tools/compile-commands

.PHONY: clean
clean:
	rm -rf build compile_commands.json

.PHONY: help
help:
	@echo 'make                module for the running kernel; KDIR=DIR for another one,'
	@echo '                    ARCH=um for a user-mode kernel, MPTCP_SRC=DIR where there is no BTF,'
	@echo '                    BTF=FILE where it lies elsewhere'
	@echo 'make keep           as root, with MPTCP_SRC=DIR: keep of that source what later kernels of the kind need'
	@echo 'make install        put it under /lib/modules (make uninstall takes it away); DESTDIR=DIR for a package'
	@echo 'make tools          the programs pamsctl, pamsd, pams-predict and pamsplit, in build/tools (make install-tools, uninstall-tools)'
	@echo 'make all            the module and the programs'
	@echo 'make deb            Debian packages of both, in build/deb; SUITE=bookworm, trixie or sid for another release;'
	@echo '                    PUBLISH=1 refuses if packaging/publisher is not filled in'
	@echo 'make apt-repo       a signed apt repository of them, in build/apt; SUITE=trixie KEY=ID'
	@echo 'make package-check  install, use, upgrade and remove them in fresh roots; ROOTS="bookworm trixie sid arm64"'
	@echo 'make demo           default against pams and minfct over two paths, as a table and pictures'
	@echo 'make check          the stages that "selftests/check --list" shows without --all; ends with N passed, N failed'
	@echo 'make fresh-check    make demo and make check as a user with a home of mode 0700 in a fresh Debian 13; STAGES="demo style pamsd" for some'
	@echo 'make check-all      that, and for hours more schedulers, recipes and kernels, debug kernels too'
	@echo 'make selftests      the selftests on this machine, as root, with the module loaded, installed or built'
	@echo 'make vm-check       the selftests in a stock kernel; KVER=6.12 or 7, TESTS="a.sh b.sh";'
	@echo '                    KVER=6.12-rt or 6.12-generic; ARCH=arm64, arm64-16k or armmp; KVER=rpi or openwrt for kernels like theirs;'
	@echo '                    KVER=debug with lockdep, KASAN, kmemleak and two processors, KVER=kcsan with KCSAN'
	@echo 'make upstream-check the kernel'"'"'s own MPTCP selftests under the schedulers of tools/scheds time; SCHEDS=, TESTS="SCRIPT [CASE]"'
	@echo 'make debug-check    the selftests in a user-mode kernel with lockdep, KASAN and kmemleak; TESTS="a.sh b.sh"'
	@echo 'make unit style     parts of make check that boot nothing'
	@echo 'make bench          every figure of Documentation/results.md, and that page: up to an hour'
	@echo 'make compile-commands    compile_commands.json, for clangd: how each file was compiled, in the newest build'
	@echo 'make clean          remove build/ (the kernels stay in the cache, see Documentation/install.md)'
