# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# ugm: module, library, command, tests. "make help" lists the targets.
# The sources are found by wildcard: a new file needs no line here.

B := build

PREFIX ?= /usr
DESTDIR ?=
CC ?= gcc
PKG_CONFIG ?= pkg-config
# WERROR=1 is what CI sets: warnings are errors there, not on a user's newer
# compiler.
WERROR ?=

MULTIARCH = $(shell $(CC) -print-multiarch)
LIBDIR = $(PREFIX)/lib/$(MULTIARCH)
VERSION := 0.1.0

# A file of kmod/ that is licensed for both sides is pure and part of libugm.
PURE := $(sort $(shell grep -l 'SPDX-License-Identifier: GPL-2.0 OR MIT' \
	$(wildcard kmod/*.c) /dev/null))
LIB_SRC := $(sort $(wildcard userlib/*.c userlib/*/*.c)) $(PURE)
TOOL_SRC := $(sort $(wildcard tools/*.c))
UNIT_SRC := $(sort $(wildcard selftests/unit/*_test.c))
UNIT_LIB_SRC := $(filter-out $(UNIT_SRC),$(sort $(wildcard selftests/unit/*.c)))
TEST_SRC := $(sort $(wildcard selftests/*.c))
TEST_LIB_SRC := $(sort $(wildcard selftests/lib/*.c))

PKGS := liburing libnvme json-c zlib blkid clp
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PKGS) 2>/dev/null)
PKG_LIBS := $(shell $(PKG_CONFIG) --libs $(PKGS) 2>/dev/null) -lm

CFLAGS ?= -O2 -g
UGM_CPPFLAGS := -D_GNU_SOURCE -Iuapi -Iuserlib -Ikmod -Itools $(PKG_CFLAGS) \
	-DUGM_VERSION=\"$(VERSION)\"
# Only what is really used becomes a dependency of the result.
UGM_LDFLAGS := -Wl,--as-needed -pthread
UGM_CFLAGS := -std=gnu11 -Wall -Wextra -Wmissing-prototypes -Wno-unused-parameter \
	-fPIC -pthread -MMD -MP $(if $(filter 1,$(WERROR)),-Werror)
SAN_CFLAGS := -O1 -g -fno-omit-frame-pointer \
	-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all
COMPILE = $(CC) $(UGM_CPPFLAGS) $(CPPFLAGS) $(CFLAGS) $(UGM_CFLAGS) $(TEST_CFLAGS)
# For targets that first install what the rest of the build needs.
SUBMAKE = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

LIB_OBJ := $(LIB_SRC:%.c=$(B)/obj/%.o)
TOOL_OBJ := $(TOOL_SRC:%.c=$(B)/obj/%.o)
SAN_OBJ := $(LIB_SRC:%.c=$(B)/san/%.o)
TEST_LIB_OBJ := $(TEST_LIB_SRC:%.c=$(B)/obj/%.o)
UNITS := $(UNIT_SRC:selftests/unit/%.c=$(B)/unit/%)
TESTS := $(TEST_SRC:selftests/%.c=$(B)/selftests/%)
MAP := $(wildcard userlib/libugm.map)

# While a part of the tree has no files yet, the rest builds without it.
USER_TARGETS := $(if $(LIB_SRC),$(B)/libugm.a $(B)/libugm.so) \
	$(if $(TOOL_SRC),$(B)/ugm)

.PHONY: all
all: user modules ## library, command, and the module for Debian's 6.1 kernel

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z0-9.-]*\):[^#]*## \(.*\)/\1|\2/p' Makefile | \
		awk -F'|' '{ printf "  %-14s %s\n", $$1, $$2 }'

.PHONY: user
user: $(USER_TARGETS) ## library and command

.PHONY: modules
modules: ## the module for Debian's 6.1 kernel (KDIR=FOLDER: for those headers)
	+@scripts/build-module $(or $(KDIR),6.1) $(MODULE_ARGS)

.PHONY: modules-6.12
modules-6.12: ## the module for the 6.12 kernel of Debian's backports
	+@scripts/build-module 6.12 $(MODULE_ARGS)

.PHONY: modules-newest
modules-newest: ## the module for the newest kernel of Debian 13's backports
	+@scripts/build-module newest $(MODULE_ARGS)

.PHONY: modules-debug
modules-debug: ## the module for the debug kernel (builds that first, once)
	+@scripts/build-module debug $(MODULE_ARGS)

MODULE_ARGS = $(if $(filter 1,$(WERROR)),KCFLAGS=-Werror) $(if $(V),V=$(V))

# --- library and command ----------------------------------------------------

$(B)/obj/%.o: %.c $(B)/.flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -c -o $@ $<

$(B)/san/%.o: %.c $(B)/.flags
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(SAN_CFLAGS) -c -o $@ $<

# What ugm and the tests link: everything, also what users do not see.
$(B)/libugm.a: $(LIB_OBJ)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/libugm.so.1: $(LIB_OBJ) $(MAP)
	$(Q)$(CC) -shared -Wl,-soname,libugm.so.1 -Wl,-z,defs \
		$(MAP:%=-Wl,--version-script=%) $(UGM_LDFLAGS) $(LDFLAGS) -o $@ \
		$(LIB_OBJ) $(PKG_LIBS)

$(B)/libugm.so: $(B)/libugm.so.1
	$(Q)ln -sf libugm.so.1 $@

$(B)/ugm: $(TOOL_OBJ) $(B)/libugm.a
	$(Q)$(CC) $(UGM_LDFLAGS) $(LDFLAGS) -o $@ $^ $(PKG_LIBS)

# --- tests ------------------------------------------------------------------

.PHONY: tests
tests: $(UNITS) $(TESTS) ## build all test programs

$(B)/san/libugm.a: $(SAN_OBJ)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/unit/%: $(B)/san/selftests/unit/%.o $(UNIT_LIB_SRC:%.c=$(B)/san/%.o) $(B)/san/libugm.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(SAN_CFLAGS) $(UGM_LDFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(PKG_LIBS)

# The harness is the kernel's own, taken from linux-source. It is warned about
# by compilers newer or stricter than the kernel's: -isystem.
KSELFTEST = $(eval KSELFTEST := $$(shell scripts/kernel kselftest))$(KSELFTEST)

$(TEST_SRC:%.c=$(B)/obj/%.o) $(TEST_LIB_OBJ): TEST_CFLAGS = \
	-isystem $(KSELFTEST) -Iselftests/lib

$(B)/selftests/%: $(B)/obj/selftests/%.o $(TEST_LIB_OBJ) $(LIB_SRC:%=$(B)/libugm.a)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UGM_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) \
		$(if $(LIB_SRC),$(B)/libugm.a) $(PKG_LIBS)

.PHONY: check
check: setup ## all tests: unit, command, and in the VM on 6.1 and 6.12
	+@$(SUBMAKE) user modules modules-6.12 tests
	@scripts/check

.PHONY: check-unit
check-unit: $(UNITS) ## unit tests under ASan and UBSan
	@scripts/check unit

.PHONY: check-cli
check-cli: user ## tests of the command on this machine
	@scripts/check cli

.PHONY: check-vm
check-vm: user modules modules-6.12 $(TESTS) ## kselftests in the VM on 6.1 and 6.12
	@scripts/check vm

.PHONY: check-newest
check-newest: user modules-newest $(TESTS) ## kselftests on the newest kernel
	@scripts/check vm --kernel newest

.PHONY: check-debug
check-debug: user modules-debug $(TESTS) ## kselftests on the debug kernel; any report fails
	@scripts/check vm --kernel debug

.PHONY: check-long
check-long: user modules modules-6.12 $(TESTS) ## also the tests that take long
	@UGM_LONG=1 scripts/check vm

# --- for users --------------------------------------------------------------

.PHONY: setup
setup: ## install what is missing from Debian
	@scripts/setup

.PHONY: demo
demo: setup ## a generated training trace under several policies, in the VM
	+@$(SUBMAKE) user modules
	@scripts/demo

.PHONY: bench
bench: user modules ## measure the module in the VM
	@scripts/vm run --mem 4G --nvme-ram --ugm 'block_size=2M gpu_mem=512M' -- ugm bench $(BENCH_ARGS)

.PHONY: figures
figures: user ## the evaluation of G10, reproduced: build/figures/index.html
	@scripts/figures $(FIGURES_ARGS)

.PHONY: doc
doc: ## Documentation/ with the comments of the source it points to: build/doc
	@scripts/doc

.PHONY: lint
lint: ## checkpatch, clang-format, sparse, shellcheck, SPDX lines
	@scripts/lint

INSTALL := install -D
MANPAGES := $(wildcard $(foreach n,1 3 4 5 7 8,Documentation/man/*.$(n)))

$(B)/libugm.pc: userlib/libugm.pc.in Makefile
	@mkdir -p $(@D)
	$(Q)sed -e 's,@PREFIX@,$(PREFIX),g' -e 's,@LIBDIR@,$(LIBDIR),g' \
		-e 's,@VERSION@,$(VERSION),g' $< > $@

# depmod and ldconfig describe the running system, so they are for a real
# installation only; a package does that on the target.
.PHONY: install
install: all $(B)/libugm.pc ## module, library, header, command, man pages (DESTDIR, PREFIX)
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' \
		scripts/install install $(or $(KDIR),6.1) $(MANPAGES)

.PHONY: uninstall
uninstall: ## remove what install put there
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' \
		scripts/install uninstall $(or $(KDIR),6.1) $(MANPAGES)

.PHONY: clean
clean: ## remove build/ (kernels stay in the cache)
	rm -rf $(B)

# --- plumbing ---------------------------------------------------------------

# V=1 shows the commands, else one short line a file.
ifneq ($(V),1)
Q = @printf '  %-8s %s\n' $(QUIET_WORD) $(@:$(B)/%=%);
QUIET_WORD = $(or $(if $(filter %.o,$@),CC),$(if $(filter %.a,$@),AR),LD)
endif

# Objects are built again when the way to build them changes.
FLAGS := $(COMPILE)
$(B)/.flags: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || \
		echo '$(subst ','\'',$(FLAGS))' > $@
.PHONY: FORCE

.DELETE_ON_ERROR:
.SECONDARY:

-include $(shell find $(B)/obj $(B)/san -name '*.d' 2>/dev/null)
