# SPDX-License-Identifier: GPL-2.0
# What the programs' Makefiles share. One that includes this sets PROGRAM and
# PACKAGES (of pkg-config), and has its *.c beside it, or in folders there:
#
#	PROGRAM := pamsctl
#	PACKAGES := jansson ncursesw libkmod
#	include ../common.mk
#
# Everything is made in build/tools/ at the top: PROGRAM itself, and the objects
# in objects/, in a folder that is called like the one they come from.

TOOLS := $(abspath $(dir $(lastword $(MAKEFILE_LIST))))
TOP := $(abspath $(TOOLS)/..)
BUILD ?= $(TOP)/build/tools
VERSION ?= $(shell sh $(TOOLS)/version)

NAME := $(notdir $(CURDIR))
LIB_PACKAGES := libnl-3.0 libnl-genl-3.0 libsodium
LIBRARY := $(BUILD)/libtools.a
HERE := $(BUILD)/objects/$(NAME)

PKG_CONFIG ?= pkg-config
# Without libbpf (make BPF=) programs are the same, but choose no first path, and no sockets of MPTCP.
BPF ?= $(shell $(PKG_CONFIG) --exists 'libbpf >= 1.0' && echo libbpf)
CFLAGS ?= -O2 -g
# A newer compiler may warn of more: packages are built with WERROR= .
WERROR ?= -Werror
WARNINGS := -Wall -Wextra $(WERROR)
HARDENING := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
ALL_CFLAGS = $(CFLAGS) -std=gnu11 $(WARNINGS) $(HARDENING) -D_GNU_SOURCE \
	     -DPAMS_VERSION='"$(VERSION)"' $(if $(BPF),-DHAVE_BPF) -I$(TOOLS)/lib -I$(BUILD)/include \
	     $(shell $(PKG_CONFIG) --cflags $(LIB_PACKAGES) $(PACKAGES))
# pamsplit needs neither libnl nor libsodium of LIB_PACKAGES; not every compiler leaves out what is not used.
ALL_LDFLAGS = $(LDFLAGS) -pie -Wl,-z,relro,-z,now,--as-needed
ALL_LIBS = $(shell $(PKG_CONFIG) --libs $(LIB_PACKAGES) $(PACKAGES)) $(LDLIBS)

# Only our header of include/uapi: the others are the system's.
UAPI := $(BUILD)/include/linux/mptcp_pams.h
SOURCES := $(sort $(wildcard *.c */*.c))
OBJECTS := $(SOURCES:%.c=$(HERE)/%.o)

.PHONY: all
all: $(if $(PROGRAM),$(BUILD)/$(PROGRAM))

# Several programs are built at once: the file appears complete.
$(UAPI): $(TOP)/include/uapi/linux/mptcp_pams.h
	@mkdir -p $(@D)
	@cp $< $@.$$$$ && mv -f $@.$$$$ $@

# The file changes when the version does.
STAMP := $(BUILD)/version
$(STAMP): FORCE
	@mkdir -p $(@D)
	@echo '$(VERSION)' | cmp -s - $@ || echo '$(VERSION)' > $@
$(addprefix $(HERE)/,$(addsuffix .o,$(basename $(shell grep -lw PAMS_VERSION $(SOURCES))))): $(STAMP)
.PHONY: FORCE

# So does this one when a library has come or gone that the programs can do without.
FOUND := $(HERE)/found
$(FOUND): FORCE
	@mkdir -p $(@D)
	@echo '$(PACKAGES) $(BPF)' | cmp -s - $@ || echo '$(PACKAGES) $(BPF)' > $@

$(HERE)/%.o: %.c $(UAPI) $(MAKEFILE_LIST) $(FOUND)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

ifdef PROGRAM
$(BUILD)/$(PROGRAM): $(OBJECTS) $(LIBRARY)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(ALL_LIBS)
endif

-include $(OBJECTS:.o=.d)
